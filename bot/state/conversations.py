"""state.db: conversations and what was said in them."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a conversation as it is stored; `seq` counts from 1 within its conversation."""

    conversation: int
    seq: int
    kind: str
    payload: str
    """JSON."""


def m001_conversations(db: apsw.Connection) -> None:
    """Conversations and what was said in them, for ever; a chat has one open conversation at most."""
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


def open_conversation(db: apsw.Connection, chat: str) -> int | None:
    """Give the number of the chat's open conversation, if it has one."""
    number: int | None = db.execute(
        "SELECT id FROM conversations WHERE chat = ? AND ended_at IS NULL", (chat,)
    ).get
    return number


def entries(db: apsw.Connection, conversation: int, after: int) -> tuple[Row, ...]:
    """Read the entries of a conversation whose seq is greater than `after`, in order."""
    rows = db.execute(
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
    """Add (kind, payload) entries; give all rows later than `after`."""
    number = open_conversation(db, chat) if conversation is None else conversation
    if number is None:
        db.execute("INSERT INTO conversations (chat, started_at) VALUES (?, ?)", (chat, at))
        number = db.last_insert_rowid()
    missed = entries(db, number, after)
    first = missed[-1].seq + 1 if missed else after + 1
    rows = tuple(Row(number, seq, *entry) for seq, entry in enumerate(new, first))
    db.executemany(
        "INSERT INTO entries (conversation, seq, kind, payload, at) VALUES (?, ?, ?, ?, ?)",
        [(row.conversation, row.seq, row.kind, row.payload, at) for row in rows],
    )
    return missed + rows


def end(db: apsw.Connection, chat: str, *, at: str) -> bool:
    """Close the chat's open conversation; tell whether there was one."""
    db.execute("UPDATE conversations SET ended_at = ? WHERE chat = ? AND ended_at IS NULL", (at, chat))
    return db.changes() > 0
