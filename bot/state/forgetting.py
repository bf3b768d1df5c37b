"""state.db: every place where it keeps what people, models and notes have said."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import apsw


@dataclass(frozen=True, slots=True)
class StoredText:
    """A column with texts."""

    table: str
    column: str
    kind: str = "''"
    """SQL for what tells how the text is written."""
    conversation: str = "0"
    also: str = ""
    """SQL for what else is to change with the text."""


ENTRIES = StoredText("entries", "payload", kind="kind", conversation="conversation")
REQUESTS = StoredText("forgetting", "query")
STORED_TEXTS = (
    ENTRIES,
    REQUESTS,
    StoredText("inbox", "payload"),
    StoredText("inbox", "reply"),
    StoredText("outbox", "text"),
    StoredText("effects", "intent"),
    StoredText("effects", "path"),
    StoredText("documents", "document"),
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
"""Characters of texts that are looked at together."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What somebody wants to be forgotten, and was shown."""

    chat: str
    person: str
    code: str
    query: str
    """"" once it is removed everywhere but from the free pages of the files."""
    lines: str
    """Digests of the passages of notes that were shown, as a JSON list."""
    at: str
    key: str = ""
    """Names the confirmation, from the moment on at which something is removed."""
    unfinished: bool = False
    """Whether a removal was begun that has not come to its end."""
    outcome: str = ""
    """What came of it, as JSON, to be told again where the same confirmation is carried out again."""


class StoredRow(NamedTuple):
    """One text as it is kept."""

    row: int
    text: str
    kind: str
    conversation: int


def m009_forgetting(db: apsw.Connection) -> None:
    """What waits for a confirmation, one for each person in each chat, and what is left to be done."""
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
    """What a person was shown last in a chat."""
    row = db.execute(
        "SELECT chat, person, code, query, lines, at, key, unfinished, outcome FROM forgetting "
        "WHERE chat = ? AND person = ?",
        (chat, person),
    ).fetchone()
    if row is None:
        return None
    _, _, code, query, lines, at, key, unfinished, outcome = row
    return ForgetRequest(chat, person, code, query, lines, at, key, bool(unfinished), outcome)


def save_request(db: apsw.Connection, asked: ForgetRequest) -> None:
    """Keep it, in the place of what was kept for this person in this chat."""
    _enable_secure_delete(db)
    db.execute(
        "INSERT OR REPLACE INTO forgetting (chat, person, code, query, lines, at, key, unfinished, outcome) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            asked.chat,
            asked.person,
            asked.code,
            asked.query,
            asked.lines,
            asked.at,
            asked.key,
            int(asked.unfinished),
            asked.outcome,
        ),
    )


def delete_old_requests(db: apsw.Connection, *, since: str, until: str) -> None:
    """Remove what was not asked after `since` and not after `until`; of what is left to be done, that it is."""
    _enable_secure_delete(db)
    over = "at <= ? OR at > ?"
    db.execute(f"DELETE FROM forgetting WHERE NOT unfinished AND ({over})", (since, until))  # noqa: S608
    db.execute(f"UPDATE forgetting SET query = '', lines = '[]' WHERE {over}", (since, until))  # noqa: S608


def is_unfinished(db: apsw.Connection) -> bool:
    """Whether a removal was begun, by whomever, that has not come to its end."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM forgetting WHERE unfinished)").get)


def mark_finished(db: apsw.Connection) -> None:
    """Nothing is left to be done."""
    db.execute("UPDATE forgetting SET unfinished = 0")


def read_texts(
    db: apsw.Connection, place: StoredText, *, after: int, most: int, most_length: int = MAX_LENGTH
) -> list[StoredRow]:
    """The first texts of a place whose row is greater than `after`, in order; none where there are no more."""
    rows = db.execute(
        f"SELECT rowid, {place.column}, {place.kind}, {place.conversation} FROM {place.table} "  # noqa: S608
        f"WHERE rowid > ? AND {place.column} IS NOT NULL ORDER BY rowid LIMIT ?",
        (after, most),
    )
    found = list[StoredRow]()
    length = 0
    for row in rows:
        found.append(kept := StoredRow(*row))
        length += len(kept.text)
        if length >= most_length:  # pictures stand among the texts
            break
    return found


def replace_texts(
    db: apsw.Connection, place: StoredText, changes: Iterable[tuple[StoredRow, str | None]]
) -> None:
    """Put other texts in their place, where they have not changed meanwhile; None removes the row.

    SQLite writes zeros over them, so that a crash before `vacuum` does not leave them in the file for ever.
    """
    _enable_secure_delete(db)
    where = f"WHERE rowid = ? AND {place.column} = ?"
    for kept, new in changes:
        if new is None:
            db.execute(f"DELETE FROM {place.table} {where}", (kept.row, kept.text))  # noqa: S608
        else:
            db.execute(
                f"UPDATE {place.table} SET {place.column} = ?{place.also} {where}",  # noqa: S608
                (new, kept.row, kept.text),
            )


def _enable_secure_delete(db: apsw.Connection) -> None:
    db.execute("PRAGMA secure_delete = ON").fetchall()


def vacuum(db: apsw.Connection) -> bool:
    """Write the file anew, so that nothing of what was deleted is left, and empty its journal; tell whether it is.

    Not inside a transaction.
    """
    db.execute("VACUUM")
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return busy is not None and not busy[0]
