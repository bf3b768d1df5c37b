"""Show a reply on a terminal: its end while it grows, and all of it when complete."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text

from adapters.terminal.markdown import ChatMarkdown, LineByLine
from bot.messages import ReplyPart
from bot.sanitize import strip_controls

log = logging.getLogger(__name__)

REFRESH_SECONDS = 0.08
WAITING = Text("…", style="dim")


class _RenderedReply:
    """A reply rendered as Markdown, or as plain text if rendering fails."""

    def __init__(self, text: str, *, last_lines: int | None = None) -> None:
        self._text = text
        self._last_lines = last_lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = options.update(height=None)
        try:
            lines = console.render_lines(ChatMarkdown(self._text), whole, pad=False)
        except Exception:
            log.exception("could not render a reply as Markdown")
            lines = console.render_lines(LineByLine(Text(strip_controls(self._text))), whole, pad=False)
        for line in lines if self._last_lines is None else lines[-self._last_lines :]:
            yield from _strip_padding(line)
            yield Segment.line()


def _strip_padding(line: list[Segment]) -> list[Segment]:
    """Drop rich's padding at the right edge, which is in the way of copying."""
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line.pop()
        if text := last.text.rstrip(" "):
            return [*line, Segment(text, last.style)]
    return line


async def show_growing(console: Console, parts: AsyncIterator[ReplyPart]) -> None:
    """Draw the reply as it grows, then print it once, so that the scrollback has all of it."""
    if not console.is_terminal or console.is_dumb_terminal:
        show(console, "".join([part.text async for part in parts][-1:]))
        return
    text = drawn = ""

    async def redraw(live: Live) -> None:
        nonlocal drawn
        pause = REFRESH_SECONDS
        while True:
            await asyncio.sleep(pause)
            if text != drawn:
                drawn, began = text, time.perf_counter()
                live.update(_RenderedReply(text, last_lines=max(1, console.height - 2)), refresh=True)
                # Redraw a long reply less often.
                pause = max(REFRESH_SECONDS, 4 * (time.perf_counter() - began))

    with Live(
        WAITING,
        console=console,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
        vertical_overflow="crop",
    ) as live:
        live.refresh()
        drawing = asyncio.create_task(redraw(live))
        try:
            async for part in parts:
                text = part.text
        finally:
            drawing.cancel()
            with suppress(asyncio.CancelledError):
                await drawing
    show(console, text)


def show(console: Console, text: str) -> None:
    """Print Markdown and a blank line."""
    if text.strip():
        console.print(_RenderedReply(text))
    console.print()
