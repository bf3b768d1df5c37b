"""state.db in each of its formats, with the sample rows in tests/bot/state/formats."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from bot.state.migrations import MIGRATIONS, read_format
from memory.disk import make_private_folder

SAMPLES = Path(__file__).parents[1] / "bot" / "state" / "formats"
"""One file for each migration, named like it: rows for the tables and columns that it makes, as of that format.

Lines above the rows say what holds for the migration: `-- schema HASH` of all tables and indexes after it, and, where
it changes or drops what is stored, `-- rewrites TABLE.COLUMN`, `-- drops TABLE.COLUMN` or `-- drops TABLE`.
"""

Rows = Mapping[str, Sequence[Mapping[str, object]]]
"""Rows by table, in the order of the primary key."""


def sample_file(number: int) -> Path:
    """Return the file with the sample rows of a format, which may not exist."""
    return SAMPLES / f"{MIGRATIONS[number - 1].__name__}.sql"


def read_directives(number: int, name: str) -> tuple[str, ...]:
    """Return what the lines `-- NAME …` in the file of a format say."""
    found = re.findall(rf"^-- {name} (\S+)$", sample_file(number).read_text("utf-8"), re.MULTILINE)
    return tuple(map(str, found))


def build(db: apsw.Connection, number: int) -> None:
    """Bring an empty database to a format as the program of that time did, with the sample rows of all until then."""
    for each in range(1, number + 1):
        MIGRATIONS[each - 1](db)
        db.execute(sample_file(each).read_text("utf-8"))
    db.execute(f"PRAGMA user_version = {number}")


def write_state(path: Path, number: int) -> Path:
    """Write a state.db of a format; return its path."""
    make_private_folder(path.parent)
    path.touch(0o600)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN")
        build(db, number)
        db.execute("COMMIT")
    return path


def read_rows(db: apsw.Connection) -> Rows:
    """Return every row of every table of ours."""
    tables = [
        str(name)
        for (name,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
    ]
    return {table: _read_table(db, table) for table in tables}


def _read_table(db: apsw.Connection, table: str) -> list[Mapping[str, object]]:
    info = db.execute(f"PRAGMA table_info({table})").fetchall()
    names = [str(row[1]) for row in info]
    keys = [str(row[1]) for row in sorted(info, key=lambda row: int(str(row[5]))) if row[5]]
    rows = db.execute(f"SELECT * FROM {table} ORDER BY {', '.join(keys)}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


def read_file(path: Path) -> tuple[int, Rows]:
    """Return the format and all rows of a closed file."""
    with closing(apsw.Connection(str(path))) as db:
        return read_format(db), read_rows(db)


def hash_schema(db: apsw.Connection) -> str:
    """Return a hash of all tables, indexes and triggers."""
    found = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
    text = "\n".join(" ".join(f"{name} {sql}".split()) for name, sql in found)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def lost(before: Rows, after: Rows, *, upgrades: range) -> list[str]:
    """Return what of `before` is missing or other in `after`, but for what the migrations to these formats declare."""
    excused = {
        name
        for number in upgrades
        for what in ("rewrites", "drops")
        for name in read_directives(number, what)
    }
    found = []
    for table, rows in before.items():
        if table in excused:
            continue
        if len(after.get(table, ())) < len(rows):
            found.append(f"{table}: {len(rows)} rows became {len(after.get(table, ()))}")
            continue
        columns = [name for name in rows[0] if f"{table}.{name}" not in excused] if rows else []
        left = [{name: row.get(name, "(no such column)") for name in columns} for row in after[table]]
        for row in rows:
            wanted = {name: row[name] for name in columns}
            if wanted not in left:
                found.append(f"{table}: {wanted} is missing, there are {left}")
    return found
