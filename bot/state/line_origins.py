"""state.db: which changes wrote a line of a note, and what people said before them."""

import json
from typing import Any, NamedTuple

import apsw

from bot.state.changes import Change
from bot.state.conversation_entries import read_span
from bot.state.conversations import TimedRow
from bot.state.rows import select

MAX_CANDIDATES = 200
"""Maximum changes examined for one line."""
MAX_MESSAGES_IN_A_ROW = 32


class LineCount(NamedTuple):
    """Where a change replaced lines, how many, and by how many."""

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


def find_adding_changes(
    db: apsw.Connection, ending: str, *, path: str, before: int = 0
) -> tuple[Change, ...]:
    """Return the latest changes to a note that wrote lines with this ending. `before`: only lower numbers."""
    rest = (
        "FROM changes WHERE path = ? AND instr(new, ?) AND (number < ? OR NOT ?) AND done "
        "ORDER BY number DESC LIMIT ?"
    )
    values = (path, _as_stored(ending), before, before, MAX_CANDIDATES)
    return tuple(select(db, Change, rest, *values))


def find_adding_changes_anywhere(db: apsw.Connection, ending: str) -> tuple[Change, ...]:
    """Return the latest changes to any note that wrote lines with this ending."""
    rest = "FROM changes WHERE instr(new, ?) AND done ORDER BY number DESC LIMIT ?"
    return tuple(select(db, Change, rest, _as_stored(ending), MAX_CANDIDATES))


def _as_stored(ending: str) -> str:
    return json.dumps(ending, ensure_ascii=False)[1:]


def read_line_counts(db: apsw.Connection, path: str) -> tuple[LineCount, ...]:
    """Return where each change to a note replaced lines and how many, the latest first."""
    rows = db.execute(
        "SELECT number, line, json_array_length(old), json_array_length(new) FROM changes "
        "WHERE path = ? AND done ORDER BY number DESC",
        (path,),
    ).fetchall()
    return tuple(LineCount(*row) for row in rows)  # type: ignore[arg-type]


def find_import(db: apsw.Connection, path: str, *, at: str) -> ImportedFrom | None:
    """Return the latest import that had written to a note by `at` (ISO 8601 in UTC)."""
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
