"""Inspect the index file without changing it: its integrity, its version and whether it is up to date."""

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
    """Number of vectors of one model."""

    provider: str
    model: str
    dimensions: int
    count: int


@dataclass(frozen=True, slots=True)
class IndexInspection:
    """The content of the index file."""

    is_current: bool
    """True if this version with these settings created it; otherwise it will be rebuilt from the notes."""
    looked_through: bool
    """True if there was time to check all of it."""
    stamps: Mapping[str, tuple[int, int, int]]
    """Each note's size, mtime_ns and ctime_ns, by path."""
    faults: Mapping[str, str]
    """Why notes could not be read completely, by path."""
    chunks: int
    last_indexed_at: str
    """ISO 8601 in UTC; "" before the first sync."""
    vectors: tuple[ModelVectors, ...]
    """By model, the latest first."""


def inspect_index(file: Path, *, fingerprint: str, seconds: float) -> IndexInspection:
    """Inspect an existing index; for `fingerprint` see `SqliteIndex`.

    The integrity check stops after `seconds`. Raises `IndexCorrupted`, `IndexUnavailable`.
    """
    try:
        found = run_read_only(
            file, lambda db: _inspect(db, f"{NOTES_VERSION}/{fingerprint}"), seconds=seconds
        )
    except apsw.InterruptError as error:
        raise IndexUnavailable("the index cannot be read in time") from error
    except (apsw.CantOpenError, apsw.IOError, apsw.BusyError, apsw.PermissionsError, OSError) as error:
        raise IndexUnavailable("the index cannot be read ({error})", error=error) from error
    except (apsw.Error, TypeError, ValueError) as error:
        raise IndexCorrupted("the index is damaged ({error})", error=error) from error
    try:
        run_read_only(file, quick_check, seconds=seconds)
    except apsw.InterruptError:
        return found
    except (DatabaseDamaged, apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexCorrupted("the index is damaged ({error})", error=error) from error
    except apsw.Error as error:
        raise IndexUnavailable("the index cannot be read ({error})", error=error) from error
    return replace(found, looked_through=True)


def _inspect(db: apsw.Connection, fingerprint: str) -> IndexInspection:
    about = {} if is_empty_database(db) else dict(db.execute("SELECT key, value FROM about"))
    current = about.get("fingerprint") == fingerprint and about.get("vectors") == VECTORS_VERSION
    if not current:
        return IndexInspection(False, False, {}, {}, 0, "", ())
    generation = about.get("generation")
    if generation not in GENERATIONS:
        raise TypeError("it does not say which tables are current")
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
