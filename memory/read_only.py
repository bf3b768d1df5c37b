"""SQLite files looked at without changing anything, also beside who writes to them."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

BUSY_TIMEOUT_MS = 2000
CHECK_INSTRUCTIONS = 10_000
"""So many steps of SQLite's machine lie between two looks at the clock."""

Result = TypeVar("Result")


class DatabaseDamaged(Exception):
    """A page of the file is not as it should be; the text says which."""


def run_read_only(file: Path, work: Callable[[apsw.Connection], Result], *, seconds: float) -> Result:
    """Have `work` read a file that is there; raises apsw.InterruptError where that takes longer than `seconds`.

    No file comes into being beside it, as usual with a reader in WAL mode: where there is no journal, nobody has
    it open, and it is read as it lies there. Should somebody open it meanwhile, it is read once more.
    """
    deadline = time.monotonic() + seconds
    if not _has_journal(file):
        try:
            return _read_within(file, work, "immutable=1", deadline)
        except (apsw.Error, DatabaseDamaged, TypeError, ValueError):
            if not _has_journal(file):
                raise
    return _read_within(file, work, "mode=ro", deadline)


def quick_check(db: apsw.Connection) -> None:
    """Look at every page; raise Damaged."""
    found = db.execute("PRAGMA quick_check(1)").get
    if found != "ok":
        raise DatabaseDamaged(" ".join(str(found).split()))


def is_empty_database(db: apsw.Connection) -> bool:
    """Whether nothing was ever made in it, as after a first start that was cut off; it is filled at the next."""
    return not db.execute("SELECT count(*) FROM sqlite_schema").get


def _has_journal(file: Path) -> bool:
    return os.path.lexists(f"{file}-wal")


def _read_within(file: Path, work: Callable[[apsw.Connection], Result], how: str, deadline: float) -> Result:
    db = apsw.Connection(
        f"file:{quote(str(file))}?{how}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.set_progress_handler(lambda: time.monotonic() > deadline, CHECK_INSTRUCTIONS)
        db.execute("BEGIN")  # all of it is of one moment
        return work(db)
    finally:
        db.close()
