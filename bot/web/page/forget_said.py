"""The page that shows what of a conversation would be forgotten and asks, and its form."""

from dataclasses import dataclass
from datetime import date

from aiohttp import web

from bot import phrases
from bot.change_texts import is_number
from bot.forget_said import (
    FoundSaid,
    NotedLine,
    NothingSaid,
    SaidPart,
    StillAnswering,
    TypedLinesKept,
    find_noted,
    find_said,
    forget_said,
)
from bot.language.text import localize
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.timeparse import day_in_words
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.forms import read_form
from bot.web.page.conversations import refuse, title_of
from bot.web.page.done import done_response
from bot.web.page.rendering import page_response
from bot.web.page.urls import CONVERSATIONS_URL, conversation_url, note_url

EXCERPT_CHARS = 160
DONE = "forgotten"
"""Key of the sentence that says so."""


@dataclass(frozen=True, slots=True)
class NoteView:
    """A line of a note that stays."""

    path: str
    address: str
    words: str


@dataclass(frozen=True, slots=True)
class ForgetView:
    """The values of the template."""

    title: str
    address: str
    """Of the conversation."""
    form: str
    """Address that the form is sent to."""
    day: str
    """ISO 8601; "" for the whole conversation."""
    day_words: str
    upto: int
    messages: int
    others: int
    summaries: int
    excerpts: tuple[str, ...]
    notes: tuple[NoteView, ...]


async def ask_to_forget(request: web.Request) -> web.Response:
    """Show what would be forgotten, and ask."""
    part = _read_part(request, request.query.get("day", ""))
    return (
        refuse(request, 404, phrases.WEB_NOT_FOUND, phrases.WEB_NO_CONVERSATION)
        if part is None
        else await _ask(request, part)
    )


async def forget(request: web.Request) -> web.Response:
    """Forget what the form shows."""
    form = await read_form(request)
    part, upto = _read_part(request, form.get("day", "")), form.get("upto", "")
    if part is None or not is_number(upto):
        return refuse(request, 400, phrases.WEB_NOTHING_FORGOTTEN, phrases.WEB_FORGET_INVALID)
    try:
        messages, problem = await forget_said(request.app[services_key], part, upto=int(upto))
    except NothingSaid:
        return refuse(request, 404, phrases.WEB_NOT_FOUND, phrases.WEB_NO_CONVERSATION)
    except StillAnswering:
        return await _ask(request, part, status=409, problem=phrases.WEB_STILL_ANSWERING)
    except TypedLinesKept as fault:
        problem = phrases.WEB_TYPED_LINES_KEPT.format(reason=fault)
        return refuse(request, 503, phrases.WEB_NOTHING_FORGOTTEN, problem)
    except StateFault as fault:
        return refuse(request, 503, phrases.WEB_NOTHING_FORGOTTEN, localize(fault))
    if problem:
        return page_response(
            request,
            "said_forgotten.html",
            here=CONVERSATIONS_URL,
            messages=messages,
            problem=problem,
            notes=tuple(map(_show_note, await find_noted(request.app[services_key], part))),
            address=conversation_url(part.conversation),
        )
    return done_response(
        conversation_url(part.conversation), DONE, day=part.day.isoformat() if part.day else ""
    )


async def _ask(request: web.Request, part: SaidPart, *, status: int = 200, problem: str = "") -> web.Response:
    try:
        found = await find_said(request.app[services_key], part)
    except NothingSaid:
        return refuse(request, 404, phrases.WEB_NOT_FOUND, phrases.WEB_NO_CONVERSATION)
    except StateFault as fault:
        return refuse(request, 503, phrases.WEB_NOT_AVAILABLE, localize(fault))
    return page_response(
        request,
        "forget_said.html",
        here=CONVERSATIONS_URL,
        status=status,
        problem=problem,
        shown=_view(found),
    )


def _view(found: FoundSaid) -> ForgetView:
    day, address = found.part.day, conversation_url(found.part.conversation)
    return ForgetView(
        title=title_of(found.listed),
        address=address,
        form=f"{address}/forget",
        day=day.isoformat() if day else "",
        day_words=day_in_words(day) if day else "",
        upto=found.upto,
        messages=found.messages,
        others=found.others,
        summaries=found.summaries,
        excerpts=tuple(
            escape_path(one_line(each.text[:1000], limit=EXCERPT_CHARS)) for each in found.excerpts
        ),
        notes=tuple(map(_show_note, found.notes)),
    )


async def still_noted(request: web.Request) -> tuple[NoteView, ...]:
    """Return what notes still have of what was forgotten, as the address of the conversation names it."""
    if (
        request.query.get("done") != DONE
        or (part := _read_part(request, request.query.get("day", ""))) is None
    ):
        return ()
    return tuple(map(_show_note, await find_noted(request.app[services_key], part)))


def _show_note(noted: NotedLine) -> NoteView:
    words = escape_path(one_line(noted.text, limit=EXCERPT_CHARS))
    return NoteView(escape_path(noted.path), note_url(noted.path, noted.line), words)


def _read_part(request: web.Request, day: str) -> SaidPart | None:
    """Return the part that is asked for; None if the day is none."""
    number = int(request.match_info["number"])
    if not day:
        return SaidPart(number)
    try:
        return SaidPart(number, date.fromisoformat(day))
    except ValueError:
        return None
