"""state.db: which parts of conversations were flushed to the notes, and how far each flush has come.

A flush is a row for one part of a conversation: the entries after `after` up to `upto`. Its stages: `begun`;
`answered` once the text to write is known; `written` once the section is in the log; `chosen` once it is known which
facts MEMORY.md lacks; `done`. The parts of a conversation are contiguous, except for what was compacted while its chat
had no memory, there was no language model, or `[memory.flush]` was off.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from bot.state.conversations import TimedRow
from bot.state.rows import select, select_first

FlushStage = Literal["begun", "answered", "written", "chosen", "done"]
Cause = Literal["threshold", "overflow", "asked", "new", "idle"]

_SAID = "('user', 'assistant', 'result')"
_FROM = "FROM (SELECT flushes.*, conversations.chat FROM flushes JOIN conversations ON conversations.id = conversation)"


@dataclass(frozen=True, slots=True)
class Flush:
    """The flush of one part of a conversation."""

    id: int
    conversation: int
    chat: str
    after: int
    upto: int
    cause: Cause
    key: str
    """Key of the command that asked for it; "" if none did."""
    stage: FlushStage
    failures: int
    """Failed attempts; for a raw section, failed attempts to improve it."""
    raw: bool
    """Whether the section has the messages themselves and a model should improve it."""
    again_at: str
    """Earliest time of the next background attempt."""
    note: str
    """The log of the day on which it began."""
    heading: str
    section: str
    """The whole block for the log; "" if there is nothing to write."""
    replaces: str
    """The block that it replaces; "" for none."""
    core: str
    """Facts for MEMORY.md; from `chosen` on exactly the block to append, "" for none."""
    digest: str
    places: tuple[str, ...]
    """References to what was written, for people."""


def m005_flushes(db: apsw.Connection) -> None:
    """Flushes, conversations ended by commands, and known chats."""
    db.execute(
        """
        CREATE TABLE flushes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL REFERENCES conversations (id),
            after INTEGER NOT NULL,
            upto INTEGER NOT NULL,
            cause TEXT NOT NULL,
            key TEXT NOT NULL,
            stage TEXT NOT NULL,
            failures INTEGER NOT NULL DEFAULT 0,
            raw INTEGER NOT NULL DEFAULT 0,
            again_at TEXT NOT NULL DEFAULT '',
            began_at TEXT NOT NULL,
            note TEXT NOT NULL,
            heading TEXT NOT NULL,
            section TEXT NOT NULL DEFAULT '',
            replaces TEXT NOT NULL DEFAULT '',
            core TEXT NOT NULL DEFAULT '',
            digest TEXT NOT NULL DEFAULT '',
            places TEXT NOT NULL DEFAULT '[]'
        ) STRICT;
        CREATE UNIQUE INDEX flushes_of ON flushes (conversation, after);
        CREATE INDEX flushes_open ON flushes (again_at) WHERE stage != 'done' OR raw;
        CREATE TABLE endings (
            key TEXT PRIMARY KEY,
            conversation INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE known_chats (
            chat TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            flush INTEGER NOT NULL
        ) STRICT;
        """
    )


# -- flushes ------------------------------------------------------------------------------------------------


def begin(
    db: apsw.Connection,
    conversation: int,
    *,
    upto: int | None,
    cause: Cause,
    key: str,
    note: str,
    heading: str,
    at: str,
    beside: bool = False,
) -> Flush | None:
    """Return the flush to continue; None if nothing was said since the last one.

    A pending flush comes first, unless another one may begin `beside` it. If it has no answer yet, it is extended to
    `upto` (None: everything), and keeps the day on which it began.
    """
    last = find_latest(db, conversation)
    if last and last.stage not in ("begun", "done") and not beside:
        return last
    under_way = last is not None and last.stage == "begun"
    after = last.after if last and under_way else read_flushed_upto(db, conversation)
    end = _find_last_message(db, conversation, after=after, upto=upto)
    if last and under_way:
        # The latest request decides how patient it is, and gets the answer.
        db.execute(
            "UPDATE flushes SET upto = max(upto, ?), cause = ?, key = ? WHERE id = ?",
            (end or 0, cause, key, last.id),
        )
        return find(db, last.id)
    if end is None:
        return None
    db.execute(
        "INSERT INTO flushes (conversation, after, upto, cause, key, stage, began_at, note, heading) "
        "VALUES (?, ?, ?, ?, ?, 'begun', ?, ?, ?)",
        (conversation, after, end, cause, key, at, note, heading),
    )
    return find(db, db.last_insert_rowid())


def read_flushed_upto(db: apsw.Connection, conversation: int) -> int:
    """Return the seq up to which a conversation was flushed or compacted; 0 for nothing."""
    flushed: int | None = db.execute(
        "SELECT max(upto) FROM flushes WHERE conversation = ?", (conversation,)
    ).get
    return max(flushed or 0, _read_compacted_upto(db, conversation))


def _read_compacted_upto(db: apsw.Connection, conversation: int) -> int:
    payload = db.execute(
        "SELECT payload FROM entries WHERE conversation = ? AND kind = 'summary' ORDER BY seq DESC LIMIT 1",
        (conversation,),
    ).get
    fields = json.loads(payload) if payload else {}
    return int(fields.get("upto", 0))


def _find_last_message(db: apsw.Connection, conversation: int, *, after: int, upto: int | None) -> int | None:
    """Return the last entry to flush; None if no person says anything in it."""
    has_words, last = db.execute(
        f"SELECT max(kind = 'user'), max(seq) FROM entries WHERE conversation = ? AND seq > ? "  # noqa: S608
        f"AND seq <= ? AND kind IN {_SAID}",
        (conversation, after, upto if upto is not None else 1 << 62),
    ).fetchall()[0]
    return last if has_words and isinstance(last, int) else None


def find(db: apsw.Connection, number: int) -> Flush | None:
    """Return the flush with this number, or None."""
    return select_first(db, Flush, f"{_FROM} WHERE id = ?", number)


def find_latest(db: apsw.Connection, conversation: int) -> Flush | None:
    """Return a conversation's latest flush, or None."""
    rest = f"{_FROM} WHERE conversation = ? ORDER BY after DESC LIMIT 1"
    return select_first(db, Flush, rest, conversation)


def find_by_key(db: apsw.Connection, conversation: int, key: str) -> Flush | None:
    """Return the flush that an earlier run of the same command began, or None."""
    rest = f"{_FROM} WHERE conversation = ? AND key = ? ORDER BY after DESC LIMIT 1"
    return select_first(db, Flush, rest, conversation, key)


def read_pending(db: apsw.Connection, *, now: str, limit: int) -> tuple[Flush, ...]:
    """Return flushes that are not done or are raw, and may be tried now; the oldest first."""
    rest = f"{_FROM} WHERE (stage != 'done' OR raw) AND again_at <= ? ORDER BY id LIMIT ?"
    return tuple(select(db, Flush, rest, now, limit))


def read_raw(db: apsw.Connection, chat: str, *, given_up: bool, limit: int) -> tuple[Flush, ...]:
    """Return raw sections of one chat that may be improved, those with the fewest failures first.

    `given_up`: include those that are not tried in the background any more.
    """
    rest = f"{_FROM} WHERE raw AND stage = 'done' AND (? OR again_at < ?) AND chat = ? ORDER BY failures, id LIMIT ?"
    return tuple(select(db, Flush, rest, given_up, NEVER, chat, limit))


NEVER = "9999"
"""Value of `again_at` for sections that are not tried again in the background."""


def is_unchanged(db: apsw.Connection, row: Flush) -> bool:
    """Return whether what a flush writes is still what it was when `row` was read: it may have been forgotten."""
    now = find(db, row.id)
    return now is not None and (now.section, now.replaces, now.core) == (row.section, row.replaces, row.core)


def update(db: apsw.Connection, row: Flush, **changes: Any) -> bool:
    """Change a flush unless somebody else has changed it since `row` was read; return whether it was changed."""
    if "places" in changes:
        changes["places"] = json.dumps(list(changes["places"]))
    names = ", ".join(f"{name} = ?" for name in changes)
    db.execute(
        f"UPDATE flushes SET {names} WHERE id = ? AND stage = ? AND upto = ? AND raw = ? "  # noqa: S608
        "AND failures = ? AND replaces = ? AND section = ? AND core = ?",
        (
            *changes.values(),
            *(row.id, row.stage, row.upto, int(row.raw), row.failures, row.replaces, row.section, row.core),
        ),
    )
    return db.changes() > 0


def read_transcript(db: apsw.Connection, row: Flush) -> tuple[str, tuple[TimedRow, ...]]:
    """Return the summary of everything before a flush ("" for none) and its entries."""
    payload = db.execute(
        "SELECT payload FROM entries WHERE conversation = ? AND kind = 'summary' "
        "AND json_extract(payload, '$.upto') <= ? ORDER BY seq DESC LIMIT 1",
        (row.conversation, row.after),
    ).get
    summary = json.loads(payload).get("text", "") if payload else ""
    rest = "FROM entries WHERE conversation = ? AND seq > ? AND seq <= ? ORDER BY seq"
    return summary, tuple(select(db, TimedRow, rest, row.conversation, row.after, row.upto))


# -- conversations and chats --------------------------------------------------------------------------------


def end_once(db: apsw.Connection, key: str, chat: str) -> int | None:
    """Return the conversation that a command ends: the one open when it first ran; None if there was none."""
    found = db.execute("SELECT conversation FROM endings WHERE key = ?", (key,)).get
    if found is None:
        found = db.execute("SELECT id FROM conversations WHERE chat = ? AND ended_at IS NULL", (chat,)).get
        db.execute("INSERT INTO endings (key, conversation) VALUES (?, ?)", (key, found or 0))
    return found or None


def close(db: apsw.Connection, conversation: int, *, at: str) -> None:
    """End a conversation; one that has ended stays as it is."""
    db.execute("UPDATE conversations SET ended_at = ? WHERE id = ? AND ended_at IS NULL", (at, conversation))


def save_chat(db: apsw.Connection, chat: str, *, name: str, flush: bool) -> None:
    """Store a chat's name, and whether what is said there may go into the notes."""
    db.execute(
        "INSERT INTO known_chats (chat, name, flush) VALUES (?, ?, ?) "
        "ON CONFLICT (chat) DO UPDATE SET name = excluded.name, flush = excluded.flush",
        (chat, name, int(flush)),
    )


def read_chat(db: apsw.Connection, chat: str) -> tuple[str, bool]:
    """Return a chat's name ("" if unknown), and whether it may be flushed."""
    row = db.execute("SELECT name, flush FROM known_chats WHERE chat = ?", (chat,)).fetchone()
    return (row[0], bool(row[1])) if row else ("", False)


def read_idle_chats(
    db: apsw.Connection, *, before: str, after: int, limit: int
) -> tuple[tuple[int, str], ...]:
    """Return number and chat of open conversations without entries since `before` that have something to flush.

    `after`: only those with a greater number.
    """
    rows = db.execute(
        "SELECT conversations.id, conversations.chat FROM conversations JOIN known_chats USING (chat) "
        "WHERE ended_at IS NULL AND flush AND conversations.id > ? AND (SELECT at FROM entries "
        "WHERE conversation = conversations.id ORDER BY seq DESC LIMIT 1) < ? ORDER BY conversations.id",
        (after, before),
    ).fetchall()
    waiting = (
        (number, str(chat))
        for number, chat in rows
        if isinstance(number, int)
        and _find_last_message(db, number, after=read_flushed_upto(db, number), upto=None) is not None
    )
    return tuple(each for each, _ in zip(waiting, range(limit), strict=False))
