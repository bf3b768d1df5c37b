"""Whether a process of ours runs on a workspace, and when one last wrote something there."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Liveness:
    """What is known of the service, as seen from outside."""

    alive: bool
    """Whether it runs."""
    last_sign: datetime | None
    """When it last wrote something; None where it never did."""
    now: datetime


def last_sign_of_life(settings: Settings) -> datetime | None:
    """When something of this workspace was last written by the program; None where there is nothing."""
    private = settings.private_folder
    names = ("state.db", "state.db-wal", "index.db", "index.db-wal")
    try:
        files = [
            *(private / name for name in names),
            *private.glob("backups/*"),
            *private.glob("locks/run-*"),
        ]
        times = [file.stat().st_mtime for file in files if file.exists()]
    except OSError:  # told by the folders
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None
