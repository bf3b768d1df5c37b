"""The notes, to be looked through in a browser: a folder's list, a note's page."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from itertools import groupby
from typing import Final

from aiohttp import web

from bot.attachments.wording import in_bytes
from bot.file_names import shown_path
from bot.web.context import services_key
from bot.web.page.addresses import LINES_A_PAGE, NOTES, folder_address, note_address
from bot.web.page.note_markdown import lines_as_html, note_as_html
from bot.web.page.rendering import page
from memory.dates.note_name import note_date
from memory.errors import MemoryFault, NoteMissing, NoteUnreadable
from memory.listing import NoteStat
from memory.memory import CORE_NOTE

NOTES_A_PAGE: Final = 200
MOST_PROBLEMS: Final = 50
MOST_CHARACTERS: Final = 200_000
"""Of a note that are laid out at once; more is shown as plain text, which costs little."""
MOST_COLUMNS: Final = 100
"""Of a table. One of thousands, which nobody reads, has its empty cells added: ten such take half a minute."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder below another."""

    name: str
    address: str
    notes: int


@dataclass(frozen=True, slots=True)
class ListedNote:
    """One note of a folder."""

    name: str
    address: str
    size: str
    changed: datetime | None
    """None where no calendar has such a time: files may come with any."""


@dataclass(frozen=True, slots=True)
class Step:
    """One folder on the way to where one is."""

    name: str
    address: str


def add_notes(app: web.Application) -> None:
    """Have the application show the notes."""
    app.router.add_get(NOTES.rstrip("/"), _to_notes)
    app.router.add_get(NOTES + "{path:.*}", _show)


async def _to_notes(request: web.Request) -> web.Response:
    del request
    raise web.HTTPFound(NOTES)


async def _show(request: web.Request) -> web.Response:
    path = request.match_info["path"]
    try:
        if path == "" or path.endswith("/"):
            return await _folder(request, path.rstrip("/"))
        return await _note(request, path)
    except MemoryFault as fault:
        status = 503 if isinstance(fault, NoteUnreadable) else 404
        return page(request, "note_missing.html", status=status, told=str(fault), steps=steps_to(""))


async def _folder(request: web.Request, folder: str) -> web.Response:
    services = request.app[services_key]
    listing = await services.memory.listing()
    now = services.now()
    # In a thread: to sort ten thousand takes a while.
    folders, notes = await asyncio.to_thread(within, listing.notes, folder, zone=now.tzinfo)
    if folder and not (folders or notes):
        raise NoteMissing(f"There is no folder {folder} with notes in it.")
    problems = [each for each in listing.problems if not folder or each.path.startswith(f"{folder}/")]
    number, pages = _number(request, "page"), max(1, -(-len(notes) // NOTES_A_PAGE))
    number = min(number, pages)
    return page(
        request,
        "folder.html",
        folder=shown_path(folder),
        steps=steps_to(folder),
        folders=folders,
        notes=notes[(number - 1) * NOTES_A_PAGE : number * NOTES_A_PAGE],
        count=len(notes),
        earlier=folder_address(folder, number - 1) if number > 1 else "",
        later=folder_address(folder, number + 1) if number < pages else "",
        number=number,
        pages=pages,
        problems=[replace(each, path=shown_path(each.path)) for each in problems[:MOST_PROBLEMS]],
        more_problems=max(0, len(problems) - MOST_PROBLEMS),
    )


async def _note(request: web.Request, path: str) -> web.Response:
    memory = request.app[services_key].memory
    if "plain" in request.query:
        whole = await memory.get(path)
        return web.Response(text=whole.text, content_type="text/plain")
    first = _number(request, "line")
    note = await memory.get(path, line=first, limit=LINES_A_PAGE)
    laid_out = len(note.text) <= MOST_CHARACTERS and all(
        line.count("|") <= MOST_COLUMNS for line in note.text.split("\n")
    )
    # In a thread: a long one takes a tenth of a second, and messages wait for nobody who reads.
    html = await asyncio.to_thread(
        partial(note_as_html, note.text, path=note.path, first_line=first)
        if laid_out
        else partial(lines_as_html, note.text, first_line=first)
    )
    folder, _, name = note.path.rpartition("/")
    return page(
        request,
        "note.html",
        title=shown_path(name),
        path=shown_path(note.path),
        steps=steps_to(folder),
        html=html,
        plain=f"{note_address(note.path)}?plain",
        first=note.line_start,
        last=note.line_end,
        total=note.total_lines,
        earlier=note_address(note.path, max(1, first - LINES_A_PAGE)) if first > 1 else "",
        later=note_address(note.path, note.line_end + 1) if note.line_end < note.total_lines else "",
    )


def within(
    notes: Iterable[NoteStat], folder: str, *, zone: tzinfo | None
) -> tuple[list[Folder], list[ListedNote]]:
    """What lies in a folder ("" for the memory's own): folders by name; the core note, the latest days, other notes."""
    start = f"{folder}/" if folder else ""
    inside = sorted((each.path[len(start) :], each) for each in notes if each.path.startswith(start))
    below = [name.partition("/")[0] for name, _ in inside if "/" in name]
    folders = [
        Folder(shown_path(name), folder_address(start + name), sum(1 for _ in group))
        for name, group in groupby(sorted(below))
    ]
    here = sorted(
        ((name, note) for name, note in inside if "/" not in name), key=lambda each: _order(each[0])
    )
    listed = [
        ListedNote(
            shown_path(name),
            note_address(note.path),
            in_bytes(note.size),
            note.modified(zone),
        )
        for name, note in here
    ]
    return folders, listed


def _order(name: str) -> tuple[int, int, str]:
    if name == CORE_NOTE:
        return 0, 0, ""
    if day := note_date(name):
        return 1, -day.toordinal(), name
    return 2, 0, name.casefold()


def steps_to(folder: str) -> list[Step]:
    """The way from the memory's own folder to this one, both with it."""
    names = folder.split("/") if folder else []
    below = [
        Step(shown_path(name), folder_address("/".join(names[: number + 1])))
        for number, name in enumerate(names)
    ]
    return [Step("Notes", folder_address("")), *below]


def _number(request: web.Request, name: str) -> int:
    said = request.query.get(name, "")
    return max(1, int(said)) if said.isascii() and said.isdigit() and len(said) < 10 else 1
