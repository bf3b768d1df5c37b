"""The index's file as it lies there: whole or not, of which version, up to date or not; nothing is changed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.sqlite_notes import read_stamps
from memory.index.sqlite_schema import GENERATIONS, NOTES_VERSION, VECTORS_VERSION, SqliteTables
from memory.read_only import DatabaseDamaged, is_empty_database, quick_check, run_read_only


@dataclass(frozen=True, slots=True)
class ModelVectors:
    """How many vectors there are of one model."""

    provider: str
    model: str
    dimensions: int
    count: int


@dataclass(frozen=True, slots=True)
class IndexInspection:
    """What there is in the file."""

    is_current: bool
    """Whether it was made by this version with these settings; else it is made anew from the notes."""
    looked_through: bool
    """Whether there was the time to look at all of it."""
    stamps: Mapping[str, tuple[int, int, int]]
    """Every note by its path: size, mtime_ns, ctime_ns."""
    faults: Mapping[str, str]
    """Notes that could not be read as they are, and why."""
    chunks: int
    last_indexed_at: str
    """ISO 8601 in UTC; "" before the first time."""
    vectors: tuple[ModelVectors, ...]
    """By model, that of the latest one first."""


def inspect_index(file: Path, *, fingerprint: str, seconds: float) -> IndexInspection:
    """Look at an index that is there; `fingerprint` as of SqliteIndex. Raises IndexBroken, IndexUnavailable.

    Not all pages are looked at where that takes longer than `seconds`.
    """
    try:
        found = run_read_only(
            file, lambda db: _inspect(db, f"{NOTES_VERSION}/{fingerprint}"), seconds=seconds
        )
    except apsw.InterruptError as error:
        raise IndexUnavailable("the index cannot be read in time") from error
    except (apsw.CantOpenError, apsw.IOError, apsw.BusyError, apsw.PermissionsError, OSError) as error:
        raise IndexUnavailable(f"the index cannot be read ({error})") from error
    except (apsw.Error, TypeError, ValueError) as error:
        raise IndexCorrupted(f"the index is damaged ({error})") from error
    try:
        run_read_only(file, quick_check, seconds=seconds)
    except apsw.InterruptError:
        return found
    except (DatabaseDamaged, apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexCorrupted(f"the index is damaged ({error})") from error
    except apsw.Error as error:
        raise IndexUnavailable(f"the index cannot be read ({error})") from error
    return replace(found, looked_through=True)


def _inspect(db: apsw.Connection, fingerprint: str) -> IndexInspection:
    about = {} if is_empty_database(db) else dict(db.execute("SELECT key, value FROM about"))
    current = about.get("fingerprint") == fingerprint and about.get("vectors") == VECTORS_VERSION
    if not current:
        return IndexInspection(False, False, {}, {}, 0, "", ())
    generation = about.get("generation")
    if generation not in GENERATIONS:
        raise TypeError("it does not say which tables count")
    tables = SqliteTables(db, str(generation))
    stamps, faults = read_stamps(tables)
    rows = db.execute(
        "SELECT provider, model, dimensions, (SELECT count(*) FROM vectors WHERE vectors.model = models.id) "
        "FROM models ORDER BY seen DESC, id DESC"
    )
    return IndexInspection(
        True,
        False,
        stamps,
        faults,
        tables.count("SELECT count(*) FROM chunks@"),
        str(about.get("last_indexed_at") or ""),
        tuple(ModelVectors(*row) for row in rows),
    )
