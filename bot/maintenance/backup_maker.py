"""Makes a backup on request while nobody waits for it; one at a time."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot import english
from bot.archives.backup import Backup, Backups
from bot.archives.errors import BackupError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackupResult:
    """How the last requested backup ended."""

    at: datetime
    made: Backup | None
    """None if it failed."""
    problem: str = ""
    """Why it failed, in one line without a full stop; "" if it did not."""


class BackupMaker:
    """Starts backups, unless one is being made, on request or by the nightly job."""

    def __init__(self, backups: Backups, *, now: Callable[[], datetime]) -> None:
        self._backups = backups
        self._now = now
        self._running: asyncio.Task[Backup] | None = None
        self._last: BackupResult | None = None

    @property
    def is_running(self) -> bool:
        """Whether a backup is being made, whoever has asked for it."""
        return self._running is not None or self._backups.is_running

    @property
    def last(self) -> BackupResult | None:
        """How the last requested backup ended; None if there was none since the start."""
        return self._last

    def start(self) -> bool:
        """Start a backup and return at once; return False if one is being made already."""
        if self.is_running:
            return False
        self._running = asyncio.create_task(self._backups.make(), name="backing up")
        self._running.add_done_callback(self._on_done)
        return True

    async def close(self) -> None:
        """Stop a running backup and wait until nothing is left of it."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def _on_done(self, task: asyncio.Task[Backup]) -> None:
        self._running = None
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._last = BackupResult(self._now(), task.result())
        elif isinstance(error, BackupError):
            log.warning("a requested backup failed: %s", error)
            self._last = BackupResult(self._now(), None, str(error))
        else:
            log.error("making a backup failed", exc_info=error)
            self._last = BackupResult(self._now(), None, english.WEB_BACKUP_FAILED)
