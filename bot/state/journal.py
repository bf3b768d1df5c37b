"""state.db: effects on the notes, written down before they are done, so that none is done twice or lost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import apsw


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that is to be done to a note, once."""

    intent: Mapping[str, Any]
    result: Mapping[str, Any] | None = None
    """What came of it; None as long as nobody knows."""


def m004_effects(db: apsw.Connection) -> None:
    """What is to be done to the notes, by a key that is the same after a crash."""
    db.execute(
        """
        CREATE TABLE effects (
            key TEXT PRIMARY KEY,
            intent TEXT NOT NULL,
            result TEXT,
            at TEXT NOT NULL
        ) STRICT
        """
    )


def intend(db: apsw.Connection, key: str, intent: Mapping[str, Any], *, at: str) -> Effect:
    """Note what is to be done, or give what was noted under this key before."""
    db.execute(
        "INSERT INTO effects (key, intent, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (key, json.dumps(intent, ensure_ascii=False), at),
    )
    found = effect(db, key)
    assert found is not None
    return found


def effect(db: apsw.Connection, key: str) -> Effect | None:
    """Look one up."""
    row = db.execute("SELECT intent, result FROM effects WHERE key = ?", (key,)).fetchone()
    return Effect(json.loads(row[0]), json.loads(row[1]) if row[1] else None) if row else None


def done(db: apsw.Connection, key: str, result: Mapping[str, Any]) -> None:
    """Note what came of it."""
    db.execute("UPDATE effects SET result = ? WHERE key = ?", (json.dumps(result, ensure_ascii=False), key))


def prune(db: apsw.Connection, *, before: str) -> None:
    """Forget effects that were done before a moment."""
    db.execute("DELETE FROM effects WHERE result IS NOT NULL AND at < ?", (before,))
