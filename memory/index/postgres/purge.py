"""What is forgotten leaves the files of the tables too, where deleted rows stay readable until others take their room.

Only writing a table anew does that, and meanwhile nobody reads it: so it is bounded, and what took too long is told.
"""

import time
from typing import TYPE_CHECKING, Any

from memory.errors import IndexUnavailable
from memory.index.postgres.schema import NOTE_TABLES
from memory.postgres.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

READERS_SECONDS = 10.0
"""So long those are waited for who began to read or write before: what they may still see would be kept."""
LOCK_SECONDS = 3.0
"""For a table that others read; whoever comes after has to wait too."""
REWRITE_SECONDS = 30.0
"""A table that takes longer to write anew is left as it was: some two gigabytes."""

_SOMEBODY_MAY_SEE = """
    SELECT 1 WHERE
        -- Whoever has written anything since before then, in any database: everybody sees as of then, VACUUM too.
        pg_snapshot_xmin(pg_current_snapshot()) <= %(moment)s::text::xid8
        -- Of other users' sessions this is shown to nobody but superusers; nobody else reads these tables.
        OR EXISTS (
            SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND age(backend_xmin) >= age(%(moment)s::text::xid8::xid)
            -- These remove rows that they could still see.
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        )
"""


def transaction_id(db: "Db") -> str:
    """A name of this transaction, by which to tell who began before its end."""
    row = db.execute("SELECT pg_current_xact_id()::text").fetchone()
    return str(row and row[0])


def rewrite_tables(server: Server, generation: str, *, forgotten_in: str) -> None:
    """Leave in the files nothing that is in no row; `forgotten_in` as of `transaction_id`.

    The smallest tables come first. Raises IndexUnavailable with what could not be done, and then does all that makes
    nobody wait.
    """
    names = [f"{name}_{generation}" for name in NOTE_TABLES]
    names += ["texts", "embeddings", "refusals", "claims"]  # claims name notes
    with server.session() as db:
        _wait_for_readers(db, forgotten_in)
        sizes = {name: _table_size(db, name) for name in names}
        left = [name for name in sorted(names, key=lambda name: sizes[name]) if not _rewrite_table(db, name)]
        db.execute("SET statement_timeout = 0")
        for name in left:
            db.execute(f"VACUUM commonplace.{name}".encode())
    if left:
        raise IndexUnavailable(
            f"it is found no more, but the files of {server.shown} may hold it until somebody calls VACUUM (FULL) on "
            f"{', '.join(f'commonplace.{name}' for name in left)}, at a time when nobody searches"
        )


def _wait_for_readers(db: "Db", moment: str) -> None:
    deadline = time.monotonic() + READERS_SECONDS
    while db.execute(_SOMEBODY_MAY_SEE, {"moment": moment}).fetchone():
        if time.monotonic() >= deadline:
            raise IndexUnavailable(
                "somebody else has been reading or writing on that server since before it was removed"
            )
        time.sleep(0.05)


def _table_size(db: "Db", name: str) -> int:
    row = db.execute("SELECT pg_total_relation_size(%s::regclass)", [f"commonplace.{name}"]).fetchone()
    return int(row[0]) if row else 0


def _rewrite_table(db: "Db", name: str) -> bool:
    """Whether it could be done in time."""
    from psycopg import errors

    db.execute(
        f"SET lock_timeout = {LOCK_SECONDS * 1000:.0f}; SET statement_timeout = {REWRITE_SECONDS * 1000:.0f}".encode()
    )
    try:
        db.execute(f"VACUUM (FULL) commonplace.{name}".encode())
    except (errors.LockNotAvailable, errors.QueryCanceled):
        return False
    return True
