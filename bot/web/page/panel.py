"""A panel of the page: its content, or why there is none. A failing panel does not affect the others."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot import phrases
from bot.language.text import localize
from bot.state.database import StateFault
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 1.0
"""Seconds that a page waits for its panels, all at the same time."""

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Panel(Generic[Shown]):
    """The content, or None and a sentence in `fault` that says why."""

    shown: Shown | None
    fault: str = ""
    is_busy: bool = False
    """Whether it only took too long."""


async def load_panel(
    work: Awaitable[Shown], *, timeout_seconds: float = TIMEOUT_SECONDS, late: str = ""
) -> Panel[Shown]:
    """Wait up to `timeout_seconds` seconds for a panel's content; after that, it is busy, or its fault is `late`."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=timeout_seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        task.add_done_callback(_ignore_result)  # shielded work goes on, and nobody waits for it
        return Panel(None, late or phrases.WEB_BUSY, is_busy=True)
    try:
        return Panel(task.result())
    except (MemoryFault, StateFault) as error:
        return Panel(None, localize(error))
    except Exception:
        log.exception("a panel of the status page failed")
        return Panel(None, phrases.WEB_PANEL_FAILED)


def _ignore_result(task: "asyncio.Future[Shown]") -> None:
    if not task.cancelled():
        task.exception()
