"""state.db: values of channels, and updates from platforms that could not be read."""

from dataclasses import dataclass

import apsw

from bot.state.rows import insert

MAX_UNREAD = 200
"""Unreadable updates kept for each channel, the latest ones."""


@dataclass(frozen=True, slots=True)
class Unread:
    """An update from a platform that could not be read as a message."""

    channel: str
    id: str
    raw: str
    reason: str
    at: str


def m011_channels(db: apsw.Connection) -> None:
    """Values by channel and key, and unreadable updates as they came."""
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
    """Return a channel's value of a key; "" if there is none."""
    value: str | None = db.execute(
        "SELECT value FROM channel_facts WHERE channel = ? AND key = ?", (channel, key)
    ).get
    return value or ""


def read_facts(db: apsw.Connection, channel: str, prefix: str) -> dict[str, str]:
    """Return all of a channel's values whose keys have this prefix, by key."""
    rows = db.execute(
        "SELECT key, value FROM channel_facts WHERE channel = ? AND substr(key, 1, ?) = ? ORDER BY key",
        (channel, len(prefix), prefix),
    )
    return {str(key): str(value) for key, value in rows}


def save_fact(db: apsw.Connection, channel: str, key: str, value: str) -> None:
    """Store a value of a channel; "" deletes it."""
    if value:
        db.execute("INSERT OR REPLACE INTO channel_facts VALUES (?, ?, ?)", (channel, key, value))
    else:
        db.execute("DELETE FROM channel_facts WHERE channel = ? AND key = ?", (channel, key))


def save_unread(db: apsw.Connection, unread: Unread) -> bool:
    """Store an unreadable update and return whether it is new; deletes a channel's oldest beyond MAX_UNREAD."""
    insert(db, "unread", unread, conflict="IGNORE")
    is_new = bool(db.changes())
    db.execute(
        "DELETE FROM unread WHERE channel = ? AND rowid NOT IN "
        "(SELECT rowid FROM unread WHERE channel = ? ORDER BY rowid DESC LIMIT ?)",
        (unread.channel, unread.channel, MAX_UNREAD),
    )
    return is_new


def count_unread(db: apsw.Connection, channel: str) -> int:
    """Return the number of a channel's unreadable updates."""
    count: int = db.execute("SELECT count(*) FROM unread WHERE channel = ?", (channel,)).get
    return count
