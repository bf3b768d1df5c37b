"""state.db: conversations and their entries."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True)
class Row:
    """One stored entry of a conversation; `seq` counts from 1 within it."""

    conversation: int
    seq: int
    kind: str
    payload: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class TimedRow:
    """An entry and when it was added; ISO 8601 in UTC."""

    row: Row
    at: str


def m001_conversations(db: apsw.Connection) -> None:
    """Conversations and their entries; a chat has at most one open conversation."""
    db.execute(
        """
        CREATE TABLE conversations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            chat TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT
        ) STRICT;
        CREATE UNIQUE INDEX open_conversation ON conversations (chat) WHERE ended_at IS NULL;
        CREATE TABLE entries (
            conversation INTEGER NOT NULL REFERENCES conversations (id),
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            payload TEXT NOT NULL,
            at TEXT NOT NULL,
            PRIMARY KEY (conversation, seq)
        ) STRICT;
        """
    )


def m008_rewritten(db: apsw.Connection) -> None:
    """Count rewrites of a conversation, after which a cached copy has to be read again."""
    db.execute(
        """
        ALTER TABLE conversations ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0;
        CREATE TRIGGER entry_changed AFTER UPDATE OF payload ON entries BEGIN
            UPDATE conversations SET rewritten = rewritten + 1 WHERE id = NEW.conversation;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
            UPDATE conversations SET rewritten = rewritten + 1 WHERE id = OLD.conversation;
        END;
        """
    )


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far somebody has read a conversation."""

    number: int | None = None
    """None if the chat has no open conversation."""
    rewrites: int = 0
    """Its number of rewrites."""


def read_open(
    db: apsw.Connection, chat: str, known: ReadPosition, *, after: int
) -> tuple[ReadPosition, tuple[Row, ...]]:
    """Read a chat's open conversation: entries later than `after` if it is the known one, else all."""
    row = db.execute(
        "SELECT id, rewritten FROM conversations WHERE chat = ? AND ended_at IS NULL", (chat,)
    ).fetchone()
    if row is None:
        return ReadPosition(), ()
    version = ReadPosition(*row)
    return version, read_entries(db, row[0], after if version == known else 0)


def count_rewrites(db: apsw.Connection, conversation: int) -> int:
    """Return how often a conversation was rewritten."""
    times: int = db.execute("SELECT rewritten FROM conversations WHERE id = ?", (conversation,)).get
    return times


def find_open(db: apsw.Connection, chat: str) -> int | None:
    """Return the number of the chat's open conversation, or None."""
    number: int | None = db.execute(
        "SELECT id FROM conversations WHERE chat = ? AND ended_at IS NULL", (chat,)
    ).get
    return number


def read_entries(db: apsw.Connection, conversation: int, after: int) -> tuple[Row, ...]:
    """Return the entries of a conversation whose seq is greater than `after`, in order."""
    rows = db.execute(  # not by `select`, which takes four times as long: conversations grow to thousands of entries
        "SELECT conversation, seq, kind, payload FROM entries "
        "WHERE conversation = ? AND seq > ? ORDER BY seq",
        (conversation, after),
    )
    return tuple(Row(*row) for row in rows)


def append(
    db: apsw.Connection,
    conversation: int | None,
    chat: str,
    new: Sequence[tuple[str, str]],
    *,
    after: int,
    at: str,
) -> tuple[Row, ...]:
    """Append (kind, payload) entries; return all rows later than `after`."""
    number = find_open(db, chat) if conversation is None else conversation
    if number is None:
        db.execute("INSERT INTO conversations (chat, started_at) VALUES (?, ?)", (chat, at))
        number = db.last_insert_rowid()
    missed = read_entries(db, number, after)
    first = missed[-1].seq + 1 if missed else after + 1
    rows = tuple(Row(number, seq, *entry) for seq, entry in enumerate(new, first))
    db.executemany(
        "INSERT INTO entries (conversation, seq, kind, payload, at) VALUES (?, ?, ?, ?, ?)",
        [(row.conversation, row.seq, row.kind, row.payload, at) for row in rows],
    )
    return missed + rows
