"""The upcoming reminders of all chats, each with buttons that cancel and move it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot import phrases
from bot.change_texts import is_number
from bot.messages import PersonId
from bot.reminders import ReminderNotSet, format_recurrence, is_readable
from bot.said_in_chats import format_chat
from bot.sanitize import one_line
from bot.timeparse import moment_in_full
from bot.web.forms import request_key
from bot.web.page.times import ShownTime

if TYPE_CHECKING:
    from bot.services import Services
    from bot.state.reminders import ReminderRow

CANCEL_REMINDER = "/reminders/cancel"
MOVE_REMINDER = "/reminders/move"
RESTORE_REMINDER = "/reminders/restore"

NEXT_SHOWN = 8
"""Reminders on the first page."""
MAX_SHOWN = 100
"""Reminders that the page shows when it is asked for all."""
MAX_TEXT_CHARS = 200
MAX_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class ReminderView:
    """One reminder or scheduled prompt."""

    number: int
    text: str
    due: ShownTime | None
    """None if it cannot be read; then it can only be cancelled."""
    repeats: str
    """How it recurs, in words; "" for once."""
    who: str
    chat: str
    is_prompt: bool
    """Whether it is a prompt for the assistant."""


@dataclass(frozen=True, slots=True)
class RemindersView:
    """The values of the panel."""

    rows: tuple[ReminderView, ...]
    has_more: bool
    zone: str


async def reminders_view(services: "Services", *, limit: int = NEXT_SHOWN) -> RemindersView:
    """Return the next reminders. Raises StateFault."""
    rows = await services.reminders.list_upcoming(limit=limit + 1)
    shown = tuple(_reminder_view(row, services) for row in rows[:limit])
    return RemindersView(shown, len(rows) > limit, services.reminders.zone.key)


def _reminder_view(row: "ReminderRow", services: "Services") -> ReminderView:
    readable = is_readable(row)
    due = datetime.fromisoformat(row.due_at).astimezone(services.reminders.zone) if readable else None
    person = PersonId.parse(row.person)
    who = services.access.find_name(person) or row.sender_name or str(person)
    return ReminderView(
        row.number,
        one_line(row.text, limit=MAX_TEXT_CHARS),
        ShownTime(due.isoformat(timespec="minutes"), services.reminders.next_due(row, name_zone=False))
        if due
        else None,
        format_recurrence(row) if readable else "",
        one_line(who, limit=MAX_NAME_CHARS),
        format_chat(
            row.chat, name=one_line(row.chat_name, limit=MAX_NAME_CHARS) if row.in_room else "", app=""
        ),
        row.prompt,
    )


class ReminderNotChanged(Exception):
    """A reminder is as it was; the text says why and what to do."""


class ReminderGone(ReminderNotChanged):
    """There is no such pending reminder any more."""

    def __init__(self) -> None:
        super().__init__(phrases.WEB_REMINDER_GONE)


async def cancel_reminder(services: "Services", fields: dict[str, str]) -> int:
    """Cancel the reminder whose number the form has, and return that. Raises ReminderNotChanged and StateFault."""
    number = _number(fields)
    key = f"{request_key(fields)}/{number}"
    if await services.reminders.cancel(number, chat=None, owner=True, key=key) is None:
        raise ReminderGone
    return number


async def move_reminder(services: "Services", fields: dict[str, str]) -> int:
    """Move the reminder to the time that the form has. Raises TimeParseError, and otherwise as `cancel_reminder`."""
    number, text = _number(fields), fields.get("when", "").strip()
    if not text:
        raise ReminderNotChanged(phrases.WEB_REMINDER_WHEN)
    when, rest = services.reminders.parse(text)
    if rest:
        moment = moment_in_full(when.due, services.reminders.zone, name_zone=False)
        raise ReminderNotChanged(
            phrases.WEB_REMINDER_REST.format(moment=moment, rest=one_line(rest, limit=MAX_TEXT_CHARS))
        )
    try:
        moved = await services.reminders.move(number, when)
    except ReminderNotSet as refusal:
        raise ReminderNotChanged(str(refusal)) from None
    if moved is None:
        raise ReminderGone
    return number


async def restore_reminder(services: "Services", fields: dict[str, str]) -> int:
    """Make a cancelled reminder pending again. Raises as `cancel_reminder`."""
    number = _number(fields)
    try:
        restored = await services.reminders.restore(number)
    except ReminderNotSet as refusal:
        raise ReminderNotChanged(str(refusal)) from None
    if restored is None:
        raise ReminderGone
    return number


def _number(fields: dict[str, str]) -> int:
    number = fields.get("number", "")
    if not is_number(number):
        raise ReminderGone
    return int(number)
