"""Today's log on the first page, with a box to add to it."""

import asyncio
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING

from bot.web.changes import OVER_HTTP
from bot.web.forms import request_key
from bot.web.page.note_markdown import render_lines, render_part
from bot.web.page.urls import note_url
from memory.errors import NoteMissing
from memory.formatting import escape_headings

if TYPE_CHECKING:
    from bot.services import Services
    from memory.notes import NoteText

ADD_TO_LOG = "/log"
MAX_LINES = 80
"""The latest lines are shown, so that the page stays small however much is noted in a day."""
MAX_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class DayLog:
    """The values of the panel."""

    html: str
    """The log, or its end; "" if nothing is noted today."""
    address: str
    """Of the whole note."""
    is_cut: bool
    """Whether it has earlier lines than those shown."""
    yesterday: str
    """Address of yesterday's log; "" if there is none."""


async def day_log(services: "Services") -> DayLog:
    """Return today's log. Raises MemoryFault."""
    today = services.now().date()
    note, before = await asyncio.gather(
        _read(services, today), _read(services, today - timedelta(days=1), limit=1)
    )
    yesterday = note_url(before.path) if before else ""
    if note is None:
        return DayLog("", "", False, yesterday)
    shown, first = await asyncio.to_thread(cut_log, note.text, title=f"# {today.isoformat()}")
    is_plain = len(shown) > MAX_CHARS  # a line longer than all that fits
    html = await asyncio.to_thread(
        partial(render_lines, shown[:MAX_CHARS], first_line=first)
        if is_plain
        else partial(render_part, shown, path=note.path, first_line=first)
    )
    is_cut = is_plain or any(each.strip() for each in note.text.split("\n")[1 : first - 1])
    return DayLog(html if shown.strip() else "", note_url(note.path), is_cut, yesterday)


async def _read(services: "Services", day: date, *, limit: int | None = None) -> "NoteText | None":
    try:
        return await services.memory.get(f"{day.isoformat()}.md", limit=limit)
    except NoteMissing:
        return None


def cut_log(text: str, *, title: str) -> tuple[str, int]:
    """Return the end of a log, without its title, and the line (1-based) at which that begins."""
    lines = text.split("\n")
    first = 1 if lines[0].strip() == title else 0
    count, chars = 0, 0
    for line in reversed(lines[first:]):
        chars += len(line) + 1
        if count == MAX_LINES or (chars > MAX_CHARS and count):
            break
        count += 1
    begin = max(first, len(lines) - max(count, 1))
    while begin < len(lines) - 1 and not lines[begin].strip():
        begin += 1
    return "\n".join(lines[begin:]), begin + 1


async def add_to_log(services: "Services", fields: dict[str, str]) -> None:
    """Add the text of the form to today's log, once even if it is sent twice. Raises MemoryFault.

    It stays one entry: a heading in it would take in all that is noted later that day.
    """
    text = escape_headings(fields.get("text", ""))
    await services.note_writer.write(text, key=request_key(fields), origin=OVER_HTTP)
