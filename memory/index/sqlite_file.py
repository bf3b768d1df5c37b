"""The index's file: opened, begun anew or replaced as it takes, and read or written in transactions."""

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
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index import full_text
from memory.index.sqlite_rescue import rescue_vectors
from memory.index.sqlite_schema import (
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

if TYPE_CHECKING:
    from filelock import BaseFileLock

BUSY_TIMEOUT_MS = 10_000
_TRIES = 5
# What tells of the file itself: no fault of the disk or of the system, which may be over in a moment.
_DAMAGE_ERRORS = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.FormatError,
    apsw.ConstraintError,
    # So apsw says that it cannot ask for FTS5, which every statement fails at that cannot read the tables' names.
    apsw.NoFTS5Error,
)
# A file may be damaged and still be a database, with something else where a number or a text should be.
_FOREIGN_VALUE_ERRORS = (TypeError, UnicodeDecodeError, OverflowError)
_InodeKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileTransaction:
    """One transaction, and what the file says of itself in it."""

    db: apsw.Connection
    about: dict[str, object]
    """identity, fingerprint, and the numbers and names below; `shadow` while a second generation is made."""

    @property
    def generation(self) -> str:
        """The one that is the index."""
        return check_text(self.about.get("generation"))

    @property
    def other_generation(self) -> str:
        """The one that a shadow is made in."""
        return GENERATIONS[1 - GENERATIONS.index(self.generation)]

    @property
    def clock(self) -> int:
        """Rises with each write."""
        return check_integer(self.about.get("clock"))

    def count(self, key: str) -> int:
        """A number; 0 where there is none yet."""
        return check_integer(self.about.get(key, 0))

    def put(self, key: str, value: SqlValue) -> None:
        """Say something else of the file."""
        self.about[key] = value
        self.db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    def add(self, key: str, more: int) -> None:
        """Raise a number."""
        if more:
            self.put(key, self.count(key) + more)

    def count_note_change(self) -> None:
        """Count a change of the notes, which is what `Index.version` is about."""
        self.add("changes", 1)
        self.put("last_indexed_at", datetime.now(UTC).isoformat(timespec="seconds"))

    def drop_shadow(self) -> None:
        """Remove the tables beside the index's own."""
        SqliteTables(self.db, self.other_generation).drop()
        self.about.pop("shadow", None)
        self.db.execute("DELETE FROM about WHERE key = 'shadow'")


class IndexFile:
    """One SQLite file. It notices when the file was deleted, replaced, damaged or begun anew under it."""

    def __init__(self, file: Path, *, fingerprint: str) -> None:
        """Open nothing yet; see `SqliteIndex` for the fingerprint."""
        self._file = file
        self._fingerprint = f"{NOTES_VERSION}/{fingerprint}"
        self._db: apsw.Connection | None = None
        self._inode = (0, 0)
        self._named = ""
        self._shm = (0, 0)
        self.openings = 0
        """How often it was opened: what was remembered before is not to be relied on after."""

    @property
    def identity(self) -> str:
        """Of what was last read or written: another one once the index was begun anew."""
        # Not the inode alone: its number is soon given to another file.
        return f"{self._inode}{self._named}"

    @contextlib.contextmanager
    def reading(self) -> Iterator[FileTransaction]:
        """Look at one state of the file, whatever others write meanwhile."""
        with _translate_errors(), self._close_on_fault():
            moment = self._begin("BEGIN")
            try:
                with _commit_or_roll_back(moment.db):
                    yield moment
            except _FOREIGN_VALUE_ERRORS as error:
                raise IndexCorrupted(f"the index is damaged ({error})") from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[FileTransaction]:
        """Change the file: all or nothing."""
        with _translate_errors(), self._close_on_fault():
            # Deferred, a transaction that first reads would fail at once beside another writer.
            moment = self._begin("BEGIN IMMEDIATE")
            with _commit_or_roll_back(moment.db):
                moment.add("clock", 1)
                yield moment

    def lock_rebuild(self) -> "BaseFileLock":
        """Hold the lock of whoever makes a shadow; the system lets go of it where its process dies.

        Raises IndexUnavailable where another one holds it.
        """
        from filelock import Timeout

        with _translate_errors():
            lock = self._make_rebuild_lock()
            try:
                lock.acquire()
            except Timeout:
                raise IndexUnavailable("another process is rebuilding the index") from None
            return lock

    def is_rebuilt(self, moment: FileTransaction) -> bool:
        """Return whether somebody is building the index anew; within `writing`, remove what a dead process has left."""
        if "shadow" not in moment.about:
            return False
        from filelock import Timeout

        try:
            with self._make_rebuild_lock():
                moment.drop_shadow()
        except Timeout:
            return True
        return False

    def reset(self) -> None:
        """Put an empty file in its place, with the vectors of the old one where they can be had."""
        self.close()
        with _translate_errors():
            self._create(only_if_broken=False)

    def vacuum(self) -> None:
        """Write the file anew, so that nothing is left in it of what was deleted; nor in its journal."""
        with _translate_errors():
            db = self._connection()
            db.execute("VACUUM")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy is None or busy[0]:
                raise IndexUnavailable("the index is in use by another program")

    def close(self) -> None:
        """Let go of the file; it is opened again where it is needed."""
        if self._db:
            # A file that was damaged under the connection may fail to close; it is let go all the same.
            with contextlib.suppress(apsw.Error):
                self._db.close()
            self._db = None
        self._shm = (0, 0)

    @contextlib.contextmanager
    def _close_on_fault(self) -> Iterator[None]:
        """Close the file after a fault of the disk: opened again, it may be well."""
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
            # Begun anew in the same file, by a program with other settings or of another version.
            _roll_back(db)
            self.close()
        raise IndexUnavailable("the index is being replaced again and again")

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
            full_text.register_functions(db)
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
        """Remove a shadow whose maker died; where it lives, or somebody writes, another opening will look."""
        db.set_busy_timeout(0)
        try:
            with (
                contextlib.suppress(apsw.Error, OSError, NotImplementedError),
                self._make_rebuild_lock(),
                _transaction(db, "BEGIN IMMEDIATE"),
            ):
                moment = FileTransaction(db, dict(db.execute("SELECT key, value FROM about")))
                if "shadow" in moment.about:
                    moment.add("clock", 1)
                    moment.drop_shadow()
        finally:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)

    def _remove_foreign_journal(self) -> None:
        """Remove the journal of the file that we had open, where another file was put in its place.

        SQLite would play it into that one. And a process that has both open, with the same shared memory,
        loses its locks on it when it closes one: the next process empties it under the other (SIGBUS).
        """
        if self._shm == (0, 0) or _inode(self._file) in {(0, 0), self._inode}:
            return
        with self._lock_creation():
            if self._shm == _inode(Path(f"{self._file}-shm")):
                for suffix in ("-wal", "-shm"):
                    Path(f"{self._file}{suffix}").unlink(missing_ok=True)

    def _open_existing(self) -> tuple[apsw.Connection, _InodeKey, dict[object, object]] | None:
        """A connection to the file as it is, its inode and what it says; None where it cannot be used as it is."""
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
        usable = about.get("fingerprint") == self._fingerprint and about.get("vectors") == VECTORS_VERSION
        # The file may have been replaced between our look at it and its opening.
        if usable and inode == _inode(self._file):
            return db, inode, about
        db.close()
        return None

    def _make_rebuild_lock(self) -> "BaseFileLock":
        from filelock import FileLock

        return FileLock(self._lock_folder() / "rebuild.lock", timeout=0, thread_local=False)

    def _lock_folder(self) -> Path:
        locks = self._file.parent / "locks"
        make_private_folder(locks)
        return locks

    def _lock_creation(self) -> AbstractContextManager[object]:
        from filelock import FileLock

        return FileLock(self._lock_folder() / "index.lock", timeout=BUSY_TIMEOUT_MS / 1000)

    def _create(self, *, only_if_broken: bool) -> apsw.Connection:
        with self._lock_creation():
            new = Path(f"{self._file}.new")
            if not self._file.exists() and _is_finished(new):
                # Who made it died before it could take its place, and the vectors are nowhere else.
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
                _unlink_database(new)  # on a full disk it would stand in the way of all others
                raise
            self._replace_file(new)
            opened = self._open_existing()
            if opened is None:
                raise IndexUnavailable("the index was replaced while it was begun")
            return self._adopt_connection(*opened)

    def _replace_file(self, new: Path) -> None:
        # A journal left behind would be played into the new file.
        _unlink_database(self._file)
        new.replace(self._file)

    def _build(self, new: Path) -> None:
        db = apsw.Connection(str(new))
        try:
            _configure(db)
            db.execute("PRAGMA journal_mode = WAL")
            with _transaction(db, "BEGIN IMMEDIATE"):
                create_common(db)
                moment = FileTransaction(db, {})
                moment.put("vectors", VECTORS_VERSION)
                moment.put("clock", 1)
                self._begin_notes(moment)
            rescue_vectors(db, self._file)
            with _transaction(db, "BEGIN IMMEDIATE"):
                # From here on it may take the index's place, whoever puts it there.
                FileTransaction(db, {}).put("finished", 1)
        finally:
            db.close()

    def _recreate_notes(self) -> bool:
        """Keep the file with its vectors, and begin empty tables of notes in it; False where that cannot be."""
        if not self._file.exists():
            return False
        db = apsw.Connection(str(self._file))
        try:
            _configure(db)
            with _transaction(db, "BEGIN IMMEDIATE"):
                moment = FileTransaction(db, dict(db.execute("SELECT key, value FROM about")))
                if moment.about.get("vectors") != VECTORS_VERSION:
                    return False
                moment.add("clock", 1)
                for generation in GENERATIONS:
                    SqliteTables(db, generation).drop()
                db.execute("DELETE FROM about WHERE key IN ('shadow', 'last_indexed_at')")
                db.execute("UPDATE texts SET uses = 0, unused_since = ? WHERE uses > 0", (moment.clock,))
                self._begin_notes(moment)
            return True
        except (*_DAMAGE_ERRORS, *_FOREIGN_VALUE_ERRORS):
            return False
        finally:
            db.close()

    def _begin_notes(self, moment: FileTransaction) -> None:
        SqliteTables(moment.db, GENERATIONS[0]).create()
        moment.put("generation", GENERATIONS[0])
        moment.put("fingerprint", self._fingerprint)
        moment.put("identity", os.urandom(8).hex())


def _configure(db: apsw.Connection) -> None:
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    # The index is derived: after a power cut it may miss the last transaction, which the next sync repeats.
    db.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (*_DAMAGE_ERRORS, UnexpectedType) as error:
        raise IndexCorrupted(f"the index is damaged ({error})") from error
    except OSError as error:
        raise IndexUnavailable(f"the index cannot be used ({reason(error)})") from error
    except NotImplementedError as error:
        raise IndexUnavailable("the index cannot be used (its file system has no locks)") from error
    except apsw.Error as error:
        raise IndexUnavailable(f"the index cannot be used ({error})") from error


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
    """Return whether a file that was begun beside the index is whole."""
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
