"""The tables of the index file: notes in two generations, and the vectors of their texts once."""

from collections.abc import Iterable
from dataclasses import dataclass

import apsw

NOTES_VERSION = 6
"""Increase it when the tables of the notes change: they are recreated, and vectors are kept."""

EXTENDED_VERSION = 5
"""Notes in tables of this version are found as before: tables that it did not have are added, empty."""

VECTORS_VERSION = 1
"""Increase it only when the tables of the vectors change: vectors cost money, and would be lost."""

POSITIONS = 1 << 24
"""A passage's or segment's id is its note's id times this plus its position, so that a note's rows are adjacent.

Statements write it as `note << 24` and `id >> 24`.
"""

GENERATIONS = ("a", "b")
VECTOR_TABLES = ("models", "texts", "vectors", "refusals")

_NOTE_TABLES = ("notes", "passages", "chunks", "chunk_words", "segments", "names", "links")

_COMMON = """
CREATE TABLE about (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    seen INTEGER NOT NULL,  -- the clock when it last gave a vector
    UNIQUE (provider, model, dimensions)
);
-- Every text that is or was to be embedded; `uses` counts the segments with it in the generation that is the index.
-- AUTOINCREMENT: whoever remembers an id never finds another text or vector behind it.
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    uses INTEGER NOT NULL,
    unused_since INTEGER
);
CREATE INDEX texts_unused ON texts (unused_since) WHERE uses = 0;
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL,
    text INTEGER NOT NULL,
    embedding BLOB NOT NULL
);
CREATE UNIQUE INDEX vector_of_text ON vectors (model, text);
CREATE TABLE refusals (
    model INTEGER NOT NULL,
    text INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (model, text)
) WITHOUT ROWID;
"""
_OF_ONE_GENERATION = """
CREATE TABLE notes@ (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest TEXT NOT NULL,
    fault TEXT NOT NULL,
    day INTEGER  -- of a daily log, counted from 0001-01-01
);
CREATE INDEX notes_of_day@ ON notes@ (day) WHERE day IS NOT NULL;
CREATE TABLE passages@ (
    id INTEGER PRIMARY KEY,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    heading TEXT NOT NULL,
    is_heading INTEGER NOT NULL,
    text TEXT NOT NULL,
    words TEXT NOT NULL,
    day INTEGER  -- when it was told, counted from 0001-01-01; NULL where nothing says so
);
CREATE TABLE chunks@ (
    id INTEGER PRIMARY KEY,
    note INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    day INTEGER  -- of the newest of its passages
);
CREATE INDEX chunks_of_note@ ON chunks@ (note);
CREATE TABLE segments@ (
    id INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    text INTEGER NOT NULL,
    heading TEXT NOT NULL,
    day INTEGER  -- as of chunks
);
CREATE INDEX segments_of_text@ ON segments@ (text);
-- Words are cut by memory.tokenizer; `ascii` only parts them at the spaces, so any SQLite can read the file.
CREATE VIRTUAL TABLE chunk_words@ USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
"""

_LINKS_OF_ONE_GENERATION = """
CREATE TABLE names@ (
    note INTEGER NOT NULL,
    name TEXT NOT NULL,  -- an alias, a title or a tag; '' for the file name
    key TEXT NOT NULL,  -- of links that call it so, see memory.link_targets; '' if none do
    words TEXT NOT NULL,
    PRIMARY KEY (note, name)
) WITHOUT ROWID;
CREATE INDEX names_by_key@ ON names@ (key) WHERE key <> '';
CREATE INDEX names_by_words@ ON names@ (words);
CREATE TABLE links@ (
    id INTEGER PRIMARY KEY,  -- counted from its note's, as of passages
    line INTEGER NOT NULL,
    key TEXT NOT NULL,
    target TEXT NOT NULL,  -- '' if it is the key
    is_wiki INTEGER NOT NULL,
    shown TEXT NOT NULL  -- the words of its text; '' if they are the target's
);
CREATE INDEX links_by_key@ ON links@ (key);
CREATE INDEX links_by_shown@ ON links@ (shown) WHERE shown <> '';
"""

SqlValue = str | int | float | bytes | None


class UnexpectedType(TypeError):
    """A value has the wrong type: a damaged file may still be a database."""


@dataclass(frozen=True, slots=True)
class SqliteTables:
    """The tables of one generation. In statements `notes@` stands for `notes_a` or `notes_b`."""

    db: apsw.Connection
    generation: str

    def run(self, sql: str, values: tuple[SqlValue, ...] = ()) -> apsw.Cursor:
        """Run one statement, or several without values."""
        return self.db.execute(sql.replace("@", f"_{self.generation}"), values)

    def run_each(self, sql: str, rows: Iterable[tuple[SqlValue, ...]]) -> apsw.Cursor:
        """Run one statement for each row of values."""
        return self.db.executemany(sql.replace("@", f"_{self.generation}"), rows)

    def count(self, sql: str, values: tuple[SqlValue, ...] = ()) -> int:
        """Return the single number that a statement selects."""
        row = self.run(sql, values).fetchone()
        return check_integer(row and row[0])

    def create(self) -> None:
        """Create the empty tables."""
        self.run(_OF_ONE_GENERATION + _LINKS_OF_ONE_GENERATION)

    def create_links(self) -> None:
        """Create the tables that version 5 did not have, empty."""
        self.run("DROP TABLE IF EXISTS names@; DROP TABLE IF EXISTS links@;")
        self.run(_LINKS_OF_ONE_GENERATION)

    def drop(self) -> None:
        """Drop the tables that exist."""
        self.run("".join(f"DROP TABLE IF EXISTS {name}@;" for name in _NOTE_TABLES))


def create_common(db: apsw.Connection) -> None:
    """Create what both generations share: `about`, and the tables of the vectors."""
    db.execute(_COMMON)


def count_uses(db: apsw.Connection, generation: str, *, clock: int) -> None:
    """Recount the uses of all texts in this generation; only changed counts are written."""
    SqliteTables(db, generation).run(
        "UPDATE texts SET uses = counted.uses, unused_since = CASE WHEN counted.uses = 0 THEN ? END"
        " FROM (SELECT texts.id, (SELECT count(*) FROM segments@ WHERE text = texts.id) AS uses FROM texts)"
        " AS counted WHERE counted.id = texts.id AND counted.uses <> texts.uses",
        (clock,),
    )


def check_integer(value: object) -> int:
    """Return `value` if it is an int; raise `UnexpectedType` otherwise."""
    if not isinstance(value, int):
        raise UnexpectedType("a number is missing")
    return value


def check_text(value: object) -> str:
    """Return `value` if it is a str; raise `UnexpectedType` otherwise."""
    if not isinstance(value, str):
        raise UnexpectedType("a text is missing")
    return value


def check_bytes(value: object) -> bytes:
    """Return `value` if it is bytes; raise `UnexpectedType` otherwise."""
    if not isinstance(value, bytes):
        raise UnexpectedType("bytes are missing")
    return value
