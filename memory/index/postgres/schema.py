"""The tables of the index on the server: notes in two generations, and the vectors of their texts once."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection, Cursor

    Rows = Cursor[tuple[Any, ...]]

PART = "index"
GENERATIONS = ("a", "b")
VECTORS_LOCK = "vectors"
"""Advisory lock for storing vectors: it makes their ids visible in ascending order."""
SHADOW_LOCK = "shadow"
MERGE_LOCK = "merge"

_NAME_ENDS = re.compile("(?<=[a-z])@")
"""Does not match within `@@`, PostgreSQL's match operator."""

NOTE_TABLES = ("notes", "passages", "chunks", "lexemes", "lexeme_changes", "segments", "names", "links")

_COMMON = """
CREATE TABLE IF NOT EXISTS commonplace.index_state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    identity uuid NOT NULL,
    fingerprint text NOT NULL,
    generation text NOT NULL,
    renewals bigint NOT NULL DEFAULT 0,  -- how often another generation took over
    changes bigint NOT NULL DEFAULT 0,
    hits bigint NOT NULL DEFAULT 0,
    misses bigint NOT NULL DEFAULT 0,
    last_indexed_at timestamptz
);
CREATE TABLE IF NOT EXISTS commonplace.index_sums (
    generation text PRIMARY KEY,
    notes bigint NOT NULL,
    chunks bigint NOT NULL,
    words bigint NOT NULL,  -- of all chunks together
    unmerged bigint NOT NULL  -- rows of lexeme_changes
);
CREATE SEQUENCE IF NOT EXISTS commonplace.index_clock;
CREATE SEQUENCE IF NOT EXISTS commonplace.note_ids;
CREATE SEQUENCE IF NOT EXISTS commonplace.chunk_ids;
CREATE TABLE IF NOT EXISTS commonplace.models (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider text NOT NULL,
    model text NOT NULL,
    dimensions integer NOT NULL,
    seen bigint NOT NULL,  -- the clock when it last gave a vector
    vectors bigint NOT NULL DEFAULT 0,
    UNIQUE (provider, model, dimensions)
);
CREATE TABLE IF NOT EXISTS commonplace.texts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    uses bigint NOT NULL,
    unused_since bigint
);
CREATE INDEX IF NOT EXISTS texts_unused ON commonplace.texts (id) WHERE uses = 0;
-- One table for all models, each vector once for a text, whatever notes it stands in.
CREATE TABLE IF NOT EXISTS commonplace.embeddings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model integer NOT NULL,
    text bigint NOT NULL,
    embedding vector NOT NULL,
    UNIQUE (model, text)
);
ALTER TABLE commonplace.embeddings ALTER embedding SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS embeddings_of_text ON commonplace.embeddings (text);
CREATE TABLE IF NOT EXISTS commonplace.refusals (
    model integer NOT NULL,
    text bigint NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (model, text)
);
CREATE TABLE IF NOT EXISTS commonplace.claims (
    path text PRIMARY KEY,
    holder text NOT NULL,
    until timestamptz NOT NULL
);
ALTER TABLE commonplace.refusals ALTER reason SET STATISTICS 0;
ALTER TABLE commonplace.claims ALTER path SET STATISTICS 0;
CREATE TABLE IF NOT EXISTS commonplace.index_users (
    name text PRIMARY KEY,
    fingerprint text NOT NULL,
    seen timestamptz NOT NULL
);
"""
# PostgreSQL could find a word's number of chunks only by counting. Changes of the numbers are appended to a
# table of their own, and merged now and then, so that no two writers of "the" wait for each other.
_OF_ONE_GENERATION = """
CREATE TABLE IF NOT EXISTS commonplace.notes@ (
    id bigint PRIMARY KEY,
    path text COLLATE "C" NOT NULL UNIQUE,
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    ctime_ns bigint NOT NULL,
    digest text NOT NULL,
    fault text NOT NULL,
    day integer  -- of a daily log, counted from 0001-01-01
);
CREATE INDEX IF NOT EXISTS notes@_day ON commonplace.notes@ (day) WHERE day IS NOT NULL;
CREATE TABLE IF NOT EXISTS commonplace.passages@ (
    note bigint NOT NULL,
    position integer NOT NULL,
    line_start integer NOT NULL,
    line_end integer NOT NULL,
    heading text NOT NULL,
    is_heading boolean NOT NULL,
    text text NOT NULL,
    words text NOT NULL,
    PRIMARY KEY (note, position)
);
CREATE TABLE IF NOT EXISTS commonplace.chunks@ (
    id bigint PRIMARY KEY,
    note bigint NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    length integer NOT NULL,
    words tsvector NOT NULL
);
ALTER TABLE commonplace.chunks@ ALTER words SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS chunks@_note ON commonplace.chunks@ (note);
CREATE INDEX IF NOT EXISTS chunks@_words ON commonplace.chunks@ USING gin (words) WITH (gin_pending_list_limit = 1024);
CREATE TABLE IF NOT EXISTS commonplace.lexemes@ (word text COLLATE "C" PRIMARY KEY, chunks bigint NOT NULL);
CREATE TABLE IF NOT EXISTS commonplace.lexeme_changes@ (word text COLLATE "C" NOT NULL, chunks bigint NOT NULL);
CREATE INDEX IF NOT EXISTS lexeme_changes@_word ON commonplace.lexeme_changes@ (word);
CREATE TABLE IF NOT EXISTS commonplace.segments@ (
    note bigint NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    text bigint NOT NULL,
    heading text NOT NULL,
    PRIMARY KEY (note, first)
);
CREATE INDEX IF NOT EXISTS segments@_text ON commonplace.segments@ (text);
-- No samples for the planner: they stay in pg_statistic when the rows have gone, and not all users may empty that.
ALTER TABLE commonplace.notes@ ALTER path SET STATISTICS 0, ALTER digest SET STATISTICS 0, ALTER fault SET STATISTICS 0;
ALTER TABLE commonplace.passages@ ALTER heading SET STATISTICS 0, ALTER text SET STATISTICS 0,
    ALTER words SET STATISTICS 0;
ALTER TABLE commonplace.chunks@ ALTER words SET STATISTICS 0;
ALTER TABLE commonplace.lexemes@ ALTER word SET STATISTICS 0;
ALTER TABLE commonplace.lexeme_changes@ ALTER word SET STATISTICS 0;
ALTER TABLE commonplace.segments@ ALTER heading SET STATISTICS 0;
"""

_TABLES = _COMMON + "".join(_OF_ONE_GENERATION.replace("@", f"_{each}") for each in GENERATIONS)
_DAYS_OF_ONE_GENERATION = """
ALTER TABLE commonplace.passages@ ADD COLUMN IF NOT EXISTS day integer;  -- when it was told, from 0001-01-01
ALTER TABLE commonplace.chunks@ ADD COLUMN IF NOT EXISTS day integer;  -- of the newest of its passages
ALTER TABLE commonplace.segments@ ADD COLUMN IF NOT EXISTS day integer;
"""
# Notes must be indexed again; vectors stay. Without its fingerprint the index fits no version, so that a
# running instance of the earlier one stops writing, and says why.
_UNKNOWN = "UPDATE commonplace.index_state SET fingerprint = '';"
_DAYS = "".join(_DAYS_OF_ONE_GENERATION.replace("@", f"_{each}") for each in GENERATIONS)
# Earlier versions created a graph (HNSW) for each model with very many vectors; nothing uses it any more.
_NO_GRAPHS = r"""
DO $$
DECLARE graph text;
BEGIN
    FOR graph IN SELECT indexname FROM pg_indexes
        WHERE schemaname = 'commonplace' AND indexname LIKE 'embeddings\_halves\_%'
    LOOP
        EXECUTE format('DROP INDEX IF EXISTS commonplace.%I', graph);
    END LOOP;
END $$;
"""
_LINKS_OF_ONE_GENERATION = """
CREATE TABLE IF NOT EXISTS commonplace.names@ (
    note bigint NOT NULL,
    name text NOT NULL,  -- an alias, a title or a tag; '' for the file name
    key text NOT NULL,  -- of links that call it so, see memory.link_targets; '' if none do
    words text NOT NULL,
    PRIMARY KEY (note, name)
);
CREATE INDEX IF NOT EXISTS names@_key ON commonplace.names@ (key) WHERE key <> '';
CREATE INDEX IF NOT EXISTS names@_words ON commonplace.names@ (words);
CREATE TABLE IF NOT EXISTS commonplace.links@ (
    note bigint NOT NULL,
    number integer NOT NULL,
    line integer NOT NULL,
    key text NOT NULL,
    target text NOT NULL,  -- '' if it is the key
    is_wiki boolean NOT NULL,
    shown text NOT NULL,  -- the words of its text; '' if they are the target's
    PRIMARY KEY (note, number)
);
CREATE INDEX IF NOT EXISTS links@_key ON commonplace.links@ (key);
CREATE INDEX IF NOT EXISTS links@_shown ON commonplace.links@ (shown) WHERE shown <> '';
ALTER TABLE commonplace.names@ ALTER name SET STATISTICS 0, ALTER key SET STATISTICS 0, ALTER words SET STATISTICS 0;
ALTER TABLE commonplace.links@ ALTER key SET STATISTICS 0, ALTER target SET STATISTICS 0, ALTER shown SET STATISTICS 0;
"""
_LINKS = "".join(_LINKS_OF_ONE_GENERATION.replace("@", f"_{each}") for each in GENERATIONS)
STEPS = (_TABLES, _DAYS + _UNKNOWN, _NO_GRAPHS, _LINKS + _UNKNOWN)
"""A released step is never changed; add another step instead."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The row that describes the index."""

    identity: str
    fingerprint: str
    generation: str
    renewals: int
    changes: int
    """Changes with every change by anyone."""
    hits: int
    misses: int
    last_indexed_at: str
    """ISO 8601 in UTC; "" before the first sync."""


_STATE = (
    "SELECT identity::text, fingerprint, generation, renewals, changes, hits, misses,"
    " coalesce(to_char(last_indexed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"'), '')"
    " FROM commonplace.index_state"
)


CHANGES = "SELECT identity, changes FROM commonplace.index_state"
"""SQL: a value that changes with every change of the index by anyone."""


def read_state(db: "Connection[tuple[Any, ...]]") -> IndexState | None:
    """Return the state; None if there is no index."""
    row = db.execute(_STATE).fetchone()
    return IndexState(*row) if row else None


def read_snapshot_state(db: "Connection[tuple[Any, ...]]") -> IndexState | None:
    """Start a snapshot transaction and return the state, in one round trip; None if there is no index.

    The lock comes first, so that nobody empties a generation while it is read.
    """
    cursor = db.execute(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
        " LOCK TABLE commonplace.index_state IN ACCESS SHARE MODE;"
        f" {_STATE}".encode()
    )
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    return IndexState(*row) if row else None


Exclusion = Literal["ROW EXCLUSIVE", "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"]


def lock_index(db: "Connection[tuple[Any, ...]]", mode: Exclusion) -> None:
    """Lock the index: ROW EXCLUSIVE lets others write, SHARE ROW EXCLUSIVE read, ACCESS EXCLUSIVE nothing."""
    db.execute(f"LOCK TABLE commonplace.index_state IN {mode} MODE".encode())


@dataclass(frozen=True, slots=True)
class PostgresTables:
    """The tables of one generation. In statements `notes@` stands for `notes_a` or `notes_b`."""

    db: "Connection[tuple[Any, ...]]"
    generation: str

    def run(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> "Rows":
        """Run one statement."""
        return self.db.execute(self._with_generation(sql).encode(), values or None)

    def count(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> int:
        """Return the single number that a statement selects."""
        row = self.run(sql, values).fetchone()
        return int(row[0]) if row else 0

    def copy(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows to a table of this generation."""
        copy_rows(self.db, self._with_generation(f"commonplace.{table}@"), rows)

    def empty(self) -> None:
        """Empty the tables."""
        names = ", ".join(f"commonplace.{name}@" for name in NOTE_TABLES)
        self.run(f"TRUNCATE {names}")
        self.run(
            "INSERT INTO commonplace.index_sums VALUES (%s, 0, 0, 0, 0) ON CONFLICT (generation)"
            " DO UPDATE SET notes = 0, chunks = 0, words = 0, unmerged = 0",
            (self.generation,),
        )

    def add_to_totals(self, *, notes: int = 0, chunks: int = 0, words: int = 0, unmerged: int = 0) -> int:
        """Add to the stored totals; return how many changes of word counts are unmerged."""
        return self.count(
            "UPDATE commonplace.index_sums SET notes = notes + %s, chunks = chunks + %s, words = words + %s,"
            " unmerged = unmerged + %s WHERE generation = %s RETURNING unmerged",
            (notes, chunks, words, unmerged, self.generation),
        )

    def _with_generation(self, sql: str) -> str:
        return _NAME_ENDS.sub(f"_{self.generation}", sql)


def copy_rows(
    db: "Connection[tuple[Any, ...]]", table: str, rows: Iterable[Sequence[Any]], columns: str = ""
) -> None:
    """Add rows by COPY, the fastest way."""
    with db.cursor() as cursor, _open_copy(cursor, f"COPY {table} {columns} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


@contextmanager
def _open_copy(cursor: "Rows", sql: str) -> "Iterator[Any]":
    with cursor.copy(sql.encode()) as copy:
        yield copy


def drop_notes(db: "Connection[tuple[Any, ...]]") -> None:
    """Drop everything derived from the notes, damaged or not; vectors stay."""
    names = [f"commonplace.{name}_{each}" for each in GENERATIONS for name in NOTE_TABLES]
    names += ["commonplace.index_state", "commonplace.index_sums"]
    db.execute(f"DROP TABLE IF EXISTS {', '.join(names)}".encode())


def drop_vectors(db: "Connection[tuple[Any, ...]]") -> None:
    """Drop the vectors too."""
    db.execute(
        "DROP TABLE IF EXISTS commonplace.embeddings, commonplace.texts, commonplace.models, commonplace.refusals"
    )


def create_missing(db: "Connection[tuple[Any, ...]]") -> None:
    """Create the tables that do not exist."""
    db.execute("CREATE SCHEMA IF NOT EXISTS commonplace")
    db.execute("".join(STEPS).encode())


def next_tick(db: "Connection[tuple[Any, ...]]") -> int:
    """Return the next number of a logical clock."""
    row = db.execute("SELECT nextval('commonplace.index_clock')").fetchone()
    return int(row[0]) if row else 0


def strip_invalid(text: str) -> str:
    """Return the text without NUL and lone surrogates, which PostgreSQL cannot store."""
    if "\0" not in text and text.isprintable():
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
