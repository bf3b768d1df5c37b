"""state.db: writes to notes, stored before they are made, so that none is made twice or lost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import apsw


@dataclass(frozen=True, slots=True)
class Effect:
    """A write to a note that has to be made once."""

    key: str
    path: str
    """The note that is really written."""
    intent: Mapping[str, Any]
    """What to write, and the text before; empty once it is done."""
    begun: bool
    """Whether it may have been done; False if it certainly was not."""
    result: Mapping[str, Any] | None = None
    """Its result; None as long as it is unknown."""


def m004_effects(db: apsw.Connection) -> None:
    """Intended writes, by a key that is the same after a crash."""
    db.execute(
        """
        CREATE TABLE effects (
            key TEXT PRIMARY KEY,
            path TEXT NOT NULL,
            intent TEXT NOT NULL,
            begun INTEGER NOT NULL,
            result TEXT,
            at TEXT NOT NULL
        ) STRICT;
        CREATE INDEX effects_open ON effects (path) WHERE result IS NULL AND begun;
        """
    )


def find_effect(db: apsw.Connection, key: str) -> Effect | None:
    """Return the write with this key, or None."""
    row = db.execute("SELECT key, path, intent, begun, result FROM effects WHERE key = ?", (key,)).fetchone()
    return _from_row(row) if row else None


def read_begun(db: apsw.Connection, path: str) -> tuple[Effect, ...]:
    """Return the writes to a note whose outcome is unknown, in order."""
    rows = db.execute(
        "SELECT key, path, intent, begun, result FROM effects "
        "WHERE path = ? AND result IS NULL AND begun ORDER BY rowid",
        (path,),
    )
    return tuple(_from_row(row) for row in rows)


def read_open_paths(db: apsw.Connection) -> tuple[str, ...]:
    """Return the notes with writes whose outcome is unknown."""
    rows = db.execute("SELECT DISTINCT path FROM effects WHERE result IS NULL AND begun")
    return tuple(str(path) for (path,) in rows)


def save_intent(db: apsw.Connection, key: str, path: str, intent: Mapping[str, Any], *, at: str) -> None:
    """Store a write that is about to be made; replaces an intent that was certainly not carried out."""
    db.execute(
        "INSERT INTO effects (key, path, intent, begun, at) VALUES (?, ?, ?, 1, ?) "
        "ON CONFLICT (key) DO UPDATE SET path = excluded.path, intent = excluded.intent, begun = 1",
        (key, path, json.dumps(intent, ensure_ascii=False), at),
    )


def save_plan(db: apsw.Connection, key: str, path: str, intent: Mapping[str, Any], *, at: str) -> Effect:
    """Store a planned write, and return the one stored under this key, which may be an earlier one."""
    db.execute(
        "INSERT INTO effects (key, path, intent, begun, at) VALUES (?, ?, ?, 0, ?) ON CONFLICT DO NOTHING",
        (key, path, json.dumps(intent, ensure_ascii=False), at),
    )
    found = find_effect(db, key)
    assert found is not None
    return found


def mark_not_done(db: apsw.Connection, key: str) -> None:
    """Store that the write was not made."""
    db.execute("UPDATE effects SET begun = 0 WHERE key = ? AND result IS NULL", (key,))


def mark_done(db: apsw.Connection, key: str, result: Mapping[str, Any]) -> None:
    """Store the result and delete the text, which is in the note from here on; the path is that of the result.

    So `/forget` finds the name that a note was moved to.
    """
    db.execute(
        "UPDATE effects SET path = ?, intent = '{}', result = ? WHERE key = ? AND result IS NULL",
        (str(result["path"]), json.dumps(result, ensure_ascii=False), key),
    )


def delete_effect(db: apsw.Connection, key: str) -> None:
    """Delete the write with this key."""
    db.execute("DELETE FROM effects WHERE key = ?", (key,))


def prune(db: apsw.Connection, *, before: str) -> None:
    """Delete writes stored before a time; nobody retries them so late."""
    db.execute("DELETE FROM effects WHERE at < ?", (before,))


def _from_row(row: "tuple[apsw.SQLiteValue, ...]") -> Effect:
    key, path, intent, begun, result = row
    known = json.loads(str(result)) if result else None
    return Effect(str(key), str(path), json.loads(str(intent)), bool(begun), known)
