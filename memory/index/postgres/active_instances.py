"""Records which instances use the index with which settings, so that it is not recreated under a running one."""

import os
import socket
from typing import TYPE_CHECKING, Any

from memory.errors import IndexUnavailable
from memory.index.fingerprint import describe_difference

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

ACTIVE_SECONDS = 120
"""Seconds of silence after which an instance no longer counts as active."""
SEEN_EVERY = 20.0
"""Seconds between two records of use."""


def instance_name(user: str) -> str:
    """Return the name that other instances see: `user`, or host and process if it is empty."""
    return user or f"{socket.gethostname()} (process {os.getpid()})"


def record_use(db: "Db", name: str, fingerprint: str) -> None:
    """Record that this instance uses the index."""
    db.execute(
        "INSERT INTO commonplace.index_users AS u VALUES (%s, %s, now()) ON CONFLICT (name)"
        " DO UPDATE SET fingerprint = excluded.fingerprint, seen = excluded.seen",
        (name, fingerprint),
    )
    db.execute("DELETE FROM commonplace.index_users WHERE seen < now() - interval '1 day'")


def renew_use(db: "Db", name: str, fingerprint: str) -> None:
    """Record the use if the index has these settings and no other instance is building one with its own.

    An instance that is refused, or soon will be, blocks nobody.
    """
    row = db.execute("SELECT 1 FROM commonplace.index_state WHERE fingerprint = %s", [fingerprint]).fetchone()
    if row and not _find_other(db, name, fingerprint):
        record_use(db, name, fingerprint)


def end_use(db: "Db", name: str) -> None:
    """Delete the record, since the process ends."""
    db.execute("DELETE FROM commonplace.index_users WHERE name = %s", [name])


def check_nobody_else(db: "Db", name: str, fingerprint: str) -> None:
    """Raise `IndexUnavailable` if an active instance uses other settings; the message says which and where."""
    if other := _find_other(db, name, fingerprint):
        raise IndexUnavailable(
            "the index is in use by {name} with other settings ({difference}); give all instances "
            "the same settings and version",
            name=other[0],
            difference=describe_difference(fingerprint, other[1]),
        )


def _find_other(db: "Db", name: str, fingerprint: str) -> tuple[str, str] | None:
    """Return the name and fingerprint of an active instance with other settings; None if there is none."""
    row = db.execute(
        "SELECT name, fingerprint FROM commonplace.index_users WHERE fingerprint <> %s AND name <> %s"
        " AND seen > now() - make_interval(secs => %s) ORDER BY seen DESC LIMIT 1",
        (fingerprint, name, ACTIVE_SECONDS),
    ).fetchone()
    return (row[0], row[1]) if row else None
