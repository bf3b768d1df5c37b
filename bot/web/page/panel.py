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

TIMEOUT_SECONDS = 1.0
"""Seconds that a page waits for each of its parts; all are waited for at once."""

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Panel(Generic[Shown]):
    """`shown` is None where `fault`, a sentence, says why."""

    shown: Shown | None
    fault: str = ""
    is_busy: bool = False
    """Whether it only takes its time."""


async def load_panel(
    work: Awaitable[Shown], *, patience: float = TIMEOUT_SECONDS, late: str = phrases.WEB_BUSY
) -> Panel[Shown]:
    """Wait for a part, `patience` seconds at most; then it is `late`."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=patience)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        task.add_done_callback(_ignore_result)  # what is to be done to its end goes on, and nobody waits
        return Panel(None, late, is_busy=True)
    try:
        return Panel(task.result())
    except (MemoryFault, StateFault) as error:
        return Panel(None, str(error))
    except Exception:
        log.exception("a part of the status page broke")
        return Panel(None, phrases.WEB_PART_BROKEN)


def _ignore_result(task: "asyncio.Future[Shown]") -> None:
    if not task.cancelled():
        task.exception()
