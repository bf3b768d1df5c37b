"""The first page: what needs attention, and what was and will be today."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from bot import phrases
from bot.change_texts import is_number
from bot.conversations.core_note import core_warning
from bot.language.text import localize
from bot.messages import ChannelHealth
from bot.services import Services
from bot.state.database import StateFault
from bot.timeparse import TimeParseError
from bot.web.context import services_key, token_of
from bot.web.forms import MAX_TEXT_FORM_BYTES, add_form, read_form
from bot.web.page import alerts
from bot.web.page.changes import ChangesView, changes_view
from bot.web.page.day_log import ADD_TO_LOG, DayLog, add_to_log, day_log
from bot.web.page.done import done_response
from bot.web.page.models import ModelView, model_panel
from bot.web.page.panel import Panel, Shown, load_panel
from bot.web.page.people import read_done_about_people
from bot.web.page.progress import ProgressView, progress_view
from bot.web.page.reminders import (
    CANCEL_REMINDER,
    MAX_SHOWN,
    MOVE_REMINDER,
    NEXT_SHOWN,
    RESTORE_REMINDER,
    ReminderGone,
    ReminderNotChanged,
    RemindersView,
    cancel_reminder,
    move_reminder,
    reminders_view,
    restore_reminder,
)
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock
from bot.web.page.todo import read_todo
from bot.web.page.waiting import DECIDE, NotDecided, WaitingView, decide, waiting_view
from memory.errors import MemoryFault, NothingToWrite, TextTooLong
from memory.status import MemoryStatus

TODAY = "/"

_Act = Callable[[web.Request], Awaitable[web.Response]]


@dataclass(frozen=True, slots=True)
class UnsentForm:
    """A form of the page that could not be done: what was typed is kept, and the page says why."""

    name: str
    """`log`, or `reminder-N`."""
    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class TodayView:
    """The values of the template. What only server.token gives is None without one."""

    day: str
    """Today in words."""
    alerts: tuple[str, ...]
    """What needs attention."""
    waiting: Panel[tuple[WaitingView, ...]] | None
    log: Panel[DayLog]
    reminders: Panel[RemindersView] | None
    changes: Panel[ChangesView] | None
    memory: Panel[MemoryStatus]
    progress: ProgressView
    models: Panel[tuple[ModelView, ...]]
    channels: Mapping[str, ChannelHealth]
    unread: Mapping[str, int]
    """Messages of each channel that could not be read, and were kept."""
    clock: PageClock


def add_today(app: web.Application) -> None:
    """Add the page and its forms."""
    app.router.add_get(TODAY, _page)
    add_form(app, ADD_TO_LOG, _add_to_log, typed=("text",))
    add_form(app, DECIDE, _saying_why(_decide))
    add_form(app, CANCEL_REMINDER, _saying_why(_cancel_reminder))
    add_form(app, MOVE_REMINDER, _saying_why(_move_reminder), typed=("when",))
    add_form(app, RESTORE_REMINDER, _saying_why(_restore_reminder))


async def today_view(services: Services, *, all_reminders: bool = False) -> TodayView:
    """Ask all parts concurrently; one that fails or is slow becomes a `Panel` that says so."""
    is_private = bool(token_of(services))

    async def load_private(open_panel: Callable[[], Awaitable[Shown]]) -> Panel[Shown] | None:
        return await load_panel(open_panel()) if is_private else None

    most = MAX_SHOWN if all_reminders else NEXT_SHOWN
    (memory, core_note, models, todo, log), (waiting, reminders, changes) = await asyncio.gather(
        asyncio.gather(
            load_panel(services.memory.status()),
            load_panel(core_warning(services.memory)),
            load_panel(model_panel(services)),
            load_panel(read_todo(services)),
            load_panel(day_log(services)),
        ),
        asyncio.gather(
            load_private(partial(waiting_view, services)),
            load_private(partial(reminders_view, services, limit=most)),
            load_private(partial(changes_view, services)),
        ),
    )
    now, channels = services.now(), services.channels.health()
    clock = PageClock(now)
    return TodayView(
        day=phrases.WEB_DAY.format(
            weekday=phrases.WEEKDAYS[now.weekday()], day=now.day, month=phrases.MONTHS[now.month - 1]
        ),
        alerts=(
            *alerts.channel_alerts(channels),
            *alerts.instance_alerts(services.instance()),
            *alerts.memory_alerts(memory),
            *alerts.core_note_alerts(core_note),
            *alerts.model_alerts(models.shown or (), clock),
            *alerts.task_alerts(services.supervisor.failures, now),
            *alerts.job_alerts(services.background.jobs),
            *alerts.error_alerts(services.recent_errors.recent(), now),
        ),
        waiting=waiting,
        log=log,
        reminders=reminders,
        changes=changes,
        memory=memory,
        progress=progress_view(services),
        models=models,
        channels=channels,
        unread=todo.shown[0].unread if todo.shown else {},
        clock=clock,
    )


async def _page(
    request: web.Request, *, status: int = 200, unsent: UnsentForm | None = None, problem: str = ""
) -> web.Response:
    """Return the page. `problem`: why a form without a text was not done."""
    number = request.query.get("reminder", "")
    # The one whose form is shown again may be among the later ones.
    all_reminders = request.query.get("reminders") == "all" or request.path == MOVE_REMINDER
    is_cancelled = request.query.get("done") == "cancelled" and is_number(number)
    return page_response(
        request,
        "today.html",
        status=status,
        here=TODAY,
        shown=await today_view(request.app[services_key], all_reminders=all_reminders),
        unsent=unsent,
        problem=problem,
        done=await read_done_about_people(request, phrases.WEB_DONE),
        cancelled=number if is_cancelled else "",
    )


async def _add_to_log(request: web.Request) -> web.Response:
    fields = await read_form(request, max_bytes=MAX_TEXT_FORM_BYTES)
    try:
        await add_to_log(request.app[services_key], fields)
    except NothingToWrite:
        return await _page(request, status=400, unsent=_unsent_log(fields, phrases.WEB_LOG_EMPTY))
    except MemoryFault as fault:
        status = 400 if isinstance(fault, TextTooLong) else 503
        return await _page(request, status=status, unsent=_unsent_log(fields, localize(fault)))
    return done_response(TODAY, "noted")


def _unsent_log(fields: Mapping[str, str], problem: str) -> UnsentForm:
    return UnsentForm("log", fields.get("text", ""), problem)


async def _decide(request: web.Request) -> web.Response:
    form = await read_form(request)
    decided = await decide(request.app[services_key], form)
    return done_response(TODAY, decided, who=form["person"])


async def _cancel_reminder(request: web.Request) -> web.Response:
    number = await cancel_reminder(request.app[services_key], await read_form(request))
    return done_response(TODAY, "cancelled", reminder=str(number))


async def _restore_reminder(request: web.Request) -> web.Response:
    await restore_reminder(request.app[services_key], await read_form(request))
    return done_response(TODAY, "restored")


async def _move_reminder(request: web.Request) -> web.Response:
    fields = await read_form(request)
    try:
        await move_reminder(request.app[services_key], fields)
    except ReminderGone:
        raise
    except (ReminderNotChanged, TimeParseError, StateFault) as refusal:
        name, text = f"reminder-{fields.get('number', '')}", fields.get("when", "")
        if isinstance(refusal, StateFault):
            status, problem = 503, localize(refusal)
        else:
            status, problem = 400, str(refusal)
        return await _page(request, status=status, unsent=UnsentForm(name, text, problem))
    return done_response(TODAY, "moved")


def _saying_why(act: _Act) -> _Act:
    """Return a handler that shows the page with the reason if what a button asks for cannot be done."""

    async def handle(request: web.Request) -> web.Response:
        try:
            return await act(request)
        except (NotDecided, ReminderNotChanged) as refusal:
            return await _page(request, status=409, problem=str(refusal))
        except StateFault as fault:
            return await _page(request, status=503, problem=localize(fault))

    return handle
