"""state.db: which changes of the notes brought a line, and what people said before them."""

import json
from typing import Any, NamedTuple

import apsw

from bot.state.changes import Change
from bot.state.conversation_entries import read_span
from bot.state.conversations import TimedRow
from bot.state.rows import select

MAX_CANDIDATES = 200
"""The most changes that are looked at for one line."""
MAX_MESSAGES_IN_A_ROW = 32


class LineCount(NamedTuple):
    """Where a change replaced how many lines by how many."""

    number: int
    line: int
    """1-based."""
    removed: int
    added: int


class ImportedFrom(NamedTuple):
    """The import that wrote a note."""

    run: int
    file: str
    """The file's path in what was imported."""


def find_bringing(db: apsw.Connection, words: str, *, path: str) -> tuple[Change, ...]:
    """Return the latest changes that may have brought a line with these words, first those of this note."""
    rest = "FROM changes WHERE instr(new, ?) AND done ORDER BY path != ?, number DESC LIMIT ?"
    return tuple(select(db, Change, rest, _as_stored(words), path, MAX_CANDIDATES))


def find_bringing_before(db: apsw.Connection, words: str, *, path: str, number: int) -> tuple[Change, ...]:
    """Return the latest changes of a note before a number that may have brought a line, and undo nothing."""
    rest = (
        "FROM changes WHERE path = ? AND number < ? AND NOT undoes AND instr(new, ?) AND done "
        "ORDER BY number DESC LIMIT ?"
    )
    return tuple(select(db, Change, rest, path, number, _as_stored(words), MAX_CANDIDATES))


def _as_stored(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)[1:-1]


def read_line_counts(db: apsw.Connection, path: str) -> tuple[LineCount, ...]:
    """Return where each change of a note replaced how many lines, the latest first."""
    rows = db.execute(
        "SELECT number, line, json_array_length(old), json_array_length(new) FROM changes "
        "WHERE path = ? AND done ORDER BY number DESC",
        (path,),
    ).fetchall()
    return tuple(LineCount(*row) for row in rows)  # type: ignore[arg-type]


def find_import(db: apsw.Connection, path: str, *, at: str) -> ImportedFrom | None:
    """Return the latest import that had written to a note by then (ISO 8601 in UTC)."""
    row = db.execute(
        "SELECT run, imported_notes.source FROM imported_notes JOIN imports USING (run) "
        "WHERE path = ? AND started_at <= ? ORDER BY run DESC LIMIT 1",
        (path, at),
    ).fetchone()
    return ImportedFrom(int(row[0]), str(row[1])) if row else None


def read_messages(
    db: apsw.Connection, conversation: int, *, first: int, upto: int
) -> tuple[tuple[TimedRow, str], ...]:
    """Return messages of people with their speakers (`channel:id`, "" if unknown), in order.

    `upto`: seq of the last entry; 0 for the messages in a row that begin at `first`.
    """
    found = list[tuple[TimedRow, str]]()
    for sized in read_span(db, conversation, first=first, last=upto or first + MAX_MESSAGES_IN_A_ROW):
        if sized.entry.row.kind == "user":
            found.append((sized.entry, _read_speaker(sized.entry.row.payload)))
        elif not upto and found:
            break
    return tuple(found)


def _read_speaker(payload: str) -> str:
    try:
        fields: Any = json.loads(payload)
    except ValueError:
        return ""
    return str(fields.get("by", "")) if isinstance(fields, dict) else ""
