"""Opens, migrates and changes state.db; the modules beside this one hold its SQL."""

import asyncio
import logging
import os
import shutil
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import apsw

from bot.models.health import CallOutcome, Health
from bot.state import conversations, forgetting, migrations, model_history, models
from bot.state.conversations import Row
from bot.state.migrations import NewerFormat
from bot.state.model_history import ModelHour
from bot.state.models import DayUsage
from memory.deadline import Deadline
from memory.disk import make_private_folder
from memory.quantities import format_size
from memory.sqlite_cache import limit_cache
from memory.translatable import TranslatableError

log = logging.getLogger(__name__)

BUSY_TIMEOUT_MS = 10_000
FULL_BYTES = 65_536
"""With less free space than this, no transaction is possible."""
ROOM_BYTES = 262_144
"""Disk space that a long answer needs, with everything stored about it."""
MAX_CHANGES_PER_COMMIT = 500
"""Maximum number of changes that share a commit."""

Result = TypeVar("Result")


class StateFault(TranslatableError):
    """Base class of errors of state.db; the text names the file and says how to fix it."""


class StateBroken(StateFault):
    """The file is damaged, or is no database of ours; it is left as it is."""


class StateTooNew(StateFault):
    """A newer version of the program wrote the file, which is left as it is."""

    def __init__(self, file: Path | str, newer: NewerFormat) -> None:
        super().__init__(
            "{file} {description}: {fix}", file=file, description=newer.description, fix=newer.fix
        )
        self.newer = newer


class StateUnusable(StateFault):
    """The file cannot be opened or written: permissions, a full disk, another program's lock."""


class State:
    """The open database; an async context manager. Several processes may use it at the same time.

    One connection on a thread of its own: a slow disk or another process's lock never blocks the event loop, and a
    transaction is a plain function that a cancellation cannot interrupt. A call that is cancelled still completes
    before the cancellation goes on. Methods raise StateFault.
    """

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        is_ours: Callable[[], bool] = lambda: True,
        back_up: Callable[[], str] = lambda: "",
    ) -> None:
        """`is_ours` returns False once an instance on another machine may own the file; called before each commit.

        `back_up` is called before a file of an earlier version is upgraded, while nobody can change it. It returns the
        name of the archive, relative to the file's folder, or raises StateFault, which leaves the file as it is.
        """
        self._path = path
        self._back_up = back_up
        self._is_ours = is_ours
        self._now = now
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="state")
        self._db: apsw.Connection | None = None
        self._waiting: deque[_QueuedChange[Any]] = deque()
        self._on_append: list[Callable[[], None]] = []

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

    async def append(
        self,
        conversation: int | None,
        chat: str,
        entries: Sequence[tuple[str, str]],
        *,
        after: int,
        also: Callable[[apsw.Connection, tuple[Row, ...]], None] | None = None,
    ) -> tuple[Row, ...]:
        """Append (kind, payload) entries in one transaction; return all rows later than `after`.

        Without a conversation they go to the chat's open one, or start one. `after` is the last seq that the caller
        knows; entries that another process has added since come before the new ones. `also` runs in the same
        transaction and gets the rows.
        """

        def write(db: apsw.Connection) -> tuple[Row, ...]:
            rows = conversations.append(db, conversation, chat, entries, after=after, at=self.at())
            if also is not None:
                also(db, rows)
            return rows

        try:
            return await self.change(write)
        finally:  # it is stored even if this is being cancelled
            for call in self._on_append:
                call()

    def on_append(self, call: Callable[[], None]) -> None:
        """Call `call` whenever entries were added to a conversation by this object; it must not wait."""
        self._on_append.append(call)

    # -- models -------------------------------------------------------------------------------------------

    async def read_model_health(self) -> tuple[Health, ...]:
        """Return the health of every model with every key that was ever used."""
        return await self.read(models.read_health)

    async def record_outcomes(self, outcomes: Sequence[CallOutcome]) -> None:
        """Add calls to the models' health and hourly history, and their tokens to today's usage."""
        day = self._now().date().isoformat()

        def add(db: apsw.Connection) -> None:
            models.add_outcomes(db, outcomes, day=day)
            model_history.add_outcomes(db, outcomes)

        await self.change(add)

    async def reset_model_health(self, model: str) -> None:
        """Close the breakers of a model; of all models for ""."""
        await self.change(lambda db: models.reset_health(db, model))

    async def read_usage(self, first_day: str) -> tuple[DayUsage, ...]:
        """Return tokens by day and model since an ISO date, the latest day first."""
        return await self.read(lambda db: models.read_usage(db, first_day))

    async def model_history(self, *, since: float) -> tuple[ModelHour, ...]:
        """Return the hourly history of models since a time (seconds since 1970), the earliest hour first."""
        return await self.read(lambda db: model_history.read_hours(db, since=since))

    async def read_chosen_model(self, chat: str) -> str:
        """Return the model chosen for a chat; "" for none."""
        return await self.read(lambda db: models.read_choice(db, chat))

    async def choose_model(self, chat: str, model: str) -> None:
        """Choose a model for a chat; "" for none."""
        await self.change(lambda db: models.write_choice(db, chat, model))

    # -- everything else, by functions of the modules beside this one --------------------------------------------

    async def read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        """Run a function that changes nothing."""
        return await self._call(lambda: work(self._connection))

    async def change(self, work: Callable[[apsw.Connection], Result]) -> Result:
        """Run `work` in a transaction of its own; return its result once it is on disk.

        Concurrent changes share one commit, which costs as much for one as for a hundred.
        """
        change: _QueuedChange[Result] = _QueuedChange(work)
        self._waiting.append(change)
        await self._call(self._commit_waiting)
        with _translate_errors(self._path):
            return change.future.result()

    async def has_disk_space(self) -> bool:
        """Return whether the disk has room for a turn; leaves nothing behind."""

        def fill() -> None:
            db = self._connection
            db.execute("BEGIN IMMEDIATE")
            try:
                db.execute("CREATE TABLE room (bytes BLOB) STRICT")
                db.execute("INSERT INTO room VALUES (zeroblob(?))", (ROOM_BYTES,))
                db.cache_flush()  # otherwise nothing would reach the disk before a commit
            finally:
                if db.in_transaction:  # not dropped, since dropping fails while another row is being read
                    db.execute("ROLLBACK")

        try:
            await self._call(fill)  # in a transaction of its own, since smaller ones may still fit
        except StateFault:
            return False
        return True

    def at(self) -> str:
        """Return the current time as it is stored: ISO 8601 in UTC, which sorts as text."""
        return format_timestamp(self._now())

    # -- the connection -----------------------------------------------------------------------------------

    def _open(self) -> None:
        self._db = _connect(self._path)
        try:
            self._upgrade(self._db)
        except apsw.SQLError as error:  # a database of another program
            raise apsw.NotADBError(str(error)) from error
        self._redact_errors(self._db)

    def _upgrade(self, db: apsw.Connection) -> None:
        """Bring the file to the latest format, or change nothing: no version could open one upgraded in part."""
        latest = len(migrations.MIGRATIONS)
        if migrations.read_format(db) == latest:
            return
        try:
            with self._transaction(db):
                earlier = migrations.read_format(db)
                if earlier == latest:  # another process was faster
                    return
                backup = ""
                if earlier:
                    file = f"{self._path} ({format_size(self._path.stat().st_size)})"
                    log.info("upgrading %s from format %d to %d, after a backup", file, earlier, latest)
                    backup = self._back_up()
                migrations.upgrade(db, backup=backup)
        except apsw.BusyError as error:
            raise StateUnusable(
                "{path} has to be upgraded for this version, and another program has locked it, perhaps to upgrade "
                "it just now: wait a minute and try again.",
                path=self._path,
            ) from error
        if earlier:
            kept = f"; the earlier one is in {self._path.parent / backup}" if backup else ""
            log.info("upgraded %s from format %d to %d%s", self._path, earlier, latest, kept)

    def _redact_errors(self, db: apsw.Connection) -> None:
        """Remove secrets from stored error texts: earlier versions knew only the model's own key."""
        if models.read_errors_with_secrets(db):
            with self._transaction(db):
                models.redact_errors(db)
            try:
                forgetting.vacuum(db)
            except (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.CantOpenError) as error:
                # The texts are clean; older copies in free pages are no reason not to start.
                log.warning("could not vacuum %s: %s", self._path, error)

    async def _close(self) -> None:
        def close() -> None:
            if self._db is not None:
                self._db.close()
                self._db = None

        try:
            await self._call(close)
        finally:
            self._worker.shutdown()

    @property
    def _connection(self) -> apsw.Connection:
        if self._db is None:
            raise RuntimeError("state.db is not open")
        return self._db

    def _commit_waiting(self) -> None:
        batch: list[_QueuedChange[Any]] = []
        while self._waiting and len(batch) < MAX_CHANGES_PER_COMMIT:
            batch.append(self._waiting.popleft())
        if not batch:
            return  # an earlier call has run ours as well
        try:
            db = self._connection
            with self._transaction(db):
                for change in batch:
                    change.run(db)
        except Exception as error:  # noqa: BLE001 - every waiting caller gets the error
            for change in batch:
                change.fail(error)
        for change in batch:
            change.settle()

    @contextmanager
    def _transaction(self, db: apsw.Connection) -> Iterator[None]:
        """Commit the body's changes, or none: not to a file that a newer version or another instance has now."""
        with _transaction(db):
            _refuse_newer(db, self._path)  # upgraded since it was opened
            yield
            if not self._is_ours():
                raise StateUnusable("{path} is another instance's now: nothing was changed.", path=self._path)

    async def _call(self, work: Callable[[], Result]) -> Result:
        """Run `work` on the database's thread, to its end even if it is cancelled meanwhile."""

        def guarded() -> Result:
            with _translate_errors(self._path):
                return work()

        run = copy_context().run  # what `work` says is in the caller's language
        return await run_to_completion(asyncio.get_running_loop().run_in_executor(self._worker, run, guarded))


async def run_to_completion(work: Awaitable[Result]) -> Result:
    """Await something short that must not be left half done; a cancellation is raised after it."""
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
        log.error("%s (during a cancellation)", fault)
    raise cancelled


class _QueuedChange(Generic[Result]):
    """A change that waits for its transaction, and its result."""

    def __init__(self, work: Callable[[apsw.Connection], Result]) -> None:
        self.future: Future[Result] = Future()
        self._work = work
        self._context = copy_context()
        """The caller's, since another caller's call may run this."""
        self._result: Result
        self._error: Exception | None = None

    def run(self, db: apsw.Connection) -> None:
        """Run it inside a shared transaction; if it fails, only this change is undone."""
        db.execute("SAVEPOINT one")
        try:
            self._result = self._context.run(self._work, db)
        except Exception as error:
            if not db.in_transaction:  # with a full disk, SQLite has rolled everything back
                raise
            self._error = error
            db.execute("ROLLBACK TO one")
        db.execute("RELEASE one")

    def fail(self, error: Exception) -> None:
        """Store the error of the whole transaction, unless it has one of its own."""
        self._error = self._error or error

    def settle(self) -> None:
        """Pass the result or error to the caller."""
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._result)


def format_timestamp(moment: datetime) -> str:
    """Return a time as it is stored: ISO 8601 in UTC with milliseconds, which sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def _connect(path: Path) -> apsw.Connection:
    make_private_folder(path.parent)
    # Private to the user; SQLite gives its -wal and -shm files the same permissions.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        limit_cache(db)
        _refuse_newer(db, path)  # before anything is written
        _use_wal(db)
        db.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits in a power failure
        db.execute("PRAGMA foreign_keys = ON")
        # Overwrite changed and deleted text.
        db.execute("PRAGMA secure_delete = ON").fetchall()
    except BaseException:
        db.close()
        raise
    return db


def _refuse_newer(db: apsw.Connection, path: Path) -> None:
    if newer := migrations.read_newer(db, path.parent):
        raise StateTooNew(path, newer)


def _use_wal(db: apsw.Connection) -> None:
    """Set the journal mode; the busy timeout does not cover that if two processes create the file at once."""
    deadline = Deadline.after(BUSY_TIMEOUT_MS / 1000)
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if deadline.has_passed:
                raise
            time.sleep(0.005)
        else:
            return


@contextmanager
def _transaction(db: apsw.Connection) -> Iterator[None]:
    """Commit the body's changes, or none of them.

    apsw's own `with db:` holds the GIL while it waits for a lock or for the disk, and reports a full disk as "cannot
    rollback", since SQLite has then rolled back by itself.
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
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the system into a StateFault with one line that says how to fix it."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StateBroken(
            "{path} is damaged ({error}): restore it from a backup, or move it away to begin "
            "without earlier conversations. Your notes are not affected.",
            path=path,
            error=error,
        ) from error
    except apsw.FullError as error:
        raise StateUnusable(
            "{path} could not be written, the disk is full: free some space.", path=path
        ) from error
    except apsw.BusyError as error:
        raise StateUnusable(
            "{path} is locked by another program: close it and try again.", path=path
        ) from error
    except (apsw.CantOpenError, apsw.IOError) as error:
        if _is_disk_full(path):  # SQLite reports that for some of its files only
            raise StateUnusable(
                "{path} could not be written, the disk is full: free some space.", path=path
            ) from error
        raise StateUnusable(
            "{path} cannot be used ({error}): check the folder and its permissions.", path=path, error=error
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StateUnusable(
            "{path} cannot be used ({error}): check the folder and its permissions.",
            path=path,
            error=reason,
        ) from error


def _is_disk_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < FULL_BYTES
    except OSError:
        return False
