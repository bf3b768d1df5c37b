"""Copies state.db consistently while it is in use, and checks such copies."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from bot.state.database import BUSY_TIMEOUT_MS, StateBroken, StateTooNew, StateUnusable
from bot.state.migrations import read_newer

PAGES_AT_ONCE = 256
STEPS_PER_CHECK = 100_000
"""Steps of SQLite's virtual machine between two checks for a stop."""


class SnapshotStopped(Exception):
    """The caller has stopped the work."""


def copy_database(source: Path, target: Path, *, stopped: Callable[[], bool] = lambda: False) -> None:
    """Copy an open database into a new file that only its owner can read.

    The copy is consistent: it is read within one transaction, which blocks no writer. Raises StateFault, or
    SnapshotStopped; then `target` may exist in part.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with _translate_errors(source), _open_copy(source) as old, _open_copy(target) as new:
        new.execute("PRAGMA synchronous = OFF")  # the copy is checked afterwards
        old.execute("PRAGMA query_only = 1")
        old.execute("BEGIN")
        old.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()  # only this fixes the state to be read
        with new.backup("main", old, "main") as copying:
            while not copying.done:
                if stopped():
                    raise SnapshotStopped
                copying.step(PAGES_AT_ONCE)
        old.execute("COMMIT")
    with _translate_errors(source), _open_copy(target) as new:
        new.execute("PRAGMA journal_mode = DELETE")  # otherwise it would need two more files beside it


def check_database(
    path: Path, *, original: Path | None = None, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Check every page of a copy. Raises StateFault if it is damaged, not ours or too new; SnapshotStopped.

    `original` is the file in use that errors name; None for a copy from an archive.
    """
    with _translate_errors(path), _open_copy(path) as db:
        db.set_progress_handler(stopped, STEPS_PER_CHECK)
        try:
            found = db.execute("PRAGMA integrity_check(1)").get
            newer = read_newer(db, (original or path).parent)
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        except apsw.InterruptError:
            raise SnapshotStopped from None
    name = original or path.name
    if found != "ok":
        raise StateBroken("{path} is damaged ({error})", path=name, error=found)
    if newer:
        raise StateTooNew(name, newer)
    if not {"conversations", "entries"} <= tables:
        raise StateBroken("{file} is not a database of Commonplace", file=name)


@contextmanager
def _open_copy(path: Path) -> Iterator[apsw.Connection]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        yield db
    finally:
        db.close()


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StateBroken("{path} is damaged ({error})", path=path.name, error=error) from error
    except apsw.FullError as error:
        raise StateUnusable("the disk is full; free some space and try again") from error
    except apsw.BusyError as error:
        raise StateUnusable("{path} is locked by another program", path=path) from error
    except apsw.Error as error:
        raise StateUnusable("{path} cannot be copied ({error})", path=path, error=error) from error
