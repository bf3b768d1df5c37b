"""state.db: every place where it keeps what people, models and notes have said."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import apsw


@dataclass(frozen=True, slots=True)
class Place:
    """A column with texts."""

    table: str
    column: str
    kind: str = "''"
    """SQL for what tells how the text is written."""
    conversation: str = "0"
    also: str = ""
    """SQL for what else is to change with the text."""


ENTRIES = Place("entries", "payload", kind="kind", conversation="conversation")
PLACES = (
    ENTRIES,
    Place("inbox", "payload"),
    Place("inbox", "reply"),
    Place("outbox", "text"),
    Place("effects", "intent"),
    Place("model_health", "last_error"),
    Place("flushes", "section"),
    Place("flushes", "replaces"),
    Place("flushes", "core"),
    Place("reminders", "text", also=", state = CASE state WHEN 'active' THEN 'cancelled' ELSE state END"),
)


class Kept(NamedTuple):
    """One text as it is kept."""

    row: int
    text: str
    kind: str
    conversation: int


def texts(db: apsw.Connection, place: Place, *, after: int, most: int) -> list[Kept]:
    """The texts of a place whose row is greater than `after`, in order."""
    rows = db.execute(
        f"SELECT rowid, {place.column}, {place.kind}, {place.conversation} FROM {place.table} "  # noqa: S608
        f"WHERE rowid > ? AND {place.column} IS NOT NULL ORDER BY rowid LIMIT ?",
        (after, most),
    )
    return [Kept(*row) for row in rows]


def replace(db: apsw.Connection, place: Place, changes: Iterable[tuple[Kept, str | None]]) -> None:
    """Put other texts in their place, where they have not changed meanwhile; None removes the row.

    SQLite writes zeros over them, so that a crash before `vacuum` does not leave them in the file for ever.
    """
    db.execute("PRAGMA secure_delete = ON").fetchall()
    where = f"WHERE rowid = ? AND {place.column} = ?"
    for kept, new in changes:
        if new is None:
            db.execute(f"DELETE FROM {place.table} {where}", (kept.row, kept.text))  # noqa: S608
        else:
            db.execute(
                f"UPDATE {place.table} SET {place.column} = ?{place.also} {where}",  # noqa: S608
                (new, kept.row, kept.text),
            )


def vacuum(db: apsw.Connection) -> bool:
    """Write the file anew, so that nothing of what was deleted is left, and empty its journal; tell whether it is.

    Not inside a transaction.
    """
    db.execute("VACUUM")
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return busy is not None and not busy[0]
