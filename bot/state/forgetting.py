"""state.db: every column with text of people, models or notes, for `/forget`."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from bot.state.rows import insert, select_first
from memory.forgetting import FORGOTTEN


@dataclass(frozen=True, slots=True)
class StoredText:
    """A column with texts."""

    table: str
    column: str
    kind: str = "''"
    """SQL expression for the format of a text."""
    conversation: str = "0"
    also: str = ""
    """SQL for what else changes with the text."""


ENTRIES = StoredText("entries", "payload", kind="kind", conversation="conversation")
REQUESTS = StoredText("forgetting", "query")
CHANGED_PATHS = StoredText("changes", "path", also=", forgotten = 1")
WRITES = (
    StoredText("effects", "intent"),
    StoredText("effects", "path"),
    StoredText("changes", "old", also=", forgotten = 1"),
    StoredText("changes", "new", also=", forgotten = 1"),
    StoredText("changes", "says"),
    StoredText("changes", "moved_from", also=", forgotten = 1"),
    StoredText("changes", "moved_to", also=", forgotten = 1"),
    CHANGED_PATHS,
)
"""Writes to notes that go on meanwhile may add to these."""
STORED_TEXTS = (
    ENTRIES,
    REQUESTS,
    StoredText("inbox", "payload"),
    StoredText("inbox", "reply"),
    StoredText("outbox", "text"),
    *WRITES,
    StoredText("documents", "document"),
    StoredText("imports", "source"),
    StoredText("imported_conversations", "title"),
    StoredText("imported_notes", "source"),
    StoredText("imported_notes", "path"),
    StoredText("unread", "raw"),
    StoredText("model_health", "last_error"),
    StoredText("flushes", "section"),
    StoredText("flushes", "replaces"),
    StoredText("flushes", "core"),
    StoredText(
        "reminders", "text", also=", state = CASE state WHEN 'active' THEN 'cancelled' ELSE state END"
    ),
)

MAX_LENGTH = 8_000_000
"""Maximum number of characters that are read at once."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A person's request to forget something, and what they were shown."""

    chat: str
    person: str
    code: str
    query: str
    """Empty once everything is removed, except from free pages of the files."""
    lines: str
    """Digests of the passages of notes that were shown, as a JSON list."""
    at: str
    key: str = ""
    """Key of the confirmation, set as soon as the removal begins."""
    unfinished: bool = False
    """Whether a removal was begun and has not completed."""
    outcome: str = ""
    """The outcome as JSON, returned if the same confirmation runs again."""


class StoredRow(NamedTuple):
    """One stored text."""

    row: int
    text: str
    kind: str
    conversation: int


def m009_forgetting(db: apsw.Connection) -> None:
    """Requests that wait for a confirmation, one for each person in each chat, and unfinished removals."""
    db.execute(
        """
        CREATE TABLE forgetting (
            chat TEXT NOT NULL,
            person TEXT NOT NULL,
            code TEXT NOT NULL,
            query TEXT NOT NULL,
            lines TEXT NOT NULL,
            at TEXT NOT NULL,
            key TEXT NOT NULL,
            unfinished INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            PRIMARY KEY (chat, person)
        ) STRICT;
        """
    )


def read_request(db: apsw.Connection, chat: str, person: str) -> ForgetRequest | None:
    """Return a person's latest request in a chat, or None."""
    return select_first(db, ForgetRequest, "FROM forgetting WHERE chat = ? AND person = ?", chat, person)


def save_request(db: apsw.Connection, request: ForgetRequest) -> None:
    """Store a request, replacing this person's earlier one in this chat."""
    _enable_secure_delete(db)
    insert(db, "forgetting", request, conflict="REPLACE")


def delete_old_requests(db: apsw.Connection, *, since: str, until: str) -> None:
    """Delete requests made at or before `since` or after `until`; of unfinished ones, only their texts."""
    _enable_secure_delete(db)
    over = "at <= ? OR at > ?"
    db.execute(f"DELETE FROM forgetting WHERE NOT unfinished AND ({over})", (since, until))  # noqa: S608
    db.execute(f"UPDATE forgetting SET query = '', lines = '[]' WHERE {over}", (since, until))  # noqa: S608


def is_unfinished(db: apsw.Connection) -> bool:
    """Return whether any removal was begun and has not completed."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM forgetting WHERE unfinished)").get)


def mark_finished(db: apsw.Connection) -> None:
    """Mark all removals as complete."""
    db.execute("UPDATE forgetting SET unfinished = 0")


def read_texts(
    db: apsw.Connection, place: StoredText, *, after: int, limit: int, max_length: int = MAX_LENGTH
) -> list[StoredRow]:
    """Return the next texts of a column, with a rowid greater than `after`, in order."""
    rows = db.execute(
        f"SELECT rowid, CAST({place.column} AS BLOB), {place.kind}, {place.conversation} "  # noqa: S608
        f"FROM {place.table} WHERE rowid > ? AND {place.column} IS NOT NULL ORDER BY rowid LIMIT ?",
        (after, limit),
    )
    found = list[StoredRow]()
    length = 0
    for row in rows:
        found.append(kept := _decode_row(row))
        length += len(kept.text)
        if length >= max_length:  # some entries contain pictures
            break
    return found


def read_entries(db: apsw.Connection, conversation: int, seqs: Sequence[int]) -> list[StoredRow]:
    """Return these entries of a conversation, in order."""
    rows = db.execute(
        "SELECT rowid, CAST(payload AS BLOB), kind, conversation FROM entries "
        "WHERE conversation = ? AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq",
        (conversation, json.dumps([*seqs])),
    )
    return [_decode_row(row) for row in rows]


def is_being_answered(db: apsw.Connection, conversation: int) -> bool:
    """Return whether a message of a conversation is being answered, or an answer is on its way."""
    found: int = db.execute(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE state != 'delivered' AND conversation = ?)", (conversation,)
    ).get
    return bool(found)


def blank_copies(
    db: apsw.Connection, conversation: int, *, first: int, last: int, documents: Iterable[int], title: bool
) -> None:
    """Remove what repeats the entries from `first` to `last` (seqs) outside of the conversation.

    That is what flushes keep of their text, documents by their numbers and, with `title`, the title of an imported
    conversation.
    """
    _enable_secure_delete(db)
    db.execute(
        "UPDATE flushes SET section = '', replaces = '', core = '' "
        "WHERE conversation = ? AND after < ? AND upto >= ?",
        (conversation, last, first),
    )
    db.execute(
        "DELETE FROM documents WHERE number IN (SELECT value FROM json_each(?)) "
        "AND chat = (SELECT chat FROM conversations WHERE id = ?)",
        (json.dumps([*documents]), conversation),
    )
    if title:
        db.execute(
            "UPDATE imported_conversations SET title = ? WHERE conversation = ? AND title != ''",
            (FORGOTTEN, conversation),
        )


def replace_texts(
    db: apsw.Connection, place: StoredText, changes: Iterable[tuple[StoredRow, str | None]]
) -> None:
    """Replace texts that have not changed meanwhile; None deletes the row.

    SQLite overwrites them with zeros, so that nothing stays in the file if the program crashes before `vacuum`.
    """
    _enable_secure_delete(db)
    where = f"WHERE rowid = ? AND {place.column} = CAST(? AS TEXT)"
    for kept, new in changes:
        before = _encode_text(kept.text)
        if new is None:
            db.execute(f"DELETE FROM {place.table} {where}", (kept.row, before))  # noqa: S608
        else:
            db.execute(
                f"UPDATE {place.table} SET {place.column} = CAST(? AS TEXT){place.also} {where}",  # noqa: S608
                (_encode_text(new), kept.row, before),
            )


def _decode_row(row: "Sequence[apsw.SQLiteValue]") -> StoredRow:
    """Return a row whose text may hold bytes that are no UTF-8: a damaged text must not keep all others from going."""
    number, text, kind, conversation = row
    assert isinstance(text, bytes)
    decoded = text.decode("utf-8", "surrogateescape")
    return StoredRow(int(str(number)), decoded, str(kind), int(str(conversation)))


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _enable_secure_delete(db: apsw.Connection) -> None:
    db.execute("PRAGMA secure_delete = ON").fetchall()


def vacuum(db: apsw.Connection) -> bool:
    """Rewrite the file and empty its journal, so that nothing deleted is left; return whether that succeeded.

    Must not run inside a transaction.
    """
    db.execute("VACUUM")
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return busy is not None and not busy[0]
