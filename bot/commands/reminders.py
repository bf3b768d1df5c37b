"""Slash commands for reminders and scheduled prompts."""

from datetime import datetime, timedelta

from bot import phrases
from bot.access import TERMINAL, Standing
from bot.buttons import buttons_for
from bot.commands.command import CommandCall, CommandReply
from bot.language.text import join_sentences
from bot.messages import Choice
from bot.reminders import ReminderNotSet, ReminderRequest, format_recurrence, is_readable
from bot.services import Services
from bot.state.reminders import ReminderRow
from bot.timeparse import TimeParseError

DELAYED_AFTER = timedelta(minutes=1)
"""For a message older than this, "in 20 minutes" counts from when it was written."""
DUE_SOON = timedelta(minutes=2)
"""A time nearer than this is shown to the second."""
MAX_SHOWN_CHARS = 100
"""The most characters of a text that the list shows."""
MAX_CHOICES = 8


async def remind(call: CommandCall, services: Services) -> str:
    """Set a reminder in this chat."""
    return await _add(call, services, prompt=False)


async def schedule(call: CommandCall, services: Services) -> str:
    """Schedule a prompt that runs as a turn in this chat."""
    return await _add(call, services, prompt=True)


async def manage_reminders(call: CommandCall, services: Services) -> str | CommandReply:
    """List the upcoming reminders of this chat, or cancel some. Only owners see scheduled prompts."""
    owner = call.standing is Standing.OWNER
    if call.options.get("action") == "cancel":
        numbers = [
            each.removeprefix("#") for each in call.options.get("number", "").replace(",", " ").split()
        ]
        if not numbers or not all(each.isdecimal() and len(each) <= 18 for each in numbers):
            return phrases.CANCEL_WHICH
        told = [await _cancel(number, call, services) for number in dict.fromkeys(map(int, numbers))]
        return "\n".join(told)
    rows = [row for row in await services.reminders.list_active(call.message.chat) if owner or not row.prompt]
    if not rows:
        return phrases.REMINDERS_NONE
    zone = services.reminders.zone.key
    return CommandReply(
        phrases.REMINDERS.format(zone=zone, rows="\n".join(_format_row(row, services) for row in rows)),
        buttons_for(
            Choice(
                phrases.REMINDERS_CHOICE_CANCEL.format(number=row.number, text=_shorten(row.text)),
                f"/reminders cancel {row.number}",
            )
            for row in rows[:MAX_CHOICES]
        ),
    )


async def _cancel(number: int, call: CommandCall, services: Services) -> str:
    owner = call.standing is Standing.OWNER
    ended = await services.reminders.cancel(number, chat=call.message.chat, owner=owner, key=call.key)
    if ended is None:
        return phrases.REMINDER_UNKNOWN.format(number=number)
    return phrases.REMINDER_CANCELLED.format(number=ended.number, text=_shorten(ended.text))


async def _add(call: CommandCall, services: Services, *, prompt: bool) -> str:
    row = await services.reminders.find(call.key)  # set before a crash, and may even be past
    if row is None:
        message, now = call.message, services.now()
        asked_at = min(message.sent_at, now) if now - message.sent_at > DELAYED_AFTER else now
        asked = ReminderRequest(
            call.key, message.chat, message.sender, message.sender_name, message.chat_name, message.in_room
        )
        try:
            when, text = services.reminders.parse(
                f"{call.options['when']} {call.options['prompt' if prompt else 'text']}", asked_at=asked_at
            )
            if not text:
                return phrases.SCHEDULE_WHAT if prompt else phrases.REMIND_WHAT
            row = await services.reminders.add(asked, when, text, prompt=prompt)
        except (TimeParseError, ReminderNotSet) as error:
            return str(error)
    soon = timedelta() < datetime.fromisoformat(row.due_at) - services.now() < DUE_SOON
    phrase = phrases.SCHEDULE_SET if row.prompt else phrases.REMINDER_SET
    told = phrase.format(
        number=row.number,
        text=_shorten(row.text),
        moment=services.reminders.next_due(row, seconds=soon),
        again=_format_recurrence(row),
    )
    return join_sentences([told, phrases.AT_TERMINAL]) if call.message.chat.channel == TERMINAL else told


def _format_row(row: ReminderRow, services: Services) -> str:
    if not is_readable(row):
        return phrases.REMINDERS_ROW_UNREADABLE.format(number=row.number, text=_shorten(row.text))
    phrase = phrases.REMINDERS_ROW_PROMPT if row.prompt else phrases.REMINDERS_ROW
    return phrase.format(
        number=row.number,
        moment=services.reminders.next_due(row, name_zone=False),
        again=_format_recurrence(row),
        text=_shorten(row.text),
    )


def _format_recurrence(row: ReminderRow) -> str:
    return phrases.AGAIN.format(rule=format_recurrence(row)) if row.rule else ""


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN_CHARS else f"{line[:MAX_SHOWN_CHARS].rstrip()}…"
