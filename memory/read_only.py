"""Inspect SQLite files without changing anything, even while others write to them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

from memory.deadline import Deadline

BUSY_TIMEOUT_MS = 2000
CHECK_INSTRUCTIONS = 10_000
"""SQLite instructions between two checks of the clock."""

Result = TypeVar("Result")


class DatabaseDamaged(Exception):
    """A page of the file is damaged; the message says which."""


def run_read_only(file: Path, work: Callable[[apsw.Connection], Result], *, seconds: float) -> Result:
    """Run `work` on an existing file. Raises apsw.InterruptError if it takes longer than `seconds`.

    No file is created beside it, as a reader in WAL mode usually does: without a journal nobody has the file
    open, and it is read as it is. If somebody opens it meanwhile, it is read again.
    """
    deadline = Deadline.after(seconds)
    if not _has_journal(file):
        try:
            return _read_within(file, work, "immutable=1", deadline)
        except (apsw.Error, DatabaseDamaged, TypeError, ValueError):
            if not _has_journal(file):
                raise
    return _read_within(file, work, "mode=ro", deadline)


def quick_check(db: apsw.Connection) -> None:
    """Check every page. Raises `DatabaseDamaged`."""
    found = db.execute("PRAGMA quick_check(1)").get
    if found != "ok":
        raise DatabaseDamaged(" ".join(str(found).split()))


def is_empty_database(db: apsw.Connection) -> bool:
    """Return whether the database has no tables, as after an interrupted first start; the next start creates them."""
    return not db.execute("SELECT count(*) FROM sqlite_schema").get


def _has_journal(file: Path) -> bool:
    return os.path.lexists(f"{file}-wal")


def _read_within(
    file: Path, work: Callable[[apsw.Connection], Result], how: str, deadline: Deadline
) -> Result:
    db = apsw.Connection(
        f"file:{quote(str(file))}?{how}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.set_progress_handler(lambda: deadline.has_passed, CHECK_INSTRUCTIONS)
        db.execute("BEGIN")  # one snapshot for everything
        return work(db)
    finally:
        db.close()
