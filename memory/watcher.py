"""Watch a folder of notes for changes: by file system events, and by polling where there are none."""

import asyncio
import errno
import logging
import os
import stat
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from memory.disk import reason
from memory.file_systems import find_eventless_mount, read_mounts
from memory.paths import find_name_fault, format_path, is_note_name
from memory.translatable import Translatable

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

log = logging.getLogger(__name__)

MANY_EVENTS = 4096
"""After this many events between two reads, the system's queue may have overflowed."""

POLL_SHARE = 0.01
"""Maximum share of one core spent on polling."""

POLL_SHARE_OF_TIME = 0.2
"""Maximum share of time spent on polling if the file system is slow."""

_ADDED, _DELETED = 1, 3

_Result = TypeVar("_Result")
_Identity = tuple[int, int]
ExcludesFolder = Callable[[str], bool]
_Mode = Literal["off", "waiting", "events", "polling"]


@dataclass(frozen=True, slots=True)
class WatchState:
    """The state of the watcher."""

    alive: bool
    """True while somebody receives changes."""
    mode: _Mode
    """The state of the watch.

    `waiting`: the folder is missing or unreadable, or watching has only begun. `polling`: the notes are
    scanned regularly.
    """
    reason: str
    """Why it is waiting or polling, in one line; empty otherwise."""
    last_event_at: str
    """ISO 8601 in UTC, like the next ones; empty before the first event."""
    last_restart_at: str
    """When watching last began: at the start, or after the folder was replaced or its subfolders changed."""
    last_look_at: str
    """When all notes were last scanned for changes without events."""
    error: str
    """The last unexpected error, in one line."""


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """Intervals in seconds."""

    events: float = 0.2
    """Between two reads of events; this only costs the wake-up."""
    root: float = 5.0
    """Between checks whether the folder exists and is still the same."""
    settle: float = 1.0
    """Until another scan after folders came or went; also the maximum delay of an event."""
    audit: float = 60.0
    """Between scans for changes without events."""
    poll: float = 2.0
    """Between scans where there are no events."""
    retry: float = 300.0
    """Until events are tried again if they were unavailable."""
    longest: float = 5.0
    """Maximum delay of a change to a note that is written to continuously."""


@dataclass(frozen=True, slots=True)
class _Scan:
    """The result of one scan."""

    root: str = ""
    """The folder's path without links."""
    folders: dict[str, _Identity] = field(default_factory=dict)
    """The root itself is ""; it is missing if the folder is."""
    notes: int = 0
    """A number that differs if any note does."""
    fault: str = ""
    """Why the root cannot be read, in one line."""
    rest: float = 0.0
    """Minimum seconds until the next scan, from the cost of this one."""

    @property
    def readable(self) -> bool:
        return "" in self.folders and not self.fault

    @property
    def to_watch(self) -> tuple[str, dict[str, _Identity], str]:
        """What is watched; if it changes, watching begins again."""
        return self.root, self.folders, self.fault


class _StopAfterFirst:
    """A stop event that makes `RustNotify.watch` return what it has without waiting.

    It is checked in each round, and three rounds are needed.
    """

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > 3


class Watcher:
    """Tells when the notes in a folder may have changed, for as long as somebody listens.

    Events are only hints: many get lost, and some file systems send none. So folders are watched one by one,
    a scan follows when folders come or go, and an occasional scan finds changes without events. Where the
    system has no events, the notes are scanned every few seconds, and `state` says so.
    """

    def __init__(
        self,
        folder: Path,
        *,
        debounce_seconds: float,
        excludes: ExcludesFolder = lambda below: False,
        times: WatchTimes | None = None,
    ) -> None:
        """Store the settings. A change is reported after `debounce_seconds` without another one.

        `excludes` returns whether a folder at a path below `folder` is not to be watched.
        """
        self._folder = folder
        self._excludes = excludes
        self._times = times or WatchTimes()
        self._debounce = debounce_seconds
        self._longest = max(self._times.longest, 2 * debounce_seconds)
        self._alive = False
        self._error = self._last_event_at = self._last_restart_at = self._last_look_at = ""
        self._logged_mode: tuple[_Mode, str] = ("off", "")
        self._events: RustNotify | None = None
        self._reset()

    def _reset(self) -> None:
        """Forget everything, as if nothing was watched before; the next step reports that anything may have changed."""
        self._close_events()
        self._seen = _Scan()
        self._no_events = self._eventless = ""
        self._rewatch = True
        self._retry_at = self._scanned_at = float("-inf")
        self._scan_at = self._check_root_at = self._first_change = self._last_change = float("-inf")

    @property
    def state(self) -> WatchState:
        """The current state."""
        mode, why = self._mode()
        error = self._error or self._seen.fault
        times = (self._last_event_at, self._last_restart_at, self._last_look_at)
        return WatchState(self._alive, mode, why, *times, error)

    async def changes(self) -> AsyncGenerator[None, None]:
        """Yield when notes may have changed, once for each burst; first at once, for what changed before.

        Ends only when its task is cancelled or it is closed (`aclosing`). Changes that happen while one is
        processed cause the next.
        """
        self._reset()
        self._alive, self._error = True, ""
        thread = ThreadPoolExecutor(1, "memory-watch")
        try:
            while True:
                try:
                    await self._step(thread)
                except Exception as error:
                    # Watching must go on after any error; the next scan starts from nothing.
                    log.exception("Watching %s failed; trying again in %g s", self._folder, self._times.root)
                    self._error = format_path(f"{type(error).__name__}: {error}")
                    self._reset()
                    await asyncio.sleep(self._times.root)
                if time.monotonic() >= self._due:
                    self._first_change = self._last_change = float("inf")
                    yield
                await asyncio.sleep(self._pause())
        finally:
            self._alive = False
            self._close_events()
            thread.shutdown(wait=False)

    @property
    def _due(self) -> float:
        """The monotonic time to report changes; infinite if there are none."""
        return min(self._last_change + self._debounce, self._first_change + self._longest)

    def _mode(self) -> tuple[_Mode, str]:
        if not self._alive:
            return "off", ""
        if not self._seen.readable:
            return "waiting", self._seen.fault or Translatable("the folder does not exist")
        if self._events is None:
            return (
                ("polling", self._no_events)
                if self._no_events
                else ("waiting", Translatable("it is being set up"))
            )
        if self._eventless:
            return "polling", Translatable(
                "the notes lie on {kind}, which does not report changes by others", kind=self._eventless
            )
        return "events", ""

    def _pause(self) -> float:
        now = time.monotonic()
        next_read = now + self._times.events if self._events is not None else float("inf")
        return max(min(self._due, self._scan_at, self._check_root_at, next_read) - now, 0.01)

    async def _step(self, thread: ThreadPoolExecutor) -> None:
        self._read_events()
        now = time.monotonic()
        if now >= self._check_root_at:
            self._check_root_at = now + self._times.root
            if await _run(thread, lambda: _identity(self._folder)) != self._seen.folders.get(""):
                self._scan_soon()
        if now >= self._scan_at:
            await self._scan(thread)
        self._log_mode()

    def _read_events(self) -> None:
        """Read and sort the events since the last time."""
        if self._events is None:
            return
        try:
            told = self._events.watch(0, 0, 0, _StopAfterFirst())
        except RuntimeError as error:  # such as a name that is not UTF-8; it would be raised forever
            self._close_events()
            self._error = self._no_events = format_path(str(error))
            self._scan_soon()
            return
        if told == "signal":
            raise KeyboardInterrupt
        if isinstance(told, str):
            return
        if len(told) >= MANY_EVENTS:
            self._scan_soon()
        for kind, path in told:
            self._handle_event(kind, path)

    def _handle_event(self, kind: int, path: str) -> None:
        name = path[len(self._seen.root) + 1 :]
        if name.startswith(".") or "/." in name:
            return
        if name in self._seen.folders:
            if kind in {_ADDED, _DELETED}:  # or moved
                self._scan_soon()
        elif kind != _DELETED and stat.S_ISDIR(_file_mode(path)):
            self._scan_soon()
        elif is_note_name(name):
            self._note_change()

    def _note_change(self) -> None:
        self._last_change = time.monotonic()
        self._first_change = min(self._first_change, self._last_change)
        self._last_event_at = _format_now()

    def _scan_soon(self) -> None:
        """Scan as soon as the minimum interval allows, and watch again: anything may have changed.

        Even a folder with the same name and inode number may be another one, which is not watched yet.
        """
        self._note_change()
        self._rewatch = True
        self._scan_at = min(self._scan_at, max(time.monotonic(), self._scanned_at + self._settle_seconds()))

    async def _scan(self, thread: ThreadPoolExecutor) -> None:
        """Scan the notes; report what changed, and watch again if folders came or went."""
        before, self._seen = (
            self._seen,
            await _run(thread, lambda: _scan_folder(self._folder, self._excludes)),
        )
        self._scanned_at, self._last_look_at = time.monotonic(), _format_now()
        stirred = before.to_watch != self._seen.to_watch
        if stirred or before.notes != self._seen.notes:
            self._note_change()
        anew = stirred or self._rewatch or (self._events is None and self._scanned_at >= self._retry_at)
        if anew:
            await self._open_events(thread)
        self._scan_at = time.monotonic() + self._seconds_until_scan(settling=anew)

    def _settle_seconds(self) -> float:
        return max(self._times.settle, self._seen.rest / 10)

    def _seconds_until_scan(self, *, settling: bool) -> float:
        if "" not in self._seen.folders:
            return float("inf")
        if self._seen.fault:
            return self._times.root
        if settling:
            return self._settle_seconds()
        polling = self._mode()[0] == "polling"
        return max(self._times.poll if polling else self._times.audit, self._seen.rest)

    async def _open_events(self, thread: ThreadPoolExecutor) -> None:
        """Watch every folder of the last scan, and no other."""
        self._close_events()
        self._rewatch = False
        if not self._seen.readable:
            return
        seen, self._last_restart_at = self._seen, _format_now()
        self._retry_at = time.monotonic() + self._times.retry
        self._eventless = await _run(thread, lambda: find_eventless_mount(read_mounts(), seen.root))
        paths = [f"{seen.root}/{name}" if name else seen.root for name in seen.folders]
        try:
            self._events = await _run(thread, lambda: _open_watch(paths))
        except FileNotFoundError:  # a folder was deleted meanwhile; the next scan shows that
            self._no_events, self._rewatch = Translatable("folders come and go"), True
        except (ImportError, OSError, RuntimeError) as error:
            self._no_events = _explain_missing_events(error)

    def _close_events(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None

    def _log_mode(self) -> None:
        if self._logged_mode == (now := self._mode()):
            return
        self._logged_mode = now
        mode, why = now
        if mode == "polling":
            log.warning("Scanning the notes in %s every few seconds: %s", self._folder, why)
        elif mode == "waiting":
            log.warning("There is nothing to watch in %s yet: %s", self._folder, why)
        else:
            log.info("Watching the notes in %s by system events", self._folder)


async def _run(thread: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
    """Run a function that may wait for a disk."""
    return await asyncio.get_running_loop().run_in_executor(thread, work)


def _open_watch(folders: Iterable[str]) -> "RustNotify":
    """Open a watch on each folder. Raises ImportError, OSError or RuntimeError."""
    from watchfiles._rust_notify import RustNotify

    # Not recursive, which follows links out of the folder, watches .git, and is late in new folders. And
    # never with ignore_permission_denied, which also ignores that the limit of watches is exhausted.
    return RustNotify(
        list(folders),
        debug=False,
        force_polling=False,
        poll_delay_ms=0,
        recursive=False,
        ignore_permission_denied=False,
    )


def _explain_missing_events(error: Exception) -> str:
    """Return the reason, with the fix, in one line."""
    text = str(error)
    if "watch limit reached" in text:
        return Translatable(
            "the system's limit of watched folders is reached; raise fs.inotify.max_user_watches"
        )
    if "Too many open files" in text:
        return Translatable(
            "the system's limit of watchers is reached; raise fs.inotify.max_user_instances (or `ulimit -n`)"
        )
    return Translatable("the system's events are not available: {error}", error=format_path(text))


def explain_missing_events(folder: Path, write: Callable[[], object], *, seconds: float = 2.0) -> str:
    """Return why the system sends no event for what `write` does in `folder`, with the fix; "" if it does."""
    try:
        events = _open_watch([str(folder)])
    except (ImportError, OSError, RuntimeError) as error:
        return _explain_missing_events(error)
    try:
        write()
        told = events.watch(10, 5, round(seconds * 1000), None)
    except (OSError, RuntimeError) as error:
        return _explain_missing_events(error)
    finally:
        events.close()
    return (
        "" if isinstance(told, set) and told else Translatable("the system sends no events for changes there")
    )


def _scan_folder(folder: Path, excludes: ExcludesFolder) -> _Scan:
    began, used = time.monotonic(), time.thread_time()
    root = os.path.realpath(folder)
    folders: dict[str, _Identity] = {}
    notes = 0
    fault = ""
    left = [""]
    while left:
        name = left.pop()
        prefix, path = (f"{name}/", f"{root}/{name}") if name else ("", root)
        try:
            found = Path(path).stat()
            if not name:
                if not stat.S_ISDIR(found.st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                folders[""] = (found.st_dev, found.st_ino)
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if not (find_name_fault(entry.name) or excludes(prefix + entry.name)):
                            left.append(prefix + entry.name)
                    elif is_note_name(entry.name):
                        with suppress(FileNotFoundError):
                            notes ^= _version(prefix + entry.name, entry.stat(follow_symlinks=False))
            folders[name] = (found.st_dev, found.st_ino)
        except OSError as error:
            if not name and not isinstance(error, FileNotFoundError):
                fault = reason(error)
    rest = max((time.thread_time() - used) / POLL_SHARE, (time.monotonic() - began) / POLL_SHARE_OF_TIME)
    return _Scan(root, folders, notes, fault, rest)


def _version(note: str, found: os.stat_result) -> int:
    return hash((note, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))


def _identity(folder: Path) -> _Identity | None:
    """Return an id of the folder at this path; None if there is no readable one."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _file_mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
