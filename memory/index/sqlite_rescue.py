"""Vectors out of a file that is thrown away: the notes can be indexed again for nothing, these cannot."""

import contextlib
from pathlib import Path

import apsw

from memory.index.sqlite_schema import VECTOR_TABLES, VECTORS_VERSION

_MISFITS = """
SELECT count(*) FROM old.vectors
WHERE typeof(embedding) <> 'blob' OR text NOT IN (SELECT id FROM old.texts) OR length(embedding)
    <> coalesce((SELECT 4 * dimensions FROM old.models WHERE models.id = vectors.model), -1)
"""
# What tells of the file. A fault of the disk, or too many open files, does not, and is raised.
_DAMAGE_ERRORS = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.FormatError,
    UnicodeDecodeError,
)
_COPY = """
INSERT INTO models SELECT * FROM old.models;
INSERT INTO texts SELECT id, digest, 0, 1 FROM old.texts;
INSERT INTO vectors SELECT * FROM old.vectors;
INSERT INTO refusals SELECT * FROM old.refusals;
UPDATE models SET seen = 1;
"""


def rescue_vectors(db: apsw.Connection, old: Path) -> None:
    """Copy what was embedded from the file `old` into the new one behind `db`, all of it or nothing.

    Nothing where anything of it is damaged: a vector that is wrong is worse than none. Raises apsw's errors where it
    cannot be told just now, or not be copied.
    """
    if not old.exists():
        return
    is_whole = False
    with contextlib.suppress(*_DAMAGE_ERRORS):
        db.execute("ATTACH ? AS old", (str(old),))
        is_whole = _is_whole(db)
    # What fails from here on (a full disk) is no reason to throw away what was paid for: it is raised.
    if is_whole:
        # Not `with db`: a full disk has rolled back already. Whoever opened the connection closes it.
        db.execute(f"BEGIN IMMEDIATE; {_COPY} COMMIT")


def _is_whole(db: apsw.Connection) -> bool:
    if dict(db.execute("SELECT key, value FROM old.about")).get("vectors") != VECTORS_VERSION:
        return False
    tables = (db.execute(f"PRAGMA old.integrity_check({name})").fetchall() for name in VECTOR_TABLES)
    return all(found == [("ok",)] for found in tables) and db.execute(_MISFITS).fetchone() == (0,)
