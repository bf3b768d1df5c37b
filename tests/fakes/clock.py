"""A clock that advances only when somebody sleeps, and then at once."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock for any number of sleeping tasks: it jumps to the next one due."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        """Every requested sleep, in order."""
        self.frozen = False
        """Whether sleepers keep sleeping."""
        self._due: list[float] = []

    def clock(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        due = self.seconds + seconds
        self.slept.append(seconds)
        self._due.append(due)
        try:
            # Let other tasks run first, so that the clock does not run ahead of them.
            await asyncio.sleep(0.002)
            while self.seconds < due:
                if not self.frozen:
                    self.seconds = min(self._due)
                await asyncio.sleep(0)
        finally:
            self._due.remove(due)
