"""What the service does for the memory all the while: notes are indexed and given vectors without a search."""

import asyncio
import logging
from typing import Self

from bot.plain_text import one_line
from bot.scheduler import JobStatus, Schedule
from memory.errors import MemoryFault
from memory.memory import Memory

log = logging.getLogger(__name__)

PAUSE = 30.0
"""Seconds after which the memory's own work is begun anew where it broke off."""

REINDEX = "re-index"


class Upkeep:
    """Works while it is entered; an async context manager, to be left before the memory is closed."""

    def __init__(self, memory: Memory, *, reindex_minutes: float | None, pause: float = PAUSE) -> None:
        """`reindex_minutes`: None for no regular look at all notes."""
        self._memory = memory
        self._minutes = reindex_minutes
        self._pause = pause
        self._schedule: Schedule | None = None
        self._work: asyncio.Task[None] | None = None
        self._problem = ""
        self._leaving = False

    @property
    def problem(self) -> str:
        """What the memory's own work broke off with, in one line, until it runs again; "" while all is well."""
        return self._problem

    @property
    def reindex(self) -> JobStatus | None:
        """How the regular look at all notes fares; None where there is none."""
        return next(iter(self._schedule.jobs()), None) if self._schedule else None

    async def __aenter__(self) -> Self:
        if self._minutes is not None:
            self._schedule = await Schedule().__aenter__()
            self._schedule.every(self._minutes, self._reindex, name=REINDEX)
        self._work = asyncio.create_task(self._run(), name="upkeep of the memory")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leaving = True
        if self._work:
            self._work.cancel()
            self._memory.stop()  # else it would first index all that there is
            await asyncio.wait([self._work])
        if self._schedule:
            await self._schedule.__aexit__(None, None, None)
            self._schedule = None

    async def _run(self) -> None:
        """Run the memory's own work; whatever ends it, the service goes on and it is begun anew."""
        while True:
            well = asyncio.get_running_loop().call_later(self._pause, self._forget_problem)
            try:
                await self._look()
                await self._memory.run()
                return  # nothing is watched, and nobody makes vectors
            except Exception as error:
                self._problem = _cause(error)
                log.exception("keeping the memory up to date broke off; it begins anew in %g s", self._pause)
            finally:
                well.cancel()
            await asyncio.sleep(self._pause)

    async def _reindex(self) -> None:
        try:
            await self._memory.sync()
        except MemoryFault:
            if not self._leaving:  # else it was stopped by us, which is no failure
                raise

    async def _look(self) -> None:
        """Index what was written while nobody watched."""
        try:
            await self._memory.sync()
        except MemoryFault as error:
            log.warning("the notes were not indexed at the start: %s", error)

    def _forget_problem(self) -> None:
        self._problem = ""


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return one_line(f"{type(error).__name__}: {error}")
