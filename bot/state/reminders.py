"""state.db: reminders and scheduled prompts, each with the time when it is due next."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

import apsw

from bot.state.rows import insert, select, select_first

ReminderState = Literal["active", "done", "cancelled", "broken"]


@dataclass(frozen=True, slots=True)
class ReminderRow:
    """One stored reminder; times are as `format_timestamp` returns them."""

    number: int
    key: str
    """Permanent key of the request; a second one with the same key adds nothing."""
    chat: str
    person: str
    sender_name: str
    chat_name: str
    in_room: bool
    text: str
    prompt: bool
    """Whether the text is a prompt for the assistant, not a message from it."""
    due_at: str
    rule: str
    """How it recurs, in the format of `Recurrence.parse`; "" for once."""
    zone: str
    """IANA name of the zone to which `rule` and `due_at` refer; "" for a time that is the same everywhere."""
    state: ReminderState
    ended_by: str = ""
    """Key of the command that cancelled it."""
    skipped: int = 0
    """Occurrences since the last delivery that were skipped, because that one was still pending."""


def m007_reminders(db: apsw.Connection) -> None:
    """`rule` is "" for a reminder that is due once; `prompt` marks prompts for the assistant."""
    db.execute(
        """
        CREATE TABLE reminders (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            chat TEXT NOT NULL,
            person TEXT NOT NULL,
            sender_name TEXT NOT NULL,
            chat_name TEXT NOT NULL,
            in_room INTEGER NOT NULL,
            text TEXT NOT NULL,
            prompt INTEGER NOT NULL,
            due_at TEXT NOT NULL,
            rule TEXT NOT NULL,
            zone TEXT NOT NULL,
            state TEXT NOT NULL,
            ended_by TEXT NOT NULL DEFAULT '',
            at TEXT NOT NULL
        ) STRICT;
        CREATE INDEX reminders_due ON reminders (due_at) WHERE state = 'active';
        CREATE INDEX reminders_chat ON reminders (chat) WHERE state = 'active';
        """
    )


def m018_skipped(db: apsw.Connection) -> None:
    """Count skipped occurrences, and index reminders by person."""
    db.execute(
        """
        ALTER TABLE reminders ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX reminders_person ON reminders (person) WHERE state = 'active';
        """
    )


_MAX_STORING_DELAY = timedelta(seconds=3)
"""Maximum time between a request and the storing of its reminder."""


def m020_moments(db: apsw.Connection) -> None:
    """Clear the zone of reminders that were set as "in 20 minutes" while every row still named a zone.

    They are due at the same time in any zone, and would move with it.
    """
    rows = db.execute(
        "SELECT number, due_at, at FROM reminders WHERE state = 'active' AND rule = '' AND zone != ''"
    ).fetchall()
    for number, due_at, at in rows:
        try:
            elapses = _elapses(datetime.fromisoformat(str(due_at)), datetime.fromisoformat(str(at)))
        except (ValueError, TypeError):
            continue  # an unreadable row stays as it is
        if elapses:
            db.execute("UPDATE reminders SET zone = '' WHERE number = ?", (number,))


def _elapses(due: datetime, set_at: datetime) -> bool:
    """Return whether a due time was most likely counted from when the reminder was set.

    A time of day has no fraction of a second. Within a day, seconds, or whole minutes since the setting, also suggest
    it.
    """
    if due.microsecond:
        return True
    since = due - set_at
    whole_minutes = -since % timedelta(minutes=1) <= _MAX_STORING_DELAY
    return since <= timedelta(days=1) and bool(due.second or whole_minutes)


def find(db: apsw.Connection, key: str) -> ReminderRow | None:
    """Return a reminder by its key, in any state."""
    return select_first(db, ReminderRow, "FROM reminders WHERE key = ?", key)


def count_active(db: apsw.Connection, chat: str) -> int:
    """Return the number of pending reminders of a chat."""
    count: int = db.execute("SELECT count(*) FROM reminders WHERE chat = ? AND state = 'active'", (chat,)).get
    return count


def count_of_person(db: apsw.Connection, person: str) -> int:
    """Return the number of a person's pending reminders, in all chats."""
    count: int = db.execute(
        "SELECT count(*) FROM reminders WHERE person = ? AND state = 'active'", (person,)
    ).get
    return count


def add(db: apsw.Connection, row: ReminderRow, *, at: str) -> ReminderRow:
    """Add a reminder, ignoring its number; return the one stored under its key, which may be older."""
    insert(db, "reminders", row, conflict="IGNORE", without="number", at=at)
    found = find(db, row.key)
    assert found is not None
    return found


def read_active(db: apsw.Connection, chat: str) -> tuple[ReminderRow, ...]:
    """Return the pending reminders of a chat, the next one first."""
    rest = "FROM reminders WHERE chat = ? AND state = 'active' ORDER BY due_at, number"
    return tuple(select(db, ReminderRow, rest, chat))


def read_upcoming(db: apsw.Connection, *, limit: int) -> tuple[ReminderRow, ...]:
    """Return pending reminders of all chats, the next one first."""
    rest = "FROM reminders WHERE state = 'active' ORDER BY due_at, number LIMIT ?"
    return tuple(select(db, ReminderRow, rest, limit))


def read_one(db: apsw.Connection, number: int) -> ReminderRow | None:
    """Return a reminder by its number, in any state."""
    return select_first(db, ReminderRow, "FROM reminders WHERE number = ?", number)


def cancel(
    db: apsw.Connection, number: int, *, chat: str | None, prompts: bool, key: str, at: str
) -> ReminderRow | None:
    """Cancel a reminder of this chat (None: of any chat); a prompt only if `prompts` is set.

    Returns None if there is no such pending one; a retry with the same key returns it again.
    """
    row = read_one(db, number)
    if row is None or (chat is not None and row.chat != chat) or (row.prompt and not prompts):
        return None
    if row.state == "cancelled" and row.ended_by == key:
        return row
    db.execute(
        "UPDATE reminders SET state = 'cancelled', ended_by = ?, at = ? WHERE number = ? AND state = 'active'",
        (key, at, number),
    )
    return row if db.changes() else None


def move(db: apsw.Connection, number: int, *, due_at: str, rule: str, zone: str) -> None:
    """Set when a pending reminder is due, and how it recurs, as if it had just been set for that time."""
    db.execute(
        "UPDATE reminders SET due_at = ?, rule = ?, zone = ?, skipped = 0 WHERE number = ? AND state = 'active'",
        (due_at, rule, zone, number),
    )


def restore(db: apsw.Connection, number: int, *, due_at: str, at: str) -> None:
    """Make a cancelled reminder pending again, due at a time."""
    db.execute(
        "UPDATE reminders SET state = 'active', ended_by = '', due_at = ?, at = ?"
        " WHERE number = ? AND state = 'cancelled'",
        (due_at, at, number),
    )


def read_due_chats(db: apsw.Connection, now: str) -> tuple[str, ...]:
    """Return the chats with due reminders."""
    rows = db.execute("SELECT DISTINCT chat FROM reminders WHERE state = 'active' AND due_at <= ?", (now,))
    return tuple(chat for (chat,) in rows)


def read_due(db: apsw.Connection, now: str, chats: Collection[str], *, limit: int) -> tuple[ReminderRow, ...]:
    """Return due reminders of these chats, the earliest first."""
    rest = "FROM reminders WHERE state = 'active' AND due_at <= ? ORDER BY due_at, number"
    return tuple(islice((row for row in select(db, ReminderRow, rest, now) if row.chat in chats), limit))


def next_due(db: apsw.Connection, after: str) -> str | None:
    """Return the earliest due time later than `after`."""
    moment: str | None = db.execute(
        "SELECT min(due_at) FROM reminders WHERE state = 'active' AND due_at > ?", (after,)
    ).get
    return moment


def advance(db: apsw.Connection, number: int, due_at: str, *, skipped: int = 0) -> None:
    """Set when it is due next, and how often it was skipped until now."""
    db.execute("UPDATE reminders SET due_at = ?, skipped = ? WHERE number = ?", (due_at, skipped, number))


def read_in_other_zones(db: apsw.Connection, zone: str) -> tuple[ReminderRow, ...]:
    """Return pending reminders at a time of day in another zone."""
    return tuple(
        select(db, ReminderRow, "FROM reminders WHERE state = 'active' AND zone NOT IN ('', ?)", zone)
    )


def reschedule(db: apsw.Connection, number: int, *, due_at: str, zone: str) -> None:
    """Set its zone, and when it is due next."""
    db.execute("UPDATE reminders SET due_at = ?, zone = ? WHERE number = ?", (due_at, zone, number))


def finish(db: apsw.Connection, number: int, state: ReminderState, *, at: str) -> None:
    """Set the final state of a reminder."""
    db.execute("UPDATE reminders SET state = ?, at = ? WHERE number = ?", (state, at, number))


def prune(db: apsw.Connection, *, before: str) -> None:
    """Delete reminders that ended before a time."""
    db.execute("DELETE FROM reminders WHERE state != 'active' AND at < ?", (before,))
