"""state.db: what the assistant must not forget between two runs. Its SQL is here and in state_models.py."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import apsw

from bot import state_models
from bot.models.health import Health, Outcome
from bot.state_models import DayUsage

log = logging.getLogger(__name__)

BUSY_TIMEOUT_MS = 10_000

Result = TypeVar("Result")


class StateFault(Exception):
    """Base of what can go wrong with state.db; every text names the file and the mend."""


class StateBroken(StateFault):
    """The file is damaged, or is not a database of ours; it is left as it is."""


class StateTooNew(StateFault):
    """A newer version of the program wrote the file."""


class StateUnusable(StateFault):
    """The file cannot be opened or written now: permission, full disk, another program's lock."""


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a conversation as it is stored; `seq` counts from 1 within its conversation."""

    conversation: int
    seq: int
    kind: str
    payload: str
    """JSON."""


class State:
    """The open database; an async context manager. Safe beside other processes.

    One connection on one thread of its own: a write to a slow disk, or a wait for another process, holds up
    nobody else, and each transaction is a plain function that nothing can cut in two. A call that is
    cancelled while it waits is carried out all the same, before the cancellation goes on.
    """

    def __init__(self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._now = now
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="state")
        self._db: apsw.Connection | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._call(self._open)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    # -- conversations ------------------------------------------------------------------------------------

    async def open_conversation(self, chat: str) -> int | None:
        """Give the number of the chat's open conversation, if it has one."""
        return await self._call(lambda: _open_conversation(self._connection, chat))

    async def entries(self, conversation: int, *, after: int = 0) -> tuple[Row, ...]:
        """Read the entries of a conversation whose seq is greater than `after`, in order."""
        return await self._call(lambda: _entries(self._connection, conversation, after))

    async def append(
        self, conversation: int | None, chat: str, entries: Sequence[tuple[str, str]], *, after: int
    ) -> tuple[Row, ...]:
        """Add (kind, payload) entries in one transaction; once on disk, give all rows later than `after`.

        Without a conversation they go to the chat's open one, or begin one. `after` is the last seq that the
        caller knows; what another process has added since then comes before the caller's own.
        """

        def write() -> tuple[Row, ...]:
            db, at = self._connection, self._at()
            with _transaction(db):
                number = _open_conversation(db, chat) if conversation is None else conversation
                if number is None:
                    db.execute("INSERT INTO conversations (chat, started_at) VALUES (?, ?)", (chat, at))
                    number = db.last_insert_rowid()
                missed = _entries(db, number, after)
                first = missed[-1].seq + 1 if missed else after + 1
                rows = tuple(Row(number, seq, *entry) for seq, entry in enumerate(entries, first))
                db.executemany(
                    "INSERT INTO entries (conversation, seq, kind, payload, at) VALUES (?, ?, ?, ?, ?)",
                    [(row.conversation, row.seq, row.kind, row.payload, at) for row in rows],
                )
            return missed + rows

        return await self._call(write)

    async def end_conversation(self, chat: str) -> bool:
        """Close the chat's open conversation; tell whether there was one. Its entries stay."""

        def write() -> bool:
            db = self._connection
            with _transaction(db):
                db.execute(
                    "UPDATE conversations SET ended_at = ? WHERE chat = ? AND ended_at IS NULL",
                    (self._at(), chat),
                )
            return db.changes() > 0

        return await self._call(write)

    # -- models -------------------------------------------------------------------------------------------

    async def model_health(self) -> tuple[Health, ...]:
        """How every model fares with every key that was ever asked."""
        return await self._call(lambda: state_models.read_health(self._connection))

    async def record_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Add calls of models to what is known, and their tokens to those of today."""
        day = self._now().date().isoformat()
        await self._change(lambda db: state_models.add_outcomes(db, outcomes, day=day))

    async def reset_model_health(self, model: str) -> None:
        """Close the breakers of a model, or of all where it is ""."""
        await self._change(lambda db: state_models.reset_health(db, model))

    async def usage_since(self, first_day: str) -> tuple[DayUsage, ...]:
        """Tokens by day and model from an ISO date on, the latest first."""
        return await self._call(lambda: state_models.read_usage(self._connection, first_day))

    async def chosen_model(self, chat: str) -> str:
        """Give the model that a chat has chosen; "" for none."""
        return await self._call(lambda: state_models.read_choice(self._connection, chat))

    async def choose_model(self, chat: str, model: str) -> None:
        """Choose a model for a chat; "" for none."""
        await self._change(lambda db: state_models.write_choice(db, chat, model))

    # -- the connection -----------------------------------------------------------------------------------

    def _open(self) -> None:
        self._db = _connect(self._path)
        try:
            _migrate(self._db, self._path)
        except apsw.SQLError as error:  # a database, but not one of ours
            raise apsw.NotADBError(str(error)) from error

    async def _close(self) -> None:
        def close() -> None:
            if self._db is not None:
                self._db.close()
                self._db = None

        try:
            await self._call(close)
        finally:
            self._worker.shutdown(wait=False)

    @property
    def _connection(self) -> apsw.Connection:
        if self._db is None:
            raise RuntimeError("state.db is not open")
        return self._db

    def _at(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="milliseconds")

    async def _change(self, work: Callable[[apsw.Connection], None]) -> None:
        """Run `work` in a transaction of its own."""

        def write() -> None:
            with _transaction(self._connection):
                work(self._connection)

        await self._call(write)

    async def _call(self, work: Callable[[], Result]) -> Result:
        """Run `work` on the database's thread, to its end even when cancelled meanwhile."""

        def guarded() -> Result:
            with _plain_faults(self._path):
                return work()

        return await to_the_end(asyncio.get_running_loop().run_in_executor(self._worker, guarded))


async def to_the_end(work: Awaitable[Result]) -> Result:
    """Await something short that must not be left half done; a cancellation goes on when it is done."""
    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return future.result()
    if not future.cancelled() and (fault := future.exception()) is not None:
        log.error("%s (while being cancelled)", fault)
    raise cancelled


def _open_conversation(db: apsw.Connection, chat: str) -> int | None:
    number: int | None = db.execute(
        "SELECT id FROM conversations WHERE chat = ? AND ended_at IS NULL", (chat,)
    ).get
    return number


def _entries(db: apsw.Connection, conversation: int, after: int) -> tuple[Row, ...]:
    rows = db.execute(
        "SELECT conversation, seq, kind, payload FROM entries "
        "WHERE conversation = ? AND seq > ? ORDER BY seq",
        (conversation, after),
    )
    return tuple(Row(*row) for row in rows)


def _connect(path: Path) -> apsw.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Conversations are nobody else's business; SQLite gives its -wal and -shm files the same permissions.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        _use_wal(db)
        db.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits when the power goes
        db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: apsw.Connection) -> None:
    """Set the journal mode, which the busy timeout does not cover: two processes may create the file at once."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


@contextmanager
def _transaction(db: apsw.Connection) -> Iterator[None]:
    """Commit what is done inside, or leave nothing of it.

    Not apsw's own `with db:`. That one keeps all of Python waiting (it holds the GIL) while it waits for a lock
    or for the disk, and hides a full disk behind "cannot rollback": SQLite has rolled back by itself then.
    """
    db.execute("BEGIN IMMEDIATE")  # a deferred one that reads first fails at once beside another writer
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def _plain_faults(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into one line with the mend in it."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StateBroken(
            f"{path} is damaged ({error}): restore it from a backup, or move it away to begin without "
            "earlier conversations. Your notes are not affected."
        ) from error
    except apsw.FullError as error:
        raise StateUnusable(f"{path} could not be written, the disk is full: free some space.") from error
    except apsw.BusyError as error:
        raise StateUnusable(f"{path} is locked by another program: close it and try again.") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.IOError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StateUnusable(
            f"{path} cannot be used ({reason}): check the folder and its permissions."
        ) from error


# -- migrations: numbered by their place in the list; never change one that was released ---------------------


def m001_conversations(db: apsw.Connection) -> None:
    """Conversations and what was said in them, for ever; a chat has one open conversation at most."""
    db.execute(
        """
        CREATE TABLE conversations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            chat TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT
        ) STRICT;
        CREATE UNIQUE INDEX open_conversation ON conversations (chat) WHERE ended_at IS NULL;
        CREATE TABLE entries (
            conversation INTEGER NOT NULL REFERENCES conversations (id),
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            payload TEXT NOT NULL,
            at TEXT NOT NULL,
            PRIMARY KEY (conversation, seq)
        ) STRICT;
        """
    )


MIGRATIONS = (m001_conversations, state_models.m002_models)


def _migrate(db: apsw.Connection, path: Path) -> None:
    while (version := _version(db, path)) < len(MIGRATIONS):
        with _transaction(db):
            if _version(db, path) == version:  # another process may have been quicker
                MIGRATIONS[version](db)
                db.execute(f"PRAGMA user_version = {version + 1}")


def _version(db: apsw.Connection, path: Path) -> int:
    version: int = db.execute("PRAGMA user_version").get
    if version > len(MIGRATIONS):
        raise StateTooNew(
            f"{path} was written by a newer version of Commonplace (format {version}, this one knows "
            f"{len(MIGRATIONS)}): update Commonplace, or use another workspace."
        )
    return version
