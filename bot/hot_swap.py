"""Replaces something while it is in use: whoever began with the old one ends with it."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.tasks import BackgroundTasks

Thing = TypeVar("Thing")

log = logging.getLogger(__name__)


async def no_close() -> None:
    """Do nothing, for things that need no closing."""


@dataclass(slots=True, eq=False)
class _OpenThing(Generic[Thing]):
    thing: Thing
    close: Callable[[], Awaitable[None]]
    users: int = 0


class HotSwap(Generic[Thing]):
    """Holds the current thing; a replaced one is closed when nobody uses it any more."""

    def __init__(self, thing: Thing, close: Callable[[], Awaitable[None]] = no_close) -> None:
        self._now = _OpenThing(thing, close)
        self._left: list[_OpenThing[Thing]] = []
        """Replaced, but still in use."""
        self._closing = BackgroundTasks()

    @property
    def now(self) -> Thing:
        """The current thing, for a short look without keeping it open."""
        return self._now.thing

    @contextmanager
    def use(self) -> Iterator[Thing]:
        """Yield the current thing and keep it open meanwhile."""
        opened = self._now
        opened.users += 1
        try:
            yield opened.thing
        finally:
            opened.users -= 1
            self._close_unused()

    def replace(self, thing: Thing, close: Callable[[], Awaitable[None]] = no_close) -> None:
        """Replace the current thing for all later users."""
        self._left.append(self._now)
        self._now = _OpenThing(thing, close)
        self._close_unused()

    async def close(self) -> None:
        """Close everything, even if it is in use."""
        for opened in (*self._left, self._now):
            await _close_quietly(opened.close)
        self._left.clear()
        await self._closing.wait()

    def _close_unused(self) -> None:
        for opened in [each for each in self._left if not each.users]:
            self._left.remove(opened)
            self._closing.start(_close_quietly(opened.close))


async def _close_quietly(close: Callable[[], Awaitable[None]]) -> None:
    try:
        await close()
    except Exception:
        log.exception("could not close a replaced service")
