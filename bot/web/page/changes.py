"""The latest changes to the notes on the status page, each with a button that undoes it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.change_names import ChangeNames
from bot.change_texts import ShownChange, describe_coverage, describe_effect, is_number
from bot.sanitize import strip_controls
from bot.state.database import StateFault
from bot.undo import UndoRefused
from bot.visible_names import escape_path
from bot.web.changes import read_changes_over_http, undo_over_http
from bot.web.context import services_key
from bot.web.forms import read_form
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.urls import history_url, note_url
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.services import Services

UNDO = "/undo"
CHANGES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change."""

    number: int
    at: ShownTime | None
    who: str
    path: str
    address: str
    """Of its note, which may be gone."""
    what: str
    root: int
    """Number of the change that the button undoes or redoes."""
    can_undo: bool
    """Whether it has a button: of a change, its undos and redos, only the latest has one."""
    redoes: bool
    """Whether the button redoes a change."""


@dataclass(frozen=True, slots=True)
class ChangesView:
    """The values of the panel."""

    rows: tuple[ChangeRow, ...]
    notice: str
    """That other instances may have changed the notes too; "" if none can."""


async def changes_view(services: "Services") -> ChangesView:
    """Return the latest changes. Raises MemoryFault and StateFault."""
    found = await read_changes_over_http(services, limit=CHANGES_SHOWN)
    clock = PageClock(services.now())
    rows = (view_change(each, found.names, clock) for each in found.shown)
    return ChangesView(tuple(rows), describe_coverage(services.settings))


def view_change(shown: ShownChange, names: ChangeNames, clock: PageClock) -> ChangeRow:
    """Return a change as it is listed."""
    return ChangeRow(
        shown.change.number,
        clock.iso(shown.change.at),
        names.author(shown.change),
        escape_path(shown.change.path),
        note_url(shown.change.path),
        describe_effect(shown),
        shown.root,
        shown.can_undo and not shown.next_undo,
        shown.state == "undo",
    )


async def undo_change(request: web.Request) -> web.Response:
    """Undo the change whose number the form has; lead back to the note whose history has the form, if it names one."""
    fields = await read_form(request)
    number, note = fields.get("number", ""), fields.get("note", "")
    back = history_url(note) if note else "/#changes"
    if not is_number(number):
        return _refuse(request, 400, back, phrases.WEB_NO_CHANGE)
    try:
        await undo_over_http(request.app[services_key], int(number))
    except UndoRefused as refusal:
        return _refuse(request, 409, back, str(refusal), refusal.diff)
    except (MemoryFault, StateFault) as fault:
        return _refuse(request, 503, back, str(fault))
    return web.Response(status=303, headers={"Location": f"{back}?done=undone" if note else back})


def _refuse(request: web.Request, status: int, back: str, message: str, diff: str = "") -> web.Response:
    return page_response(
        request,
        "undo_refused.html",
        status=status,
        here="/",
        back=back,
        message=message,
        diff=strip_controls(diff),
    )
