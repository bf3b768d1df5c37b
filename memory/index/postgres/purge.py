"""Erase deleted rows from the table files, where they stay readable until their space is reused.

Only rewriting a table does that, and nobody can read it meanwhile. So the time is bounded, and tables that
took too long are reported.
"""

import time
from typing import TYPE_CHECKING, Any

from memory.deadline import Deadline
from memory.errors import IndexUnavailable
from memory.index.postgres.schema import NOTE_TABLES
from memory.postgres.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

READERS_SECONDS = 10.0
"""Seconds to wait for earlier transactions: rows that they may still see would be kept."""
LOCK_SECONDS = 3.0
"""Seconds to wait for a table that others read; later readers have to wait as well."""
REWRITE_SECONDS = 30.0
"""A table that takes longer to rewrite, some two gigabytes, is left as it was."""

_SOMEBODY_MAY_SEE = """
    SELECT 1 WHERE
        -- A writer older than that, in any database, keeps the old snapshot for everybody, also for VACUUM.
        pg_snapshot_xmin(pg_current_snapshot()) <= %(moment)s::text::xid8
        -- Only superusers see this for other users' sessions, but no other user reads these tables.
        OR EXISTS (
            SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND age(backend_xmin) >= age(%(moment)s::text::xid8::xid)
            -- VACUUM removes rows although its own snapshot could still see them.
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        )
"""


def transaction_id(db: "Db") -> str:
    """Return the transaction's id, from which transactions that began before its end can be found."""
    row = db.execute("SELECT pg_current_xact_id()::text").fetchone()
    return str(row and row[0])


def rewrite_tables(server: Server, generation: str, *, forgotten_in: str) -> None:
    """Rewrite all tables, so that no deleted row remains in the files; for `forgotten_in` see `transaction_id`.

    The smallest tables come first. Raises `IndexUnavailable` with what could not be done; then only the steps
    that block nobody were taken for those tables.
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
            "a search no longer finds it, but the files of {server} may still hold it until "
            "somebody runs VACUUM (FULL) on {tables}, while nobody searches",
            server=server.shown,
            tables=", ".join(f"commonplace.{name}" for name in left),
        )


def _wait_for_readers(db: "Db", moment: str) -> None:
    deadline = Deadline.after(READERS_SECONDS)
    while db.execute(_SOMEBODY_MAY_SEE, {"moment": moment}).fetchone():
        if deadline.has_passed:
            raise IndexUnavailable(
                "another program on that server has been reading or writing since before it was removed"
            )
        time.sleep(0.05)


def _table_size(db: "Db", name: str) -> int:
    row = db.execute("SELECT pg_total_relation_size(%s::regclass)", [f"commonplace.{name}"]).fetchone()
    return int(row[0]) if row else 0


def _rewrite_table(db: "Db", name: str) -> bool:
    """Rewrite a table; return whether it could be done in time."""
    from psycopg import errors

    db.execute(
        f"SET lock_timeout = {LOCK_SECONDS * 1000:.0f}; SET statement_timeout = {REWRITE_SECONDS * 1000:.0f}".encode()
    )
    try:
        db.execute(f"VACUUM (FULL) commonplace.{name}".encode())
    except (errors.LockNotAvailable, errors.QueryCanceled):
        return False
    return True
