"""A note's history: its recorded changes, newest first, with who, when, what, and a button that undoes each."""

from dataclasses import dataclass

from aiohttp import web

from bot.change_names import ChangeNames
from bot.change_texts import ShownChange, format_diff
from bot.state.database import StateFault
from bot.visible_names import escape_path
from bot.web.changes import read_changes_over_http
from bot.web.context import services_key
from bot.web.page.changes import ChangeRow, view_change
from bot.web.page.note_places import breadcrumbs, done_sentence, folder_of
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock
from bot.web.page.urls import HISTORY_URL, NOTES_URL, history_url, note_url, page_number
from memory.errors import MemoryFault

CHANGES_PER_PAGE = 20


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One change with its lines."""

    change: ChangeRow
    what: str
    """What it did, in words; "" if its lines say that."""
    diff: str
    is_forgotten: bool


def add_note_history(app: web.Application) -> None:
    """Add the page to the application."""
    app.router.add_get(HISTORY_URL + "{path:.+}", _show_history)


async def _show_history(request: web.Request) -> web.Response:
    services, path = request.app[services_key], request.match_info["path"]
    before = page_number(request.query.get("before", ""), least=0)
    rows, problem, older, status = list[HistoryRow](), "", "", 200
    try:
        found = await read_changes_over_http(services, limit=CHANGES_PER_PAGE, before=before, path=path)
        clock = PageClock(services.now())
        rows = [_view(each, found.names, clock) for each in found.shown]
        older = history_url(path, rows[-1].change.number) if found.has_more else ""
    except (MemoryFault, StateFault) as fault:
        problem, status = str(fault), 503
    return page_response(
        request,
        "note_history.html",
        here=NOTES_URL,
        status=status,
        path=escape_path(path),
        asked=path,
        address=note_url(path),
        rows=rows,
        problem=problem,
        done=done_sentence(request),
        newest=history_url(path) if before else "",
        older=older,
        steps=breadcrumbs(folder_of(path)),
    )


def _view(shown: ShownChange, names: ChangeNames, clock: PageClock) -> HistoryRow:
    row, diff = view_change(shown, names, clock), format_diff(shown.change.lines)
    needs_words = shown.state in ("undo", "redo") or not diff
    return HistoryRow(row, row.what if needs_words else "", diff, shown.change.forgotten)
