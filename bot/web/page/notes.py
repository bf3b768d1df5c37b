"""The notes in a browser: folder pages and note pages."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Final

from aiohttp import web

from bot import phrases
from bot.quantities import size_in_words
from bot.sanitize import cut
from bot.visible_names import escape_path
from bot.web.context import services_key, token_of
from bot.web.page.done import read_done
from bot.web.page.note_markdown import render_part
from bot.web.page.note_places import breadcrumbs, missing_page
from bot.web.page.rendering import page_response
from bot.web.page.urls import (
    LINES_PER_PAGE,
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
)
from memory.backlinks import NO_LINKS, Backlink, NoteLinks
from memory.errors import MemoryFault
from memory.link_anchors import find_anchor
from memory.listing import NoteStat

if TYPE_CHECKING:
    from bot.services import Services

NOTES_PER_PAGE: Final = 200
MAX_FOLDERS: Final = 1_000
"""Subfolders that a page lists."""
MAX_PROBLEMS: Final = 50
MAX_HEADING_CHARS: Final = 500
"""Limit for the heading that a link leads to."""

LINKS_SECONDS: Final = 3.0
"""How long a note's page waits for the index, which may be busy indexing many notes, to tell its links."""
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

    @classmethod
    def of(cls, services: "Services", path: str) -> "NoteActions":
        """Return what can be done with the note at a path."""
        if not token_of(services):
            return cls()
        if services.memory.find_read_only_folder(path):
            return cls(history=changes_url(note=path))
        return cls(edit_url(path), move_url(path), delete_url(path), changes_url(note=path))


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
    listing = await services.memory.list_folder(folder)
    count = len(listing.notes)
    pages = count_pages(count, per_page=NOTES_PER_PAGE)
    number = min(page_number(request.query.get("page", "")), pages)
    names = listing.notes[(number - 1) * NOTES_PER_PAGE : number * NOTES_PER_PAGE]
    notes = await services.memory.stat_notes(folder, names)
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
        folders=[
            FolderLink(escape_path(name), folder_url(start + name)) for name in listing.folders[:MAX_FOLDERS]
        ],
        more_folders=max(0, len(listing.folders) - MAX_FOLDERS),
        notes=[view_note(each, zone=zone) for each in notes],
        count=count,
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
    services = request.app[services_key]
    memory = services.memory
    if "plain" in request.query:
        whole = await memory.get(path)
        return web.Response(text=whole.text, content_type="text/plain")
    if heading := request.query.get("heading"):
        whole = await memory.get(path)
        line = await asyncio.to_thread(find_anchor, whole.text, heading[:MAX_HEADING_CHARS])
        raise web.HTTPFound(note_url(whole.path, line))
    first = page_number(request.query.get("line", ""))
    note = await memory.get(path, line=first, limit=LINES_PER_PAGE)
    links = await read_links(request, note.path)
    # In a thread: a long note takes a tenth of a second, which must not delay messages.
    html = await asyncio.to_thread(
        render_part,
        note.text,
        path=note.path,
        first_line=first,
        links=links,
        find_file=memory.file_finder(note.path).find,
    )
    folder, _, name = note.path.rpartition("/")
    return page_response(
        request,
        "note.html",
        here=NOTES_URL,
        title=escape_path(name),
        path=escape_path(note.path),
        steps=breadcrumbs(folder),
        html=html,
        done=read_done(request, phrases.WEB_NOTE_DONE),
        actions=NoteActions.of(services, note.path),
        linked_from=[view_backlink(each) for each in links.backlinks],
        more_links=links.more,
        plain=f"{note_url(note.path)}?plain",
        first=note.line_start,
        last=note.line_end,
        total=note.total_lines,
        earlier=note_url(note.path, max(1, first - LINES_PER_PAGE)) if first > 1 else "",
        later=note_url(note.path, note.line_end + 1) if note.line_end < note.total_lines else "",
    )


async def read_links(request: web.Request, path: str) -> NoteLinks:
    """Return a note's links; none if the index cannot tell them soon."""
    try:
        async with asyncio.timeout(LINKS_SECONDS):
            return await request.app[services_key].memory.links_of(path)
    except (MemoryFault, TimeoutError):
        return NO_LINKS


def view_backlink(link: Backlink) -> BacklinkView:
    """Return a line that links to a note, as its page shows it."""
    shown = cut(" ".join(link.text.split()), MAX_LINE_CHARS)
    return BacklinkView(f"{escape_path(link.path)}:{link.line}", note_url(link.path, link.line), shown)


def view_note(note: NoteStat, *, zone: tzinfo | None) -> ListedNote:
    """Return a note as its folder lists it."""
    name = note.path.rpartition("/")[2]
    return ListedNote(escape_path(name), note_url(note.path), size_in_words(note.size), note.modified(zone))
