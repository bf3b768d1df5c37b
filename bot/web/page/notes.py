"""The notes in a browser: folder pages and note pages."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from aiohttp import web

from bot import phrases
from bot.line_origin import bare_words
from bot.quantities import size_in_words
from bot.sanitize import cut, one_line
from bot.visible_names import escape_path
from bot.web.context import services_key, token_of
from bot.web.page.done import read_done
from bot.web.page.note_markdown import render_part, weigh_line
from bot.web.page.note_places import breadcrumbs, missing_page
from bot.web.page.rendering import page_response
from bot.web.page.urls import (
    NOTES_URL,
    changes_url,
    count_pages,
    delete_url,
    edit_url,
    folder_url,
    move_url,
    new_note_url,
    note_url,
    page_number,
    tasks_url,
)
from memory.backlinks import NO_LINKS, Backlink, NoteLinks
from memory.errors import MemoryFault
from memory.link_anchors import find_anchor
from memory.link_targets import fold
from memory.listing import NoteStat

if TYPE_CHECKING:
    from bot.services import Services

ENTRIES_PER_PAGE: Final = 100
"""Subfolders and notes of a folder on one page, which then weighs less than 60 kB."""
MAX_PROBLEMS: Final = 50
PART_BYTES: Final = 36_000
"""About how much HTML of a note a page has; with everything around it, it stays below 60 kB."""
MAX_BACKLINK_BYTES: Final = 6_000
"""The most that a page has of the lines that link to a note; it counts the others."""
MAX_HEADING_CHARS: Final = 500
"""Limit for the heading that a link leads to."""

LINKS_SECONDS: Final = 3.0
"""How long a note's page waits for the index, which may be busy indexing many notes, to tell its links."""
MAX_TITLE_CHARS: Final = 80
"""Limit for the title of a note in a list."""
MAX_LINE_CHARS: Final = 300
"""Limit for a shown line of another note."""


@dataclass(frozen=True, slots=True)
class FolderLink:
    """A subfolder."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note in a folder."""

    name: str
    title: str
    """"" if it has none but its name."""
    address: str
    size: str
    changed: datetime | None
    """None if the file's time is out of range."""


@dataclass(frozen=True, slots=True)
class BacklinkView:
    """A line of another note that links to this one."""

    place: str
    address: str
    text: str


@dataclass(frozen=True, slots=True)
class NoteActions:
    """The addresses of what can be done with a note; "" for what cannot."""

    edit: str = ""
    move: str = ""
    delete: str = ""
    history: str = ""
    tasks: str = ""

    @classmethod
    def of(cls, services: "Services", path: str) -> "NoteActions":
        """Return what can be done with the note at a path."""
        if not token_of(services):
            return cls()
        if services.memory.find_read_only_folder(path):
            return cls(history=changes_url(note=path))
        return cls(edit_url(path), move_url(path), delete_url(path), changes_url(note=path), tasks_url(path))


def add_notes(app: web.Application) -> None:
    """Add the notes to the application."""
    app.router.add_get(NOTES_URL.rstrip("/"), _redirect_to_notes)
    app.router.add_get(NOTES_URL + "{path:.*}", _show_note_or_folder)


async def _redirect_to_notes(request: web.Request) -> web.Response:
    del request
    raise web.HTTPFound(NOTES_URL)


async def _show_note_or_folder(request: web.Request) -> web.Response:
    path = request.match_info["path"]
    try:
        if path == "" or path.endswith("/"):
            return await _folder_page(request, path.rstrip("/"))
        return await _note_page(request, path)
    except MemoryFault as fault:
        return missing_page(request, fault)


async def _folder_page(request: web.Request, folder: str) -> web.Response:
    services = request.app[services_key]
    asked = page_number(request.query.get("page", ""))
    listing = await services.memory.list_folder(
        folder, first=(asked - 1) * ENTRIES_PER_PAGE, count=ENTRIES_PER_PAGE
    )
    pages = count_pages(listing.entries, per_page=ENTRIES_PER_PAGE)
    number = listing.first // ENTRIES_PER_PAGE + 1
    zone, start = services.now().tzinfo, f"{folder}/" if folder else ""
    problems = listing.problems
    return page_response(
        request,
        "folder.html",
        here=NOTES_URL,
        folder=escape_path(folder),
        done=read_done(request, phrases.WEB_NOTE_DONE),
        new_note=_new_note_address(services, folder),
        steps=breadcrumbs(folder),
        folders=[FolderLink(escape_path(name), folder_url(start + name)) for name in listing.folders],
        notes=[
            view_note(note, title, zone=zone)
            for note, title in zip(listing.notes, listing.titles, strict=True)
        ],
        count=listing.all_notes,
        entries=listing.entries,
        earlier=folder_url(folder, number - 1) if number > 1 else "",
        later=folder_url(folder, number + 1) if number < pages else "",
        number=number,
        pages=pages,
        problems=[replace(each, path=escape_path(each.path)) for each in problems[:MAX_PROBLEMS]],
        more_problems=max(0, len(problems) - MAX_PROBLEMS),
    )


def _new_note_address(services: "Services", folder: str) -> str:
    may_add = token_of(services) and not services.memory.find_read_only_folder(f"{folder}/note.md")
    return new_note_url(folder) if may_add else ""


async def _note_page(request: web.Request, path: str) -> web.Response:
    memory = request.app[services_key].memory
    if "plain" in request.query:
        whole = await memory.get(path)
        return web.Response(text=whole.text, content_type="text/plain")
    if heading := request.query.get("heading"):
        whole = await memory.get(path)
        line = await asyncio.to_thread(find_anchor, whole.text, heading[:MAX_HEADING_CHARS])
        raise web.HTTPFound(note_url(whole.path, line))
    return await show_note(request, path, line=page_number(request.query.get("line", "")))


async def show_note(
    request: web.Request, path: str, *, line: int = 1, problem: str = "", status: int = 200
) -> web.Response:
    """Return the page of a note that has a line (1-based), with the problem that a form had. Raises MemoryFault."""
    services = request.app[services_key]
    memory = services.memory
    part = await memory.get_part(path, line=line, weigh=weigh_line, most=PART_BYTES)
    note = part.text
    links = await read_links(request, note.path)
    actions = NoteActions.of(services, note.path)
    # In a thread: a long note takes a tenth of a second, which must not delay messages.
    html = await asyncio.to_thread(
        render_part,
        note.text,
        path=note.path,
        first_line=note.line_start,
        links=links,
        find_file=memory.file_finder(note.path).find,
        ticks=bool(actions.edit),
    )
    folder, _, name = note.path.rpartition("/")
    backlinks = list(view_backlinks(links.backlinks))
    return page_response(
        request,
        "note.html",
        here=NOTES_URL,
        status=status,
        title=escape_path(name),
        path=escape_path(note.path),
        steps=breadcrumbs(folder),
        html=html,
        done=read_done(request, phrases.WEB_NOTE_DONE),
        problem=problem,
        actions=actions,
        linked_from=backlinks,
        more_links=links.more + len(links.backlinks) - len(backlinks),
        plain=f"{note_url(note.path)}?plain",
        first=note.line_start,
        last=note.line_end,
        total=note.total_lines,
        earlier=note_url(note.path, part.earlier) if part.earlier else "",
        later=note_url(note.path, note.line_end + 1) if note.line_end < note.total_lines else "",
    )


async def read_links(request: web.Request, path: str) -> NoteLinks:
    """Return a note's links; none if the index cannot tell them soon."""
    try:
        async with asyncio.timeout(LINKS_SECONDS):
            return await request.app[services_key].memory.links_of(path)
    except (MemoryFault, TimeoutError):
        return NO_LINKS


def view_backlinks(links: Iterable[Backlink]) -> Iterator[BacklinkView]:
    """Yield the lines that link to a note as its pages show them, as many as fit."""
    left = MAX_BACKLINK_BYTES
    for each in links:
        shown = cut(" ".join(each.text.split()), MAX_LINE_CHARS)
        view = BacklinkView(f"{escape_path(each.path)}:{each.line}", note_url(each.path, each.line), shown)
        left -= 50 + sum(
            len(part.encode("utf-8", "replace")) for part in (view.place, view.address, view.text)
        )
        if left < 0:
            return
        yield view


def view_note(note: NoteStat, title: str, *, zone: tzinfo | None) -> ListedNote:
    """Return a note as its folder lists it."""
    name = note.path.rpartition("/")[2]
    size, changed = size_in_words(note.size), note.modified(zone)
    return ListedNote(escape_path(name), view_title(title, name), note_url(note.path), size, changed)


def view_title(title: str, name: str) -> str:
    """Return the title of a note (file name `name`) as lists show it; "" if it says no more than the name."""
    shown = one_line(bare_words(title), limit=MAX_TITLE_CHARS)
    return "" if fold(shown) == fold(PurePosixPath(name).stem) else shown
