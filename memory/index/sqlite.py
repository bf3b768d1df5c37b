"""The index in one SQLite file: FTS5 finds chunks, a table beside it holds their passages."""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import apsw

from memory.disk import reason
from memory.errors import IndexBroken, IndexUnavailable
from memory.index.protocol import IndexChanged, IndexedNote, IndexNumbers, KnownNote, Stamp
from memory.search import NEIGHBOURS, Candidate, Candidates, Run
from memory.words import Term, cut

SCHEMA_VERSION = 2
BUSY_TIMEOUT_MS = 10_000
COUNTED_HITS = 20_000
"""Where counting the chunks with a word ends: a word beyond this says little, and each hit costs 0.2 µs."""

_SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest TEXT NOT NULL,
    fault TEXT NOT NULL
);
-- id = note * 2^24 + position, so that a note's neighbours are neighbours here too.
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    heading TEXT NOT NULL,
    is_heading INTEGER NOT NULL,
    text TEXT NOT NULL,
    words TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    note INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX chunks_of_note ON chunks (note);
-- Words are cut by memory.words; `ascii` only parts them at the spaces, so any SQLite can read the file.
CREATE VIRTUAL TABLE chunk_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
"""
_POSITIONS = 1 << 24
_MOST_ROWS = (1 << 63) - 1
_BROKEN = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.IOError,
    apsw.SQLError,
    apsw.FormatError,
    apsw.ConstraintError,
)
# A file may be damaged and still be a database, with something else where a number or a text should be.
_NOT_OURS = (TypeError, UnicodeDecodeError, OverflowError)


class SqliteIndex:
    """`Index` over one file. It notices when the file was deleted, replaced or damaged under it."""

    def __init__(self, file: Path, *, fingerprint: str) -> None:
        """Open nothing yet; `fingerprint` names whatever makes the indexed words or chunks wrong when it changes."""
        self._file = file
        self._fingerprint = f"{SCHEMA_VERSION}/{fingerprint}"
        self._db: apsw.Connection | None = None
        self._inode = (0, 0)
        self._identity = ""
        self._shm = (0, 0)
        self._openings = 0

    def identity(self) -> str:
        """See `Index.identity`."""
        with _errors_typed():
            self._connection()
        return self._identity

    def version(self) -> str:
        """See `Index.version`."""
        with self._reading() as db:
            return self._version(db)

    def known(self) -> Mapping[str, KnownNote]:
        """See `Index.known`."""
        with self._reading() as db:
            return {
                _text(path): KnownNote(Stamp(size, mtime_ns, ctime_ns), digest, _text(fault))
                for path, size, mtime_ns, ctime_ns, digest, fault in db.execute(
                    "SELECT path, size, mtime_ns, ctime_ns, digest, fault FROM notes"
                )
            }

    def apply(
        self,
        notes: Sequence[IndexedNote],
        *,
        gone: Collection[str] = (),
        restamped: Mapping[str, Stamp] | None = None,
        version: str = "",
    ) -> None:
        """See `Index.apply`."""
        with self._writing() as db:
            if version and version != self._version(db):
                raise IndexChanged
            for path in gone:
                _remove(db, path)
            for path, stamp in (restamped or {}).items():
                db.execute(
                    "UPDATE notes SET size = ?, mtime_ns = ?, ctime_ns = ? WHERE path = ?",
                    (stamp.size, stamp.mtime_ns, stamp.ctime_ns, path),
                )
            for note in notes:
                _remove(db, note.path)
                _insert(db, note)
            _touch(db)

    def replace_all(self, notes: Iterable[IndexedNote]) -> None:
        """See `Index.replace_all`."""
        with self._writing() as db:
            db.execute("DELETE FROM notes; DELETE FROM passages; DELETE FROM chunks")
            db.execute("INSERT INTO chunk_words (chunk_words) VALUES ('delete-all')")
            for note in notes:
                _insert(db, note)
            _touch(db)

    def candidates(self, terms: Sequence[Term], *, most: int) -> Candidates:
        """See `Index.candidates`."""
        if not terms:
            return Candidates((), {}, 0)
        with self._reading() as db:
            chunks = _one(db, "SELECT count(*) FROM chunks")
            frequencies = {term: _frequency(db, term) for term in terms}
            found = list(
                # Equals by path and place, since the order of the rows is that of their coming.
                db.execute(
                    "SELECT note, first, last FROM chunk_words"
                    " CROSS JOIN chunks ON chunks.id = chunk_words.rowid"
                    " CROSS JOIN notes ON notes.id = chunks.note"
                    " WHERE chunk_words MATCH ? ORDER BY rank, path, first LIMIT ?",
                    (_expression(_worth_asking(frequencies)), min(most, _MOST_ROWS)),
                )
            )
            return Candidates(tuple(_runs(db, found)), frequencies, chunks)

    def numbers(self) -> IndexNumbers:
        """See `Index.numbers`."""
        with self._reading() as db:
            changed = list(db.execute("SELECT value FROM about WHERE key = 'last_indexed_at'"))
            return IndexNumbers(
                notes=_one(db, "SELECT count(*) FROM notes"),
                chunks=_one(db, "SELECT count(*) FROM chunks"),
                last_indexed_at=changed[0][0] if changed else "",
            )

    def reset(self) -> None:
        """See `Index.reset`."""
        self.close()
        with _errors_typed():
            self._create(only_if_broken=False)

    def close(self) -> None:
        """See `Index.close`."""
        if self._db:
            # A file that was damaged under the connection may fail to close; it is let go all the same.
            with contextlib.suppress(apsw.Error):
                self._db.close()
            self._db = None
        self._shm = (0, 0)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with _errors_typed():
            db = self._connection()
            try:
                with _transaction(db, "BEGIN"):
                    yield db
            except _NOT_OURS as error:
                raise IndexBroken(f"the index is damaged ({error})") from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with _errors_typed():
            db = self._connection()
            # Deferred, a transaction that first reads would fail at once beside another writer.
            with _transaction(db, "BEGIN IMMEDIATE"):
                yield db

    def _connection(self) -> apsw.Connection:
        if self._db and self._inode == _inode(self._file):
            return self._db
        self._remove_foreign_journal()
        self.close()
        opened = self._open_existing()
        if opened is None:
            return self._create(only_if_broken=True)
        return self._keep(*opened)

    def _keep(self, db: apsw.Connection, inode: tuple[int, int], identity: str) -> apsw.Connection:
        # Not the inode alone: its number is soon given to another file.
        self._db, self._inode, self._identity = db, inode, f"{inode}{identity}"
        self._shm = _inode(Path(f"{self._file}-shm"))
        self._openings += 1
        return db

    def _version(self, db: apsw.Connection) -> str:
        return f"{self._openings}:{_one(db, 'PRAGMA data_version')}"

    def _remove_foreign_journal(self) -> None:
        """Remove the journal of the file that we had open, where another file was put in its place.

        SQLite would play it into that one. And a process that has both open, with the same shared memory,
        loses its locks on it when it closes one: the next process empties it under the other (SIGBUS).
        """
        if self._shm == (0, 0) or _inode(self._file) in {(0, 0), self._inode}:
            return
        with self._creating():
            if self._shm == _inode(Path(f"{self._file}-shm")):
                for suffix in ("-wal", "-shm"):
                    Path(f"{self._file}{suffix}").unlink(missing_ok=True)

    def _open_existing(self) -> tuple[apsw.Connection, tuple[int, int], str] | None:
        """A connection to the file as it is, its inode and its name; None where there is none that can be used."""
        inode = _inode(self._file)
        if inode == (0, 0):
            return None
        db = apsw.Connection(str(self._file))
        about: dict[object, object] = {}
        try:
            _configure(db)
            about.update(db.execute("SELECT key, value FROM about"))
        except (*_BROKEN, *_NOT_OURS):
            pass
        except BaseException:
            db.close()
            raise
        # The file may have been replaced between our look at it and its opening.
        if about.get("fingerprint") == self._fingerprint and inode == _inode(self._file):
            return db, inode, str(about.get("identity"))
        db.close()
        return None

    def _creating(self) -> AbstractContextManager[object]:
        from filelock import FileLock

        locks = self._file.parent / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        return FileLock(locks / "index.lock", timeout=BUSY_TIMEOUT_MS / 1000)

    def _create(self, *, only_if_broken: bool) -> apsw.Connection:
        with self._creating():
            opened = self._open_existing() if only_if_broken else None
            if opened:
                return self._keep(*opened)
            # A journal left behind would be played into the new file.
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{self._file}{suffix}").unlink(missing_ok=True)
            db, identity = apsw.Connection(str(self._file)), os.urandom(8).hex()
            inode = _inode(self._file)
            try:
                _configure(db)
                db.execute("PRAGMA journal_mode = WAL")
                with _transaction(db, "BEGIN IMMEDIATE"):
                    db.execute(_SCHEMA)
                    db.execute("INSERT INTO about VALUES ('fingerprint', ?)", (self._fingerprint,))
                    db.execute("INSERT INTO about VALUES ('identity', ?)", (identity,))
            except BaseException:
                db.close()
                raise
            return self._keep(db, inode, identity)


def _configure(db: apsw.Connection) -> None:
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    # The index is derived: after a power cut it may miss the last transaction, which the next sync repeats.
    db.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")


@contextlib.contextmanager
def _errors_typed() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise IndexBroken(f"the index is damaged ({error})") from error
    except OSError as error:
        raise IndexUnavailable(f"the index cannot be used ({reason(error)})") from error
    except apsw.Error as error:
        raise IndexUnavailable(f"the index cannot be used ({error})") from error


@contextlib.contextmanager
def _transaction(db: apsw.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(apsw.Error):
            db.execute("ROLLBACK")
        raise


def _inode(file: Path) -> tuple[int, int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - asked before every search
    except FileNotFoundError:
        return (0, 0)
    return found.st_dev, found.st_ino


def _one(db: apsw.Connection, sql: str, values: tuple[str | int, ...] = ()) -> int:
    row = db.execute(sql, values).fetchone()
    return _number(row and row[0])


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("a number is missing")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value


def _touch(db: apsw.Connection) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    db.execute("INSERT OR REPLACE INTO about VALUES ('last_indexed_at', ?)", (now,))


def _remove(db: apsw.Connection, path: str) -> None:
    row = db.execute("SELECT id FROM notes WHERE path = ?", (path,)).fetchone()
    if row is None:
        return
    note = row[0]
    db.execute("DELETE FROM chunk_words WHERE rowid IN (SELECT id FROM chunks WHERE note = ?)", (note,))
    db.execute("DELETE FROM chunks WHERE note = ?", (note,))
    db.execute("DELETE FROM passages WHERE id >= ? AND id < ?", (note * _POSITIONS, (note + 1) * _POSITIONS))
    db.execute("DELETE FROM notes WHERE id = ?", (note,))


def _insert(db: apsw.Connection, note: IndexedNote) -> None:
    stamp = note.stamp
    db.execute(
        "INSERT INTO notes (path, size, mtime_ns, ctime_ns, digest, fault) VALUES (?, ?, ?, ?, ?, ?)",
        (note.path, stamp.size, stamp.mtime_ns, stamp.ctime_ns, note.digest, note.fault),
    )
    note_id = db.last_insert_rowid()
    base = note_id * _POSITIONS
    db.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (base + position, p.line_start, p.line_end, p.heading, p.is_heading, p.text, words)
            for position, (p, words) in enumerate(zip(note.passages, note.words, strict=True))
        ],
    )
    name = " ".join(cut(note.path.removesuffix(".md")))
    for chunk in note.chunks:
        db.execute(
            "INSERT INTO chunks (note, first, last, digest) VALUES (?, ?, ?, ?)",
            (note_id, chunk.first, chunk.last, chunk.digest),
        )
        words = " ".join([name, *cut(chunk.heading), *note.words[chunk.first : chunk.last + 1]])
        db.execute("INSERT INTO chunk_words (rowid, words) VALUES (?, ?)", (db.last_insert_rowid(), words))


def _frequency(db: apsw.Connection, term: Term) -> int:
    return _one(
        db,
        "SELECT count(*) FROM (SELECT 1 FROM chunk_words WHERE chunk_words MATCH ? LIMIT ?)",
        (_expression([term]), COUNTED_HITS),
    )


def _worth_asking(frequencies: Mapping[Term, int]) -> list[Term]:
    """The rarer terms, as many as together have few enough hits to be ranked; at least one."""
    present = sorted(
        (frequency, position, term)
        for position, (term, frequency) in enumerate(frequencies.items())
        if frequency
    )
    chosen: list[Term] = []
    hits = 0
    for frequency, _, term in present:
        hits += frequency
        if chosen and hits > COUNTED_HITS:
            break
        chosen.append(term)
    return chosen or list(frequencies)


def _expression(terms: Iterable[Term]) -> str:
    """An FTS5 query for any of the terms; tokens are letters, digits and marks, so quoting is enough."""
    return " OR ".join(f'"{" ".join(term.tokens)}"' for term in terms)


def _runs(db: apsw.Connection, found: Iterable[tuple[int, int, int]]) -> Iterator[Run]:
    """The passages of the found chunks with their neighbours, joined where they touch."""
    margin = len(NEIGHBOURS)
    joined: list[list[int]] = []
    for note, first, last in sorted(found):
        if joined and joined[-1][0] == note and first - margin <= joined[-1][2] + 1:
            joined[-1][2] = max(joined[-1][2], last + margin)
        else:
            joined.append([note, max(0, first - margin), last + margin])
    for note, first, last in joined:
        path = db.execute("SELECT path FROM notes WHERE id = ?", (note,)).fetchone()
        rows = db.execute(
            "SELECT line_start, line_end, heading, is_heading, text, words FROM passages"
            " WHERE id BETWEEN ? AND ? ORDER BY id",
            (note * _POSITIONS + first, min(note * _POSITIONS + last, (note + 1) * _POSITIONS - 1)),
        )
        passages = tuple(
            Candidate(_number(a), _number(b), _text(heading), bool(is_heading), _text(text), _text(words))
            for a, b, heading, is_heading, text, words in rows
        )
        yield Run(_text(path and path[0]), passages)
