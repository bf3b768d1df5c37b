"""The trash: what was removed from the notes, newest first, each with a button that restores it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.note_writes import RestorePlan
from bot.sanitize import one_line, strip_controls
from bot.services import Services
from bot.state.database import StateFault
from bot.trash import NotInTrash, find_removed, plan_restore
from bot.visible_names import escape_path
from bot.web.changes import OVER_HTTP, new_key
from bot.web.context import services_key
from bot.web.forms import add_form, read_form
from bot.web.page.done import read_done
from bot.web.page.note_places import fault_status
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.urls import NOTES_URL, TRASH_URL, note_url, page_number
from memory.errors import MemoryFault, NoteUnreadable
from memory.trash import TrashItem

ITEMS_PER_PAGE = 20
WORDS_CHARS = 80
"""The most characters of a removed text that its row shows."""
TEXT_BYTES = 800
"""So much of it is shown when it is opened: a page stays below 60 kB."""


@dataclass(frozen=True, slots=True)
class TrashRow:
    """One removal."""

    number: str
    at: ShownTime
    note: str
    is_whole: bool
    words: str
    text: str
    """What was removed, cut if it is long."""


def add_note_trash(app: web.Application) -> None:
    """Add the page and its form to the application."""
    app.router.add_get(TRASH_URL, _trash_page)
    add_form(app, TRASH_URL, _restore)


async def _restore(request: web.Request) -> web.Response:
    services = request.app[services_key]
    number = (await read_form(request)).get("number", "")

    planned = list[RestorePlan]()

    async def find() -> RestorePlan:
        planned.append(await plan_restore(await find_removed(number, services.memory), services.memory))
        return planned[-1]

    try:
        done = await services.note_writer.restore(find, key=new_key(), origin=OVER_HTTP)
    except NotInTrash:
        return await _trash_page(request, problem=phrases.WEB_TRASH_GONE, status=409)
    except (MemoryFault, StateFault) as fault:
        return await _trash_page(request, problem=localize(fault), status=fault_status(fault))
    is_renamed = any(each.is_whole and each.path != done.written.path for each in planned)
    key = "restored-as" if is_renamed else "restored"
    where = note_url(done.written.path, done.written.line_start, done=key)
    return web.Response(status=303, headers={"Location": where})


async def _trash_page(request: web.Request, *, problem: str = "", status: int = 200) -> web.Response:
    services, rows, count = request.app[services_key], list[TrashRow](), 0
    number = page_number(request.query.get("page", ""))
    try:
        page = await services.memory.removed_page(first=(number - 1) * ITEMS_PER_PAGE, count=ITEMS_PER_PAGE)
        count, number = page.count, page.first // ITEMS_PER_PAGE + 1
        rows = await _read_rows(services, page.items)
    except MemoryFault as fault:
        problem, status = problem or localize(fault), 503
    return page_response(
        request,
        "trash.html",
        here=NOTES_URL,
        status=status,
        done=read_done(request, phrases.WEB_NOTE_DONE),
        problem=problem,
        rows=rows,
        count=count,
        earlier=f"{TRASH_URL}?page={number - 1}" if number > 1 else "",
        later=f"{TRASH_URL}?page={number + 1}" if number * ITEMS_PER_PAGE < count else "",
    )


async def _read_rows(services: Services, removed: Sequence[TrashItem]) -> list[TrashRow]:
    rows, clock = list[TrashRow](), PageClock(services.now())
    for each in removed:
        try:
            text = await services.memory.read_trash(each)
        except NoteUnreadable:  # restored meanwhile
            continue
        if words := one_line(text, limit=WORDS_CHARS):  # else torn by a crash
            rows.append(_view(each, text, words, clock.at(_local(each.at, services))))
    return rows


def _local(at: datetime, services: Services) -> datetime:
    return at.astimezone(services.now().tzinfo)


def _view(item: TrashItem, text: str, words: str, at: ShownTime) -> TrashRow:
    beginning = text.encode()[:TEXT_BYTES].decode(errors="ignore")
    shown = strip_controls(beginning if beginning == text else f"{beginning}…")
    return TrashRow(item.number, at, escape_path(item.note), item.is_whole, words, shown)
