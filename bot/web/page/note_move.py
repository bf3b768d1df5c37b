"""Forms that move or rename a note, and that delete it."""

from dataclasses import dataclass, replace

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.state.database import StateFault
from bot.visible_names import escape_path
from bot.web.changes import OVER_HTTP, new_key
from bot.web.context import services_key
from bot.web.forms import add_form, read_form
from bot.web.page.note_places import breadcrumbs, fault_status, folder_of, missing_page
from bot.web.page.notes import read_links, view_backlinks
from bot.web.page.rendering import page_response
from bot.web.page.urls import DELETE_URL, MOVE_URL, NOTES_URL, TRASH_URL, delete_url, move_url, note_url
from memory.errors import MemoryFault, NoteChanged
from memory.memory import CORE_NOTE
from memory.note_lookup import add_extension


@dataclass(frozen=True, slots=True)
class NoteFormView:
    """The values of the templates."""

    path: str
    address: str
    form: str
    """Where the form is sent to."""
    to: str = ""
    """Where the note is to be moved, as it is written."""
    digest: str = ""
    """Of the version that is to be deleted."""
    problem: str = ""
    is_core: bool = False
    """Whether every conversation begins with the note, as long as it is there."""


def add_note_move(app: web.Application) -> None:
    """Add the forms to the application."""
    app.router.add_get(MOVE_URL + "{path:.+}", _show_move)
    add_form(app, MOVE_URL + "{path:.+}", _move, typed=("to",))
    app.router.add_get(DELETE_URL + "{path:.+}", _show_deletion)
    add_form(app, DELETE_URL + "{path:.+}", _delete)


async def _show_move(request: web.Request) -> web.Response:
    try:
        path = (await request.app[services_key].memory.get(request.match_info["path"], limit=1)).path
    except MemoryFault as fault:
        return missing_page(request, fault)
    return await _move_page(request, _view_move(path, path))


async def _move(request: web.Request) -> web.Response:
    services, path = request.app[services_key], request.match_info["path"]
    to = (await read_form(request)).get("to", "").strip()
    try:
        written = await services.note_writer.move(
            path, add_extension(to) if to else "", key=new_key(), origin=OVER_HTTP
        )
    except (MemoryFault, StateFault) as fault:
        view = replace(_view_move(path, to), problem=localize(fault))
        return await _move_page(request, view, status=fault_status(fault))
    return web.Response(status=303, headers={"Location": note_url(written.path, done="moved")})


async def _show_deletion(request: web.Request) -> web.Response:
    try:
        note = await request.app[services_key].memory.read_whole(request.match_info["path"])
    except MemoryFault as fault:
        return missing_page(request, fault)
    return await _deletion_page(request, _view_deletion(note.path, note.digest))


async def _delete(request: web.Request) -> web.Response:
    services, path = request.app[services_key], request.match_info["path"]
    digest = (await read_form(request)).get("digest", "")
    try:
        await services.note_writer.delete(path, digest=digest, key=new_key(), origin=OVER_HTTP)
    except NoteChanged:
        try:
            note = await services.memory.read_whole(path)
        except MemoryFault as fault:  # it is gone by now
            return missing_page(request, fault)
        view = replace(_view_deletion(note.path, note.digest), problem=phrases.WEB_NOTE_NOT_DELETED)
        return await _deletion_page(request, view, status=409)
    except (MemoryFault, StateFault) as fault:
        view = replace(_view_deletion(path, digest), problem=localize(fault))
        return await _deletion_page(request, view, status=fault_status(fault))
    return web.Response(status=303, headers={"Location": f"{TRASH_URL}?done=deleted"})


def _view_move(path: str, to: str) -> NoteFormView:
    return NoteFormView(escape_path(path), note_url(path), move_url(path), to, is_core=path == CORE_NOTE)


def _view_deletion(path: str, digest: str) -> NoteFormView:
    is_core = path == CORE_NOTE
    return NoteFormView(escape_path(path), note_url(path), delete_url(path), digest=digest, is_core=is_core)


async def _move_page(request: web.Request, view: NoteFormView, *, status: int = 200) -> web.Response:
    return await _note_form_page(request, "note_move.html", view, status=status)


async def _deletion_page(request: web.Request, view: NoteFormView, *, status: int = 200) -> web.Response:
    return await _note_form_page(request, "note_delete.html", view, status=status)


async def _note_form_page(
    request: web.Request, template: str, view: NoteFormView, *, status: int
) -> web.Response:
    path = request.match_info["path"]
    links = await read_links(request, path)
    linked_from = list(view_backlinks(links.backlinks))
    return page_response(
        request,
        template,
        here=NOTES_URL,
        status=status,
        shown=view,
        linked_from=linked_from,
        links=len(links.backlinks) + links.more,
        steps=breadcrumbs(folder_of(path)),
    )
