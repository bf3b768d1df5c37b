"""Migrations of the schema `commonplace`: numbered steps for each part, done once by the first instance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memory.errors import IndexUnavailable
from memory.postgres.lock_keys import lock_key

if TYPE_CHECKING:
    from psycopg import Connection


def migrate(connection: "Connection[tuple[Any, ...]]", part: str, steps: Sequence[str]) -> None:
    """Run the new ones of `steps` (SQL, in order) for `part`, in the connection's transaction.

    Raises `IndexUnavailable` if a newer version of this program has migrated the schema.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("migrations", part),))
    # Checked first: a user without the right to create schemas may use an existing one.
    there = connection.execute("SELECT to_regclass('commonplace.migrations')").fetchone()
    if there is None or there[0] is None:
        connection.execute("CREATE SCHEMA IF NOT EXISTS commonplace")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS commonplace.migrations (part text PRIMARY KEY, done integer NOT NULL)"
        )
    found = connection.execute("SELECT done FROM commonplace.migrations WHERE part = %s", (part,)).fetchone()
    done = int(found[0]) if found else 0
    if done > len(steps):
        raise IndexUnavailable(
            "the database was made by a newer version of Commonplace ({part} {done}, known here: "
            "{known}); update this instance too",
            part=part,
            done=done,
            known=len(steps),
        )
    for step in steps[done:]:
        connection.execute(step.encode())
    if done < len(steps):
        connection.execute(
            "INSERT INTO commonplace.migrations VALUES (%s, %s) ON CONFLICT (part) DO UPDATE SET done = excluded.done",
            (part, len(steps)),
        )
