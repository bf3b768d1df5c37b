"""Progress of long work in words, and as a line in the terminal."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TextIO

from bot import phrases
from bot.quantities import duration_in_words
from bot.sanitize import one_line

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Download
    from memory.progress import JobProgress

REFRESH_SECONDS = 0.2
"""Seconds between updates of the line."""
_CLEAR_LINE = "\r\x1b[K"


def format_progress(progress: "JobProgress") -> str:
    """Return `embedding 300 of 1200, 25 a second, 36 s left`."""
    said = phrases.PROGRESS[progress.job].format(done=progress.done, total=progress.total)
    if progress.done:
        rate = progress.per_second
        phrase = phrases.PROGRESS_RATE if rate >= 10 else phrases.PROGRESS_SLOW_RATE
        said = phrase.format(progress=said, rate=rate)
    left = progress.seconds_left
    return said if left is None else phrases.PROGRESS_LEFT.format(progress=said, time=duration_in_words(left))


def format_download(progress: "Download") -> str:
    """Return the progress of a download: `35 of 121 MB, 12 s left`."""
    said = f"{progress.done / 1e6:.0f}"
    said += f" of {progress.total / 1e6:.0f} MB" if progress.total else " MB"
    left = progress.seconds_left
    return said if left is None else f"{said}, {duration_in_words(left)} left"


@asynccontextmanager
async def show_progress(tell: Callable[[], str], stream: TextIO | None = None) -> AsyncIterator[None]:
    """Show the text that `tell` returns on standard error while the body runs; only on a terminal."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield
        return
    showing = asyncio.create_task(_refresh(tell, stream))
    try:
        yield
    finally:
        showing.cancel()
        await asyncio.wait([showing])
        stream.write(_CLEAR_LINE)
        stream.flush()


async def _refresh(tell: Callable[[], str], stream: TextIO) -> None:
    shown = ""
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        line = one_line(tell(), limit=_columns(stream) - 1)
        if line != shown:
            stream.write(_CLEAR_LINE + line)
            stream.flush()
            shown = line


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
