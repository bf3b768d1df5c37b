"""The tool with which a model sets a reminder."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from bot import phrases
from bot.access import TERMINAL
from bot.foreign_writes import check_reminder
from bot.reminders import MAX_CHARACTERS, ReminderNotSet, ReminderRequest, Reminders, format_recurrence
from bot.state.reminders import ReminderRow
from bot.timeparse import TimeParseError
from bot.tools.toolbox import BadCall, Tool, ToolUse, tool

TIME_FORMATS = (
    'Write "when" as 2026-12-03T14:00 (in the person\'s time zone), 20m, 2h, tomorrow 9:00, every monday 8:00, '
    "every day at 7:30, every 2 weeks on friday 17:00 or every month on the 1st at 9:00."
)


def reminder_tools(reminders: Reminders) -> tuple[Tool, ...]:
    """Return the tool that sets reminders in the chat in which it is called."""

    @tool
    async def remind(
        when: Annotated[
            str,
            Field(
                description="2026-12-03T14:00 in the person's time zone, or 20m, tomorrow 9:00, every monday 8:00, "
                "every month on the 1st at 9:00.",
                max_length=200,
            ),
        ],
        text: Annotated[
            str,
            Field(
                description="What to remind them of, in their language; it is sent word for word.",
                min_length=1,
                max_length=MAX_CHARACTERS,
            ),
        ],
        use: ToolUse,
    ) -> dict[str, Any]:
        """Set a reminder in this chat, once or repeating.

        Use it when the person asks to be reminded. Tell them the time in the result, with weekday and date.
        """
        if found := await reminders.find(use.key):
            return _format_reminder(reminders, found, use)
        if not text.strip():
            raise BadCall('"text" is empty: write what to remind the person of.')
        try:
            moment, rest = reminders.parse(when)
            if rest:
                raise BadCall(f'In "when", "{rest}" is not part of a time. {TIME_FORMATS}')
            row = await reminders.add(
                ReminderRequest(use.key, use.chat, use.person), moment, await _mark(text.strip(), use)
            )
        except TimeParseError as error:
            raise BadCall(f"{error} {TIME_FORMATS}") from error
        except ReminderNotSet as error:
            raise BadCall(str(error)) from error
        return _format_reminder(reminders, row, use)

    return (remind,)


async def _mark(text: str, use: ToolUse) -> str:
    """Return a reminder's text, marked if it is not the person's own words."""
    return await asyncio.to_thread(check_reminder, text, use.reading)


def _format_reminder(reminders: Reminders, row: ReminderRow, use: ToolUse) -> dict[str, Any]:
    at = datetime.fromisoformat(row.due_at).astimezone(reminders.zone)
    told = {
        "number": row.number,
        "due": reminders.next_due(row, seconds=True),
        "at": at.isoformat(timespec="seconds"),
    }
    if row.rule:
        told["every"] = format_recurrence(row)
    if use.chat.channel == TERMINAL:
        told["note"] = phrases.AT_TERMINAL
    return told
