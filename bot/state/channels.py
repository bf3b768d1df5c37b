"""state.db: what channels must know again after a restart, and what they received and could not read."""

from dataclasses import dataclass

import apsw

MAX_UNREAD = 200
"""Of each channel, the latest ones."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Something from a platform that could not be read as a message."""

    channel: str
    id: str
    raw: str
    reason: str
    at: str


def m011_channels(db: apsw.Connection) -> None:
    """Facts by channel and key; what could not be read, as it came."""
    db.execute(
        """
        CREATE TABLE channel_facts (
            channel TEXT NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (channel, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE unread (
            channel TEXT NOT NULL,
            id TEXT NOT NULL,
            raw TEXT NOT NULL,
            reason TEXT NOT NULL,
            at TEXT NOT NULL,
            PRIMARY KEY (channel, id)
        ) STRICT;
        """
    )


def read_fact(db: apsw.Connection, channel: str, key: str) -> str:
    """What a channel has noted under a key; "" for nothing."""
    value: str | None = db.execute(
        "SELECT value FROM channel_facts WHERE channel = ? AND key = ?", (channel, key)
    ).get
    return value or ""


def read_facts(db: apsw.Connection, channel: str, prefix: str) -> dict[str, str]:
    """All that a channel has noted under keys that begin like this, by key."""
    rows = db.execute(
        "SELECT key, value FROM channel_facts WHERE channel = ? AND substr(key, 1, ?) = ? ORDER BY key",
        (channel, len(prefix), prefix),
    )
    return {str(key): str(value) for key, value in rows}


def save_fact(db: apsw.Connection, channel: str, key: str, value: str) -> None:
    """Note something for a channel; "" forgets it."""
    if value:
        db.execute("INSERT OR REPLACE INTO channel_facts VALUES (?, ?, ?)", (channel, key, value))
    else:
        db.execute("DELETE FROM channel_facts WHERE channel = ? AND key = ?", (channel, key))


def save_unread(db: apsw.Connection, unread: Unread) -> bool:
    """Keep what could not be read; tell whether it is new. The oldest of a channel go where there are too many."""
    db.execute(
        "INSERT INTO unread VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (unread.channel, unread.id, unread.raw, unread.reason, unread.at),
    )
    is_new = bool(db.changes())
    db.execute(
        "DELETE FROM unread WHERE channel = ? AND rowid NOT IN "
        "(SELECT rowid FROM unread WHERE channel = ? ORDER BY rowid DESC LIMIT ?)",
        (unread.channel, unread.channel, MAX_UNREAD),
    )
    return is_new


def count_unread(db: apsw.Connection, channel: str) -> int:
    """How much of a channel could not be read."""
    count: int = db.execute("SELECT count(*) FROM unread WHERE channel = ?", (channel,)).get
    return count
