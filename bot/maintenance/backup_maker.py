"""Makes a backup on request while nobody waits for it; one at a time."""

from collections.abc import Callable
from datetime import datetime

from bot import english
from bot.archives.backup import Backup, Backups
from bot.archives.errors import BackupError
from bot.maintenance.requested_job import RequestedJob


class BackupMaker(RequestedJob[Backup]):
    """Starts backups, unless one is being made, on request or by the nightly job."""

    def __init__(self, backups: Backups, *, now: Callable[[], datetime]) -> None:
        super().__init__(
            backups.make,
            name="a requested backup",
            faults=BackupError,
            failed=english.WEB_BACKUP_FAILED,
            now=now,
        )
        self._backups = backups

    @property
    def is_running(self) -> bool:
        """Whether a backup is being made, whoever has asked for it."""
        return super().is_running or self._backups.is_running
