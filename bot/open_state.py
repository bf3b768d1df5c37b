"""Opens state.db by the settings, with a backup before an upgrade."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bot.state.database import State, StateUnusable

if TYPE_CHECKING:
    from bot.config.settings import Settings


def open_state(settings: "Settings", *, is_ours: Callable[[], bool] = lambda: True) -> State:
    """Return state.db as an async context manager. `is_ours`: see `State`."""
    return State(
        settings.private_folder / "state.db",
        now=settings.now,
        is_ours=is_ours,
        back_up=partial(_back_up, settings),
    )


def _back_up(settings: "Settings") -> str:
    """Back up conversations; return the name of the archive, relative to the private folder."""
    from bot.archives.backup import Backups
    from bot.archives.errors import BackupError

    private = settings.private_folder
    backups = Backups(notes=settings.memory_folder, private=private, now=settings.now)
    try:
        made = backups.make_before_upgrade()
    except BackupError as fault:
        raise StateUnusable(
            "{file} has to be upgraded for this version, but {fault}. Nothing was changed; once that is fixed, start "
            "again.",
            file=private / "state.db",
            fault=fault,
        ) from fault
    return str(made.file.relative_to(private))
