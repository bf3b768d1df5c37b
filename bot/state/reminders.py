"""state.db: reminders and scheduled prompts, each with the moment when it is due next."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import apsw

ReminderState = Literal["active", "done", "cancelled", "broken"]


@dataclass(frozen=True, slots=True)
class ReminderRow:
    """One reminder as it is stored. Moments are ISO 8601 in UTC, as `stored` writes them."""

    number: int
    key: str
    """Names whatever asked for it; a second time with the same key adds nothing."""
    chat: str
    person: str
    sender_name: str
    chat_name: str
    in_room: bool
    text: str
    prompt: bool
    """Whether the text is said to the assistant, or by it."""
    due_at: str
    rule: str
    """How it comes round again, as `Rule.parse` takes it; "" for what is due once."""
    zone: str
    """The IANA name of the zone in which `rule` and `due_at` are meant; "" for a moment that is the same everywhere."""
    state: ReminderState
    ended_by: str = ""
    """The key of whatever cancelled it."""
    skipped: int = 0
    """How often it came round since its last delivery, and was left out because that one still waited."""


_COLUMNS = (
    "number, key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at, rule, zone, state, "
    "ended_by, skipped"
)


def m007_reminders(db: apsw.Connection) -> None:
    """`rule` is "" for what is due once; `prompt` tells whether the text is said to the assistant or by it."""
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
    """How often one was skipped, and an index for how many a person has."""
    db.execute(
        """
        ALTER TABLE reminders ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX reminders_person ON reminders (person) WHERE state = 'active';
        """
    )


_SET_WITHIN = timedelta(seconds=3)
"""So much later at most than it was asked for a reminder was stored."""


def m020_moments(db: apsw.Connection) -> None:
    """Clear the zone of reminders that were set for "in 20 minutes" while every row still named a zone.

    They come at the same moment in any zone, and would move with it.
    """
    rows = db.execute(
        "SELECT number, due_at, at FROM reminders WHERE state = 'active' AND rule = '' AND zone != ''"
    ).fetchall()
    for number, due_at, at in rows:
        try:
            elapses = _elapses(datetime.fromisoformat(str(due_at)), datetime.fromisoformat(str(at)))
        except (ValueError, TypeError):
            continue  # it cannot be read, and stays as it is
        if elapses:
            db.execute("UPDATE reminders SET zone = '' WHERE number = ?", (number,))


def _elapses(read_due: datetime, set_at: datetime) -> bool:
    """Return whether a moment was most likely counted from when the reminder was set.

    A time of day has no fraction of a second. Within a day, seconds, or whole minutes since it was set, tell as much.
    """
    if read_due.microsecond:
        return True
    since = read_due - set_at
    whole_minutes = -since % timedelta(minutes=1) <= _SET_WITHIN
    return since <= timedelta(days=1) and bool(read_due.second or whole_minutes)


def find(db: apsw.Connection, key: str) -> ReminderRow | None:
    """Look one up by its key, whatever became of it."""
    return next(_rows(db, "key = ?", (key,)), None)


def count_active(db: apsw.Connection, chat: str) -> int:
    """How many are to come in a chat."""
    count: int = db.execute("SELECT count(*) FROM reminders WHERE chat = ? AND state = 'active'", (chat,)).get
    return count


def count_of_person(db: apsw.Connection, person: str) -> int:
    """Return how many of a person are to come, in all chats."""
    count: int = db.execute(
        "SELECT count(*) FROM reminders WHERE person = ? AND state = 'active'", (person,)
    ).get
    return count


def add(db: apsw.Connection, row: ReminderRow, *, at: str) -> ReminderRow:
    """Add one, whose number is not looked at; give what is stored under its key, which may be older."""
    db.execute(
        "INSERT INTO reminders (key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at, rule, "
        "zone, state, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            row.key,
            row.chat,
            row.person,
            row.sender_name,
            row.chat_name,
            int(row.in_room),
            row.text,
            int(row.prompt),
            row.due_at,
            row.rule,
            row.zone,
            row.state,
            at,
        ),
    )
    found = find(db, row.key)
    assert found is not None
    return found


def active(db: apsw.Connection, chat: str) -> tuple[ReminderRow, ...]:
    """What is to come in a chat, the nearest first."""
    return tuple(_rows(db, "chat = ? AND state = 'active' ORDER BY due_at, number", (chat,)))


def cancel(
    db: apsw.Connection, number: int, *, chat: str | None, prompts: bool, key: str, at: str
) -> ReminderRow | None:
    """End one: of this chat, or of any where it is None; a prompt only where `prompts` says so.

    None where there is no such one to come; a second time with the same key gives it again.
    """
    row = next(_rows(db, "number = ?", (number,)), None)
    if row is None or (chat is not None and row.chat != chat) or (row.prompt and not prompts):
        return None
    if row.state == "cancelled" and row.ended_by == key:
        return row
    db.execute(
        "UPDATE reminders SET state = 'cancelled', ended_by = ?, at = ? WHERE number = ? AND state = 'active'",
        (key, at, number),
    )
    return row if db.changes() else None


def read_due_chats(db: apsw.Connection, now: str) -> tuple[str, ...]:
    """The chats for which something is due."""
    rows = db.execute("SELECT DISTINCT chat FROM reminders WHERE state = 'active' AND due_at <= ?", (now,))
    return tuple(chat for (chat,) in rows)


def read_due(db: apsw.Connection, now: str, chats: Collection[str], *, limit: int) -> tuple[ReminderRow, ...]:
    """What is due for these chats, the earliest first."""
    found: list[ReminderRow] = []
    for row in _rows(db, "state = 'active' AND due_at <= ? ORDER BY due_at, number", (now,)):
        if row.chat in chats:
            found.append(row)
            if len(found) == limit:
                break
    return tuple(found)


def next_due(db: apsw.Connection, after: str) -> str | None:
    """The earliest moment later than `after` at which something is due."""
    moment: str | None = db.execute(
        "SELECT min(due_at) FROM reminders WHERE state = 'active' AND due_at > ?", (after,)
    ).get
    return moment


def advance(db: apsw.Connection, number: int, due_at: str, *, skipped: int = 0) -> None:
    """Set when it is due next, and how often it was skipped until now."""
    db.execute("UPDATE reminders SET due_at = ?, skipped = ? WHERE number = ?", (due_at, skipped, number))


def read_in_other_zones(db: apsw.Connection, zone: str) -> tuple[ReminderRow, ...]:
    """What is to come at a time of day in another zone than this one."""
    return tuple(_rows(db, "state = 'active' AND zone NOT IN ('', ?)", (zone,)))


def reschedule(db: apsw.Connection, number: int, *, due_at: str, zone: str) -> None:
    """Set the zone in which it is meant, and when it is due next."""
    db.execute("UPDATE reminders SET due_at = ?, zone = ? WHERE number = ?", (due_at, zone, number))


def finish(db: apsw.Connection, number: int, state: ReminderState, *, at: str) -> None:
    """Nothing comes of it any more."""
    db.execute("UPDATE reminders SET state = ?, at = ? WHERE number = ?", (state, at, number))


def prune(db: apsw.Connection, *, before: str) -> None:
    """Forget those that ended before a moment."""
    db.execute("DELETE FROM reminders WHERE state != 'active' AND at < ?", (before,))


def _rows(db: apsw.Connection, where: str, values: tuple[str | int, ...]) -> Iterator[ReminderRow]:
    for row in db.execute(f"SELECT {_COLUMNS} FROM reminders WHERE {where}", values):  # noqa: S608
        number, key, chat, person, sender, name, in_room, text, prompt, *others = row
        yield ReminderRow(number, key, chat, person, sender, name, bool(in_room), text, bool(prompt), *others)
