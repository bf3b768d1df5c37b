"""The index file: opening, recreating and replacing it, and its transactions."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from memory.disk import make_private_folder, reason, sync_folder
from memory.errors import IndexCorrupted, IndexUnavailable, RebuildRunning
from memory.index import sqlite_full_text
from memory.index.sqlite_rescue import rescue_vectors
from memory.index.sqlite_schema import (
    EXTENDED_VERSION,
    GENERATIONS,
    NOTES_VERSION,
    VECTORS_VERSION,
    SqliteTables,
    SqlValue,
    UnexpectedType,
    check_integer,
    check_text,
    create_common,
)
from memory.sqlite_cache import limit_cache

if TYPE_CHECKING:
    from filelock import BaseFileLock

BUSY_TIMEOUT_MS = 10_000
_TRIES = 5
# Errors that mean a damaged file; faults of the disk or the system may be temporary and are not among them.
_DAMAGE_ERRORS = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.FormatError,
    apsw.ConstraintError,
    # apsw raises this when it cannot ask for FTS5; every statement does if the table names are unreadable.
    apsw.NoFTS5Error,
)
# A damaged file may still be a database, with wrong types where numbers or texts should be.
_FOREIGN_VALUE_ERRORS = (TypeError, UnicodeDecodeError, OverflowError)
_InodeKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileTransaction:
    """A transaction, with the contents of the `about` table."""

    db: apsw.Connection
    about: dict[str, object]
    """The identity, the fingerprint and the values below; `shadow` while a second generation exists."""

    @property
    def generation(self) -> str:
        """The generation of tables that is live."""
        return check_text(self.about.get("generation"))

    @property
    def other_generation(self) -> str:
        """The generation of tables that a shadow uses."""
        return GENERATIONS[1 - GENERATIONS.index(self.generation)]

    @property
    def clock(self) -> int:
        """A counter that grows with each write."""
        return check_integer(self.about.get("clock"))

    def count(self, key: str) -> int:
        """Return a stored number; 0 if there is none."""
        return check_integer(self.about.get(key, 0))

    def put(self, key: str, value: SqlValue) -> None:
        """Store a value."""
        self.about[key] = value
        self.db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    def add(self, key: str, more: int) -> None:
        """Add to a stored number."""
        if more:
            self.put(key, self.count(key) + more)

    def count_note_change(self) -> None:
        """Count a change of the notes, which changes `Index.version`."""
        self.add("changes", 1)
        self.put("last_indexed_at", datetime.now(UTC).isoformat(timespec="seconds"))

    def drop_shadow(self) -> None:
        """Drop the tables of the generation that is not live."""
        SqliteTables(self.db, self.other_generation).drop()
        self.about.pop("shadow", None)
        self.db.execute("DELETE FROM about WHERE key = 'shadow'")


class IndexFile:
    """One SQLite file. It notices if the file was deleted, replaced, damaged or recreated."""

    def __init__(self, file: Path, *, fingerprint: str) -> None:
        """Open nothing yet; for `fingerprint` see `SqliteIndex`."""
        self._file = file
        self._fingerprint = f"{NOTES_VERSION}/{fingerprint}"
        self._db: apsw.Connection | None = None
        self._inode = (0, 0)
        self._named = ""
        self._shm = (0, 0)
        self.openings = 0
        """How often the file was opened; anything cached before the last opening is invalid."""

    @property
    def identity(self) -> str:
        """The index's identity when last read or written; it changes when the index is recreated."""
        # The inode alone is not enough: its number is soon given to another file.
        return f"{self._inode}{self._named}"

    @contextlib.contextmanager
    def reading(self) -> Iterator[FileTransaction]:
        """Read one consistent state of the file. Raises `IndexCorrupted`, `IndexUnavailable`."""
        with _translate_errors(), self._close_on_fault():
            tx = self._begin("BEGIN")
            try:
                with _commit_or_roll_back(tx.db):
                    yield tx
            except _FOREIGN_VALUE_ERRORS as error:
                raise IndexCorrupted("the index is damaged ({error})", error=error) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[FileTransaction]:
        """Change the file, all or nothing. Raises `IndexCorrupted`, `IndexUnavailable`."""
        with _translate_errors(), self._close_on_fault():
            # A deferred transaction that reads first would fail at once if somebody else writes.
            tx = self._begin("BEGIN IMMEDIATE")
            with _commit_or_roll_back(tx.db):
                tx.add("clock", 1)
                yield tx

    def is_outdated(self, tx: FileTransaction) -> bool:
        """Return whether the notes were indexed by another version or with other settings."""
        return tx.about.get("fingerprint") != self._fingerprint

    def renew(self, tx: FileTransaction) -> None:
        """Record that the notes are now indexed by this version with these settings.

        Whoever has the file open opens it again, so that another version cannot write into these tables.
        """
        if self.is_outdated(tx):
            tx.put("fingerprint", self._fingerprint)
            tx.put("identity", os.urandom(8).hex())

    def lock_rebuild(self) -> "BaseFileLock":
        """Take the lock for building a shadow; the system releases it if the process dies.

        Raises `IndexUnavailable` if another process holds it.
        """
        from filelock import Timeout

        with _translate_errors():
            lock = self._make_rebuild_lock()
            try:
                lock.acquire()
            except Timeout:
                raise RebuildRunning("another process is rebuilding the index") from None
            return lock

    def is_rebuilt(self, tx: FileTransaction) -> bool:
        """Return whether a rebuild is running. Within `writing`, remove what a dead process left."""
        if "shadow" not in tx.about:
            return False
        from filelock import Timeout

        try:
            with self._make_rebuild_lock():
                tx.drop_shadow()
        except Timeout:
            return True
        return False

    def reset(self) -> None:
        """Replace the file by an empty one, with the old vectors if they can be read."""
        self.close()
        with _translate_errors():
            self._create(only_if_broken=False)

    def vacuum(self) -> None:
        """Rewrite the file, so that no deleted text remains in it or in its journal.

        Raises `IndexUnavailable`.
        """
        with _translate_errors():
            db = self._connection()
            db.execute("VACUUM")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy is None or busy[0]:
                raise IndexUnavailable("the index is in use by another program")

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        if self._db:
            # A file that was damaged under the connection may fail to close; drop it all the same.
            with contextlib.suppress(apsw.Error):
                self._db.close()
            self._db = None
        self._shm = (0, 0)

    @contextlib.contextmanager
    def _close_on_fault(self) -> Iterator[None]:
        """Close the file after a disk fault, since reopening it may help."""
        try:
            yield
        except (apsw.IOError, apsw.CantOpenError):
            self.close()
            raise

    def _begin(self, begin: str) -> FileTransaction:
        for _ in range(_TRIES):
            db = self._connection()
            db.execute(begin)
            try:
                about = dict(db.execute("SELECT key, value FROM about"))
            except BaseException:
                _roll_back(db)
                raise
            if about.get("identity") == self._named:
                return FileTransaction(db, about)
            # Another program with other settings or another version recreated the index in the same file.
            _roll_back(db)
            self.close()
        raise IndexUnavailable("the index keeps being replaced")

    def _connection(self) -> apsw.Connection:
        if self._db and self._inode == _inode(self._file):
            return self._db
        self._remove_foreign_journal()
        self.close()
        opened = self._open_existing()
        if opened is None:
            return self._create(only_if_broken=True)
        return self._adopt_connection(*opened)

    def _adopt_connection(
        self, db: apsw.Connection, inode: _InodeKey, about: dict[object, object]
    ) -> apsw.Connection:
        try:
            sqlite_full_text.register_functions(db)
        except BaseException:
            db.close()
            raise
        self._db, self._inode, self._named = db, inode, str(about.get("identity"))
        self._shm = _inode(Path(f"{self._file}-shm"))
        self.openings += 1
        if "shadow" in about:
            self._end_abandoned_shadow(db)
        return db

    def _end_abandoned_shadow(self, db: apsw.Connection) -> None:
        """Remove a shadow whose process died.

        If it is alive, or somebody writes, a later opening checks again.
        """
        db.set_busy_timeout(0)
        try:
            with (
                contextlib.suppress(apsw.Error, OSError, NotImplementedError),
                self._make_rebuild_lock(),
                _transaction(db, "BEGIN IMMEDIATE"),
            ):
                tx = FileTransaction(db, dict(db.execute("SELECT key, value FROM about")))
                if "shadow" in tx.about:
                    tx.add("clock", 1)
                    tx.drop_shadow()
        finally:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)

    def _remove_foreign_journal(self) -> None:
        """Remove the journal of the file that we had open, if another file was put in its place.

        SQLite would replay it into the new file. And a process that has both open, with the same shared
        memory, loses its locks when it closes one; the next process then truncates it under the other
        (SIGBUS).
        """
        if self._shm == (0, 0) or _inode(self._file) in {(0, 0), self._inode}:
            return
        with self._lock_creation():
            if self._shm == _inode(Path(f"{self._file}-shm")):
                for suffix in ("-wal", "-shm"):
                    Path(f"{self._file}{suffix}").unlink(missing_ok=True)

    def _open_existing(self) -> tuple[apsw.Connection, _InodeKey, dict[object, object]] | None:
        """Return a connection to the existing file, its inode and its `about`; None if the file is unusable."""
        inode = _inode(self._file)
        if inode == (0, 0):
            return None
        db = apsw.Connection(str(self._file))
        about: dict[object, object] = {}
        try:
            _configure(db)
            about.update(db.execute("SELECT key, value FROM about"))
        except (*_DAMAGE_ERRORS, *_FOREIGN_VALUE_ERRORS):
            pass
        except BaseException:
            db.close()
            raise
        # Tables filled by another version or with other settings answer until new ones are filled.
        usable = about.get("vectors") == VECTORS_VERSION
        version = _tables_version(about.get("fingerprint"))
        if version == str(EXTENDED_VERSION):
            usable = usable and _add_missing_tables(db, about.get("generation"))
        else:
            usable = usable and version == str(NOTES_VERSION)
        # The file may have been replaced between the check and the opening.
        if usable and inode == _inode(self._file):
            return db, inode, about
        db.close()
        return None

    def _make_rebuild_lock(self) -> "BaseFileLock":
        from filelock import FileLock

        return FileLock(self._lock_file("rebuild"), timeout=0, thread_local=False)

    def _lock_creation(self) -> AbstractContextManager[object]:
        from filelock import FileLock

        return FileLock(self._lock_file("index"), timeout=BUSY_TIMEOUT_MS / 1000)

    def _lock_file(self, name: str) -> Path:
        """Return the path of one of this file's locks; index.db keeps the names that earlier versions use."""
        locks = self._file.parent / "locks"
        make_private_folder(locks)
        return locks / (f"{name}.lock" if self._file.stem == "index" else f"{self._file.stem}-{name}.lock")

    def _create(self, *, only_if_broken: bool) -> apsw.Connection:
        with self._lock_creation():
            new = Path(f"{self._file}.new")
            if not self._file.exists() and _is_finished(new):
                # Its process died before it replaced the index; its vectors are stored nowhere else.
                self._replace_file(new)
            if only_if_broken:
                opened = self._open_existing()
                if opened is None and self._recreate_notes():
                    opened = self._open_existing()
                if opened:
                    return self._adopt_connection(*opened)
            _unlink_database(new)
            try:
                self._build(new)
                _sync_folder(new.parent)
            except BaseException:
                _unlink_database(new)  # on a full disk it would block every later attempt
                raise
            self._replace_file(new)
            opened = self._open_existing()
            if opened is None:
                raise IndexUnavailable("the index was replaced while it was being created")
            return self._adopt_connection(*opened)

    def _replace_file(self, new: Path) -> None:
        # A leftover journal would be replayed into the new file.
        _unlink_database(self._file)
        new.replace(self._file)

    def _build(self, new: Path) -> None:
        # Private to the user, as state.db; SQLite gives its -wal and -shm files the same permissions.
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        db = apsw.Connection(str(new))
        try:
            _configure(db)
            db.execute("PRAGMA journal_mode = WAL")
            with _transaction(db, "BEGIN IMMEDIATE"):
                create_common(db)
                tx = FileTransaction(db, {})
                tx.put("vectors", VECTORS_VERSION)
                tx.put("clock", 1)
                self._begin_notes(tx)
            rescue_vectors(db, self._file)
            with _transaction(db, "BEGIN IMMEDIATE"):
                # From here on the file is complete, and any process may move it into place.
                FileTransaction(db, {}).put("finished", 1)
        finally:
            db.close()

    def _recreate_notes(self) -> bool:
        """Keep the file and its vectors, and create empty tables for notes; return False if that fails."""
        if not self._file.exists():
            return False
        db = apsw.Connection(str(self._file))
        try:
            _configure(db)
            with _transaction(db, "BEGIN IMMEDIATE"):
                tx = FileTransaction(db, dict(db.execute("SELECT key, value FROM about")))
                if tx.about.get("vectors") != VECTORS_VERSION:
                    return False
                tx.add("clock", 1)
                for generation in GENERATIONS:
                    SqliteTables(db, generation).drop()
                db.execute("DELETE FROM about WHERE key IN ('shadow', 'last_indexed_at')")
                db.execute("UPDATE texts SET uses = 0, unused_since = ? WHERE uses > 0", (tx.clock,))
                self._begin_notes(tx)
            return True
        except (*_DAMAGE_ERRORS, *_FOREIGN_VALUE_ERRORS):
            return False
        finally:
            db.close()

    def _begin_notes(self, tx: FileTransaction) -> None:
        SqliteTables(tx.db, GENERATIONS[0]).create()
        tx.put("generation", GENERATIONS[0])
        tx.put("fingerprint", self._fingerprint)
        tx.put("identity", os.urandom(8).hex())


def _tables_version(fingerprint: object) -> str:
    return str(fingerprint).partition("/")[0]


def _add_missing_tables(db: apsw.Connection, generation: object) -> bool:
    """Add the tables that the earlier version of an index did not have, empty; return whether it has them.

    They are emptied if that version took this file over from a later one, since it left rows of other notes in them.
    """
    if generation not in GENERATIONS:
        return False
    tables = SqliteTables(db, str(generation))
    try:
        if not _are_links_empty(tables):
            with _transaction(db, "BEGIN IMMEDIATE"):
                if not _are_links_empty(tables):
                    tables.create_links()
    except (*_DAMAGE_ERRORS, *_FOREIGN_VALUE_ERRORS):
        return False
    return True


def _are_links_empty(tables: SqliteTables) -> bool:
    """Return whether the tables of names and links are there, without rows."""
    both = "SELECT count(*) = 2 FROM sqlite_schema WHERE name IN ('names@', 'links@')"
    return bool(tables.count(both)) and not tables.count(
        "SELECT EXISTS (SELECT 1 FROM names@) OR EXISTS (SELECT 1 FROM links@)"
    )


def _configure(db: apsw.Connection) -> None:
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    limit_cache(db)
    # After a power cut the last transaction may be missing; the next sync repeats it.
    db.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (*_DAMAGE_ERRORS, UnexpectedType) as error:
        raise IndexCorrupted("the index is damaged ({error})", error=error) from error
    except OSError as error:
        raise IndexUnavailable("the index cannot be used ({error})", error=reason(error)) from error
    except NotImplementedError as error:
        raise IndexUnavailable("the index cannot be used (its file system has no locks)") from error
    except apsw.Error as error:
        raise IndexUnavailable("the index cannot be used ({error})", error=error) from error


@contextlib.contextmanager
def _transaction(db: apsw.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    with _commit_or_roll_back(db):
        yield


@contextlib.contextmanager
def _commit_or_roll_back(db: apsw.Connection) -> Iterator[None]:
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        _roll_back(db)
        raise


def _roll_back(db: apsw.Connection) -> None:
    with contextlib.suppress(apsw.Error):
        db.execute("ROLLBACK")


def _is_finished(new: Path) -> bool:
    """Return whether a new file beside the index is complete."""
    if not new.exists():
        return False
    db = apsw.Connection(str(new))
    try:
        return db.execute("SELECT 1 FROM about WHERE key = 'finished'").fetchone() is not None
    except (*_DAMAGE_ERRORS, *_FOREIGN_VALUE_ERRORS):
        return False
    finally:
        db.close()


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_folder(fd)
    finally:
        os.close(fd)


def _unlink_database(file: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def _inode(file: Path) -> _InodeKey:
    try:
        found = os.stat(file)  # noqa: PTH116 - asked before every search
    except FileNotFoundError:
        return (0, 0)
    return found.st_dev, found.st_ino
