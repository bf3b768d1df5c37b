"""state.db: effects on the notes, written down before they are done, so that none is done twice or lost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import apsw


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that is to be done to a note, once."""

    key: str
    path: str
    """Where the note really stands."""
    intent: Mapping[str, Any]
    """What is to be done, and what stood there before; empty once it is done."""
    begun: bool
    """Whether it may have been done; False where it is known that it was not."""
    result: Mapping[str, Any] | None = None
    """What came of it; None as long as nobody knows."""


def m004_effects(db: apsw.Connection) -> None:
    """What is to be done to the notes, by a key that is the same after a crash."""
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
    """Look one up."""
    row = db.execute("SELECT key, path, intent, begun, result FROM effects WHERE key = ?", (key,)).fetchone()
    return _from_row(row) if row else None


def read_begun(db: apsw.Connection, path: str) -> tuple[Effect, ...]:
    """Whatever may have been done to a note without anybody knowing, in order."""
    rows = db.execute(
        "SELECT key, path, intent, begun, result FROM effects "
        "WHERE path = ? AND result IS NULL AND begun ORDER BY rowid",
        (path,),
    )
    return tuple(_from_row(row) for row in rows)


def save_intent(db: apsw.Connection, key: str, path: str, intent: Mapping[str, Any], *, at: str) -> None:
    """Note what is about to be done; in the place of an intent that is known not to have been done."""
    db.execute(
        "INSERT INTO effects (key, path, intent, begun, at) VALUES (?, ?, ?, 1, ?) "
        "ON CONFLICT (key) DO UPDATE SET path = excluded.path, intent = excluded.intent, begun = 1",
        (key, path, json.dumps(intent, ensure_ascii=False), at),
    )


def save_plan(db: apsw.Connection, key: str, path: str, intent: Mapping[str, Any], *, at: str) -> Effect:
    """Note what will be done, before anything of it is; return that, or what was noted under this key before."""
    db.execute(
        "INSERT INTO effects (key, path, intent, begun, at) VALUES (?, ?, ?, 0, ?) ON CONFLICT DO NOTHING",
        (key, path, json.dumps(intent, ensure_ascii=False), at),
    )
    found = find_effect(db, key)
    assert found is not None
    return found


def mark_not_done(db: apsw.Connection, key: str) -> None:
    """Note that nothing came of it so far."""
    db.execute("UPDATE effects SET begun = 0 WHERE key = ? AND result IS NULL", (key,))


def mark_done(db: apsw.Connection, key: str, result: Mapping[str, Any]) -> None:
    """Note what came of it. What was written stands in the note, and nowhere else from here on."""
    db.execute(
        "UPDATE effects SET intent = '{}', result = ? WHERE key = ? AND result IS NULL",
        (json.dumps(result, ensure_ascii=False), key),
    )


def delete_effect(db: apsw.Connection, key: str) -> None:
    """Forget one."""
    db.execute("DELETE FROM effects WHERE key = ?", (key,))


def prune(db: apsw.Connection, *, before: str) -> None:
    """Forget what was intended before a moment: nobody tries it again so late."""
    db.execute("DELETE FROM effects WHERE at < ?", (before,))


def _from_row(row: "tuple[apsw.SQLiteValue, ...]") -> Effect:
    key, path, intent, begun, result = row
    known = json.loads(str(result)) if result else None
    return Effect(str(key), str(path), json.loads(str(intent)), bool(begun), known)
