"""The form for a new note."""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.state.database import StateFault
from bot.web.changes import OVER_HTTP, new_key
from bot.web.context import services_key
from bot.web.forms import MAX_TEXT_FORM_BYTES, add_form, read_form
from bot.web.page.note_edit import explain_length
from bot.web.page.note_places import breadcrumbs, fault_status, folder_of
from bot.web.page.rendering import page_response
from bot.web.page.urls import NEW_NOTE_URL, NOTES_URL, folder_url, note_url
from memory.charset import normalize_newlines
from memory.errors import MemoryFault
from memory.note_lookup import add_extension


@dataclass(frozen=True, slots=True)
class NewNoteView:
    """The values of the template."""

    path: str
    """As it is written: without `.md`, or with a folder only."""
    text: str = ""
    problem: str = ""


def add_new_note(app: web.Application) -> None:
    """Add the form to the application."""
    app.router.add_get(NEW_NOTE_URL, _show_form)
    add_form(app, NEW_NOTE_URL, _take_form, typed=("path", "text"))


async def _show_form(request: web.Request) -> web.Response:
    folder = request.query.get("folder", "")
    return _form_page(request, NewNoteView(f"{folder}/" if folder else ""))


async def _take_form(request: web.Request) -> web.Response:
    fields = await read_form(request, max_bytes=MAX_TEXT_FORM_BYTES)
    view = NewNoteView(fields.get("path", "").strip(), normalize_newlines(fields.get("text", "")))
    if problem := explain_length(view.text):
        return _form_page(request, replace(view, problem=problem), status=400)
    if not view.path or view.path.endswith("/"):
        return _form_page(request, replace(view, problem=phrases.WEB_NOTE_NAMELESS), status=400)
    path = add_extension(view.path)
    text = view.text if view.text.strip() else f"# {PurePosixPath(path).stem}"
    try:
        written = await request.app[services_key].note_writer.create(
            path, text, key=new_key(), origin=OVER_HTTP
        )
    except (MemoryFault, StateFault) as fault:
        return _form_page(request, replace(view, problem=localize(fault)), status=fault_status(fault))
    return web.Response(status=303, headers={"Location": note_url(written.path, done="created")})


def _form_page(request: web.Request, view: NewNoteView, *, status: int = 200) -> web.Response:
    folder = folder_of(view.path)
    return page_response(
        request,
        "note_new.html",
        here=NOTES_URL,
        status=status,
        shown=view,
        back=folder_url(folder),
        steps=breadcrumbs(folder),
    )
