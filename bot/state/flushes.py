"""state.db: what of each conversation has gone into the notes, and how far that has come.

A flush is a row for one stretch of a conversation, the entries after `after` up to `upto`. It is `begun`; `answered`
once it is known what is to be noted; `written` once the section stands in the log; `chosen` once it is known what
MEMORY.md lacks of it; and `done`. Stretches of one conversation follow each other without a gap, but for what was
folded while its chat had no memory.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from bot.state.conversations import Row

FlushStage = Literal["begun", "answered", "written", "chosen", "done"]
Cause = Literal["threshold", "overflow", "asked", "new", "idle"]

_SAID = "('user', 'assistant', 'result')"


@dataclass(frozen=True, slots=True)
class Flush:
    """One stretch of a conversation on its way into the notes."""

    id: int
    conversation: int
    chat: str
    after: int
    upto: int
    cause: Cause
    key: str
    """Of the command that asked for it; "" where none did."""
    stage: FlushStage
    failures: int
    """How often no model has answered; since the raw words are kept, how often no better section came."""
    raw: bool
    """Whether the words stand there as they were said, and wait for a model."""
    again_at: str
    """Before then it is not tried again unasked."""
    note: str
    """The log of the day on which it began."""
    heading: str
    section: str
    """The whole block for the log; "" where there is nothing for it."""
    replaces: str
    """The block whose place it takes; "" for none."""
    core: str
    """What is for MEMORY.md: from `chosen` on exactly the block that is added; "" for nothing."""
    digest: str
    places: tuple[str, ...]
    """Where it was noted, for people."""


@dataclass(frozen=True, slots=True)
class FlushEntry:
    """One entry of a stretch with the moment at which it was written down."""

    row: Row
    at: str


def m005_flushes(db: apsw.Connection) -> None:
    """One row for each stretch; which conversation a command has ended; what is known of chats."""
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


# -- stretches ----------------------------------------------------------------------------------------------


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
    """Give the flush to be carried on now; None where nothing was said since the last one.

    One that is under way comes first, unless another may be begun `beside` it. One that has no answer yet is widened
    up to `upto` (None: all), and keeps the day on which it began.
    """
    last = find_latest(db, conversation)
    if last and last.stage not in ("begun", "done") and not beside:
        return last
    under_way = last is not None and last.stage == "begun"
    after = last.after if last and under_way else read_flushed_upto(db, conversation)
    close = _find_last_message(db, conversation, after=after, upto=upto)
    if last and under_way:
        # Who asks now decides how patient it is, and is told.
        db.execute(
            "UPDATE flushes SET upto = max(upto, ?), cause = ?, key = ? WHERE id = ?",
            (close or 0, cause, key, last.id),
        )
        return find(db, last.id)
    if close is None:
        return None
    db.execute(
        "INSERT INTO flushes (conversation, after, upto, cause, key, stage, began_at, note, heading) "
        "VALUES (?, ?, ?, ?, ?, 'begun', ?, ?, ?)",
        (conversation, after, close, cause, key, at, note, heading),
    )
    return find(db, db.last_insert_rowid())


def read_flushed_upto(db: apsw.Connection, conversation: int) -> int:
    """The seq up to which a conversation is flushed or folded; 0 for nothing."""
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
    """The last entry of a stretch; None where no person says anything in it."""
    has_words, last = db.execute(
        f"SELECT max(kind = 'user'), max(seq) FROM entries WHERE conversation = ? AND seq > ? "  # noqa: S608
        f"AND seq <= ? AND kind IN {_SAID}",
        (conversation, after, upto if upto is not None else 1 << 62),
    ).fetchall()[0]
    return last if has_words and isinstance(last, int) else None


def find(db: apsw.Connection, number: int) -> Flush | None:
    """Look one up."""
    return _read_first(db, "WHERE flushes.id = ?", number)


def find_latest(db: apsw.Connection, conversation: int) -> Flush | None:
    """The latest of a conversation."""
    return _read_first(db, "WHERE conversation = ? ORDER BY after DESC LIMIT 1", conversation)


def find_by_key(db: apsw.Connection, conversation: int, key: str) -> Flush | None:
    """What a command has flushed before, when it is run again."""
    return _read_first(
        db, "WHERE conversation = ? AND key = ? ORDER BY after DESC LIMIT 1", conversation, key
    )


def read_pending(db: apsw.Connection, *, now: str, most: int) -> tuple[Flush, ...]:
    """What is not done, or is raw, and may be tried now; the oldest first."""
    return _read_all(
        db, "WHERE (stage != 'done' OR raw) AND again_at <= ? ORDER BY flushes.id LIMIT ?", now, most
    )


def read_raw(db: apsw.Connection, chat: str, *, given_up: bool, most: int) -> tuple[Flush, ...]:
    """Raw sections of one chat that may still become better ones; those that have failed least first.

    `given_up`: also those that are not tried unasked any more.
    """
    return _read_all(
        db,
        "WHERE raw AND stage = 'done' AND (? OR again_at < ?) AND chat = ? ORDER BY failures, flushes.id LIMIT ?",
        int(given_up),
        NEVER,
        chat,
        most,
    )


NEVER = "9999"
"""As `again_at`: it stays as it is."""


def update(db: apsw.Connection, row: Flush, **changes: Any) -> bool:
    """Change a flush, where nobody else has done so since `row` was read; tell whether it did."""
    if "places" in changes:
        changes["places"] = json.dumps(list(changes["places"]))
    names = ", ".join(f"{name} = ?" for name in changes)
    db.execute(
        f"UPDATE flushes SET {names} WHERE id = ? AND stage = ? AND upto = ? AND raw = ? "  # noqa: S608
        "AND failures = ? AND replaces = ?",
        (*changes.values(), row.id, row.stage, row.upto, int(row.raw), row.failures, row.replaces),
    )
    return db.changes() > 0


def read_transcript(db: apsw.Connection, row: Flush) -> tuple[str, tuple[FlushEntry, ...]]:
    """What is to be flushed: the summary of what came before it, "" for none, and its entries."""
    payload = db.execute(
        "SELECT payload FROM entries WHERE conversation = ? AND kind = 'summary' "
        "AND json_extract(payload, '$.upto') <= ? ORDER BY seq DESC LIMIT 1",
        (row.conversation, row.after),
    ).get
    summary = json.loads(payload).get("text", "") if payload else ""
    rows = db.execute(
        "SELECT conversation, seq, kind, payload, at FROM entries "
        "WHERE conversation = ? AND seq > ? AND seq <= ? ORDER BY seq",
        (row.conversation, row.after, row.upto),
    )
    return summary, tuple(FlushEntry(Row(*each[:4]), each[4]) for each in rows)


_COLUMNS = (
    "flushes.id, conversation, chat, after, upto, cause, key, stage, failures, raw, again_at, note, heading, "
    "section, replaces, core, digest, places"
)


def _read_all(db: apsw.Connection, where: str, *values: str | int) -> tuple[Flush, ...]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM flushes JOIN conversations ON conversations.id = conversation {where}",  # noqa: S608
        values,
    )
    return tuple(_from_row(row) for row in rows)


def _read_first(db: apsw.Connection, where: str, *values: str | int) -> Flush | None:
    return next(iter(_read_all(db, where, *values)), None)


def _from_row(row: Sequence[Any]) -> Flush:
    fields = list(row)
    fields[9], fields[-1] = bool(fields[9]), tuple(json.loads(fields[-1]))
    return Flush(*fields)


# -- conversations and chats --------------------------------------------------------------------------------


def end_once(db: apsw.Connection, key: str, chat: str) -> int | None:
    """Settle which conversation a command ends: the open one when it was first run; None where there was none."""
    found = db.execute("SELECT conversation FROM endings WHERE key = ?", (key,)).get
    if found is None:
        found = db.execute("SELECT id FROM conversations WHERE chat = ? AND ended_at IS NULL", (chat,)).get
        db.execute("INSERT INTO endings (key, conversation) VALUES (?, ?)", (key, found or 0))
    return found or None


def close(db: apsw.Connection, conversation: int, *, at: str) -> None:
    """Close one conversation; one that is closed already stays as it is."""
    db.execute("UPDATE conversations SET ended_at = ? WHERE id = ? AND ended_at IS NULL", (at, conversation))


def save_chat(db: apsw.Connection, chat: str, *, name: str, flush: bool) -> None:
    """Keep what people call a chat, and whether what is said there may go into the notes."""
    db.execute(
        "INSERT INTO known_chats (chat, name, flush) VALUES (?, ?, ?) "
        "ON CONFLICT (chat) DO UPDATE SET name = excluded.name, flush = excluded.flush",
        (chat, name, int(flush)),
    )


def read_chat(db: apsw.Connection, chat: str) -> tuple[str, bool]:
    """Name of a chat, "" where it is not known, and whether it is flushed."""
    row = db.execute("SELECT name, flush FROM known_chats WHERE chat = ?", (chat,)).fetchone()
    return (row[0], bool(row[1])) if row else ("", False)


def read_idle_chats(
    db: apsw.Connection, *, before: str, after: int, most: int
) -> tuple[tuple[int, str], ...]:
    """Open conversations, number and chat, without an entry since a moment, that have something to be flushed.

    `after`: only those of a greater number.
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
    return tuple(each for each, _ in zip(waiting, range(most), strict=False))
