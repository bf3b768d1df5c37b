"""Who uses the index with which settings: it is not begun anew under somebody who goes on with others."""

import os
import socket
from typing import TYPE_CHECKING, Any

from memory.errors import IndexUnavailable
from memory.index.fingerprint import describe_difference

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

ACTIVE_SECONDS = 120
"""Who was not heard of for so long does not count any more."""
SEEN_EVERY = 20.0
"""Seconds from one sign of life to the next."""


def instance_name(user: str) -> str:
    """What others are told of this instance; of one without a name, where it runs."""
    return user or f"{socket.gethostname()} (process {os.getpid()})"


def record_use(db: "Db", name: str, fingerprint: str) -> None:
    """Leave a sign of life."""
    db.execute(
        "INSERT INTO commonplace.index_users AS u VALUES (%s, %s, now()) ON CONFLICT (name)"
        " DO UPDATE SET fingerprint = excluded.fingerprint, seen = excluded.seen",
        (name, fingerprint),
    )
    db.execute("DELETE FROM commonplace.index_users WHERE seen < now() - interval '1 day'")


def renew_use(db: "Db", name: str, fingerprint: str) -> None:
    """Leave a sign of life where the index is of these settings; whoever is refused it, is in nobody's way."""
    row = db.execute("SELECT 1 FROM commonplace.index_state WHERE fingerprint = %s", [fingerprint]).fetchone()
    if row:
        record_use(db, name, fingerprint)


def end_use(db: "Db", name: str) -> None:
    """The process has ended."""
    db.execute("DELETE FROM commonplace.index_users WHERE name = %s", [name])


def check_nobody_else(db: "Db", name: str, fingerprint: str) -> None:
    """See that nobody goes on with other settings; raises IndexUnavailable, which says what differs and where."""
    row = db.execute(
        "SELECT name, fingerprint FROM commonplace.index_users WHERE fingerprint <> %s AND name <> %s"
        " AND seen > now() - make_interval(secs => %s) ORDER BY seen DESC LIMIT 1",
        (fingerprint, name, ACTIVE_SECONDS),
    ).fetchone()
    if row:
        raise IndexUnavailable(
            f"the index is in use by {row[0]} with other settings ({describe_difference(fingerprint, row[1])}); "
            "give all instances the same settings and version"
        )
