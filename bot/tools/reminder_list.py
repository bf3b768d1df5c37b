"""The tools with which a model lists and cancels reminders."""

import asyncio
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any

from pydantic import Field

from bot import phrases
from bot.access import Access, Standing
from bot.foreign_writes import check_cancel
from bot.reminders import Reminders, format_recurrence, is_readable
from bot.state.reminders import ReminderRow
from bot.timeparse import Recurrence
from bot.tools.toolbox import BadCall, Tool, ToolUse, tool


def reminder_list_tools(reminders: Reminders, access: Access) -> tuple[Tool, ...]:
    """Return the tools that list and cancel the reminders of the chat in which they are called."""

    @tool
    async def list_reminders(
        day: Annotated[
            str,
            Field(
                description="Only this day, written as 2026-12-03; leave it out to list all upcoming reminders."
            ),
        ] = "",
        *,
        use: ToolUse,
    ) -> dict[str, Any]:
        """List the upcoming reminders of this chat, nearest first.

        Use it when the person asks about their reminders or what is on a day; for a day, search the notes too.
        """
        owner = await access.standing_of(use.person) is Standing.OWNER
        rows = [row for row in await reminders.list_active(use.chat) if owner or not row.prompt]
        on_day = _day(day) if day else None
        moments = [(_due_on(row, reminders, on_day), row) for row in rows if is_readable(row)]
        due = sorted(
            ((at, row) for at, row in moments if at is not None), key=lambda each: (each[0], each[1].number)
        )
        unreadable = [_unreadable(row) for row in rows if not is_readable(row)]
        return {"reminders": [_format_reminder(row, at) for at, row in due] + unreadable}

    @tool
    async def cancel_reminder(
        number: Annotated[int, Field(description="The number from `list_reminders` or `remind`.", ge=1)],
        use: ToolUse,
    ) -> dict[str, Any]:
        """Cancel a reminder in this chat when the person asks for it; to move one, set the new one first."""
        await asyncio.to_thread(check_cancel, use.reading)
        owner = await access.standing_of(use.person) is Standing.OWNER
        # Owners may cancel those of other chats by command.
        row = await reminders.cancel(number, chat=use.chat, owner=owner, key=use.key, elsewhere=False)
        if row is None:
            raise BadCall(phrases.REMINDER_UNKNOWN.format(number=number))
        if not is_readable(row):
            return _unreadable(row)
        return _format_reminder(row, datetime.fromisoformat(row.due_at).astimezone(reminders.zone))

    return list_reminders, cancel_reminder


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise BadCall(f'"day" is {text!r}: write it as 2026-12-03.') from error


def _due_on(row: ReminderRow, reminders: Reminders, day: date | None) -> datetime | None:
    """Return when it is due next or, given a day, when it is first due on that day; None for not at all."""
    due = datetime.fromisoformat(row.due_at).astimezone(reminders.zone)
    if day is None or due.date() == day:
        return due
    if not row.rule or due.date() > day:
        return None
    before = datetime.combine(day, time(), reminders.zone) - timedelta(microseconds=1)
    again = Recurrence.parse(row.rule).next_after(before, reminders.zone)
    return again if again and again.date() == day else None


def _format_reminder(row: ReminderRow, at: datetime) -> dict[str, Any]:
    told = {"number": row.number, "at": at.isoformat(timespec="minutes"), "text": row.text}
    if row.rule:
        told["every"] = format_recurrence(row)
    return {**told, "runs": "as a prompt"} if row.prompt else told


def _unreadable(row: ReminderRow) -> dict[str, Any]:
    """Return a reminder that is damaged or from a newer version, so that the person can remove it."""
    return {
        "number": row.number,
        "text": row.text,
        "error": f"Its time can't be read. `/reminders cancel {row.number}` removes it.",
    }
