"""One part of the page: what it shows, or why it cannot. None keeps the others from being shown."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot import phrases
from bot.state.database import StateFault
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds that a page waits for each of its parts; all are waited for at once."""

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Part(Generic[Shown]):
    """`shown` is None where `fault`, a sentence, says why."""

    shown: Shown | None
    fault: str = ""
    is_busy: bool = False
    """Whether it only takes its time."""


async def part(
    work: Awaitable[Shown], *, patience: float = PATIENCE, late: str = phrases.WEB_BUSY
) -> Part[Shown]:
    """Wait for a part, `patience` seconds at most; then it is `late`."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=patience)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        task.add_done_callback(_let_go)  # what is to be done to its end goes on, and nobody waits
        return Part(None, late, is_busy=True)
    try:
        return Part(task.result())
    except (MemoryFault, StateFault) as error:
        return Part(None, str(error))
    except Exception:
        log.exception("a part of the status page broke")
        return Part(None, phrases.WEB_PART_BROKEN)


def _let_go(task: "asyncio.Future[Shown]") -> None:
    if not task.cancelled():
        task.exception()
