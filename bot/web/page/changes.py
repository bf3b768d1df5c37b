"""Changes to the notes: the latest ones for the first page, and a page of all, each with a button that undoes it."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.change_texts import describe_coverage, describe_effect, format_diff, is_number
from bot.language.text import localize
from bot.sanitize import strip_controls
from bot.state.changes import find_moved_note
from bot.state.database import StateFault
from bot.undo import UndoRefused
from bot.visible_names import escape_path, unescape_path
from bot.web.changes import read_changes_over_http, undo_over_http
from bot.web.context import services_key
from bot.web.forms import add_form, read_form, request_key
from bot.web.page.done import done_response, read_done
from bot.web.page.panel import load_panel
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.urls import CHANGES_URL, changes_url, note_url
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.services import Services

UNDO = "/undo"
LATEST_SHOWN = 6
"""Changes on the first page."""
CHANGES_PER_PAGE = 20
DIFF_LINES = 8
DIFF_LINE_CHARS = 120
"""So much of a change's lines is shown: with 20 changes, a page stays below 60 kB."""
MAX_PATH_CHARS = 1000


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change."""

    number: int
    at: ShownTime | None
    who: str
    path: str
    address: str
    """Of its note, which may be gone."""
    of_note: str
    """Address of all changes to this note."""
    what: str
    diff: str
    """Its lines with `-` and `+`, the first of them; "" if none are kept."""
    root: int
    """Number of the change that the button undoes or redoes."""
    can_undo: bool
    """Whether it has a button: of a change, its undos and redos, only the latest has one."""
    redoes: bool
    """Whether the button redoes a change."""


@dataclass(frozen=True, slots=True)
class ChangesView:
    """Some changes, newest first."""

    rows: tuple[ChangeRow, ...]
    notice: str
    """That other instances may have changed the notes too; "" if none can."""
    has_more: bool


def add_changes(app: web.Application) -> None:
    """Add the page of all changes, and the form that undoes one."""
    app.router.add_get(CHANGES_URL, _changes_page)
    add_form(app, UNDO, _undo_change)


async def changes_view(
    services: "Services", *, limit: int = LATEST_SHOWN, before: int = 0, path: str = ""
) -> ChangesView:
    """Return the latest changes: of all notes or of one, or those before a number. Raises MemoryFault, StateFault."""
    found = await read_changes_over_http(services, limit=limit, before=before, path=path, on_page=True)
    clock = PageClock(services.now())
    rows = (
        ChangeRow(
            each.change.number,
            clock.iso(each.change.at),
            found.names.author(each.change),
            escape_path(each.change.path),
            note_url(each.change.path),
            changes_url(note=each.change.path),
            describe_effect(each),
            format_diff(each.change.lines, most=DIFF_LINES, line_chars=DIFF_LINE_CHARS),
            each.root,
            each.can_undo and not each.next_undo,
            each.state == "undo",
        )
        for each in found.shown
    )
    return ChangesView(tuple(rows), describe_coverage(services.settings), found.has_more)


async def _changes_page(request: web.Request) -> web.Response:
    services = request.app[services_key]
    note, before = request.query.get("note", "")[:MAX_PATH_CHARS].strip(), request.query.get("before", "")
    number = int(before) if is_number(before) else 0
    path = await _find_note(services, unescape_path(note))
    shown = await load_panel(
        changes_view(services, limit=CHANGES_PER_PAGE, before=number, path=path), late=phrases.WEB_BUSY
    )
    rows = shown.shown.rows if shown.shown else ()
    return page_response(
        request,
        "all_changes.html",
        here=CHANGES_URL,
        changes=shown,
        note=escape_path(path),
        later=changes_url(note=path) if number else "",
        earlier=changes_url(note=path, before=rows[-1].number)
        if shown.shown and shown.shown.has_more
        else "",
        done=read_done(request, phrases.WEB_DONE),
    )


async def _find_note(services: "Services", asked: str) -> str:
    """Return the path of the note whose changes are asked for: also by its old path, if it was moved."""
    if not asked:
        return ""
    with suppress(MemoryFault):
        return await services.memory.resolve_path(asked)
    with suppress(StateFault):  # the list says so as well
        return await services.state.read(partial(find_moved_note, path=asked)) or asked
    return asked


async def _undo_change(request: web.Request) -> web.Response:
    """Undo the change whose number the form has."""
    form = await read_form(request)
    number, back = form.get("number", ""), CHANGES_URL if form.get("page") == CHANGES_URL else "/"
    if not is_number(number):
        return _refuse(request, 400, phrases.WEB_NO_CHANGE, back=back)
    try:
        # Another change than the first one that this page undid is another request.
        undone = await undo_over_http(
            request.app[services_key], int(number), key=f"{request_key(form)}/{number}"
        )
    except UndoRefused as refusal:
        return _refuse(request, 409, localize(refusal), refusal.diff, back=back)
    except (MemoryFault, StateFault) as fault:
        return _refuse(request, 503, localize(fault), back=back)
    note = form.get("note", "")[:MAX_PATH_CHARS] if back == CHANGES_URL else ""
    return done_response(back, "redone" if undone.is_redo else "undone", note=note)


def _refuse(request: web.Request, status: int, message: str, diff: str = "", *, back: str) -> web.Response:
    return page_response(
        request,
        "undo_refused.html",
        status=status,
        here=back,
        message=message,
        diff=strip_controls(diff),
        back=back,
    )
