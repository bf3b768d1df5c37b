"""Rescue vectors from a file that is discarded: indexing the notes again is free, embedding them is not."""

import contextlib
from pathlib import Path

import apsw

from memory.index.sqlite_schema import VECTOR_TABLES, VECTORS_VERSION

_COUNT_WRONG_LENGTHS = """
SELECT count(*) FROM old.vectors
WHERE typeof(embedding) <> 'blob' OR text NOT IN (SELECT id FROM old.texts) OR length(embedding)
    <> coalesce((SELECT 4 * dimensions FROM old.models WHERE models.id = vectors.model), -1)
"""
# Errors that mean a damaged file. A disk fault or too many open files do not, and are raised.
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
    """Copy all vectors from the file `old` to the new one behind `db`, or none.

    None are copied if any part is damaged: a wrong vector is worse than none. Raises apsw's errors if the
    file cannot be read just now, or the copy fails.
    """
    if not old.exists():
        return
    is_whole = False
    with contextlib.suppress(*_DAMAGE_ERRORS):
        db.execute("ATTACH ? AS old", (str(old),))
        is_whole = _is_whole(db)
    # A failure from here on, such as a full disk, must not discard what was paid for: it is raised.
    if is_whole:
        # Not `with db`, since a full disk has already rolled back. The caller closes the connection.
        db.execute(f"BEGIN IMMEDIATE; {_COPY} COMMIT")


def _is_whole(db: apsw.Connection) -> bool:
    if dict(db.execute("SELECT key, value FROM old.about")).get("vectors") != VECTORS_VERSION:
        return False
    tables = (db.execute(f"PRAGMA old.integrity_check({name})").fetchall() for name in VECTOR_TABLES)
    return all(found == [("ok",)] for found in tables) and db.execute(_COUNT_WRONG_LENGTHS).fetchone() == (0,)
