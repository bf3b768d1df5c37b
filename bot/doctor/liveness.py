"""Whether the service runs on a workspace, and when it last wrote there."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Liveness:
    """What can be seen of the service from outside."""

    alive: bool
    """Whether a process of ours has the workspace open."""
    last_sign: datetime | None
    """When a file was last written; None if never."""
    now: datetime


def last_sign_of_life(settings: Settings) -> datetime | None:
    """Return when the program last wrote to this workspace; None if never."""
    private = settings.private_folder
    names = ("state.db", "state.db-wal", "index.db", "index.db-wal")
    try:
        files = [
            *(private / name for name in names),
            *private.glob("backups/*"),
            *private.glob("locks/run-*"),
        ]
        times = [file.stat().st_mtime for file in files if file.exists()]
    except OSError:  # reported by check_folders
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None
