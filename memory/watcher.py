"""Watch the notes' folder for changes: by file system events, and by polling where there are none."""

import asyncio
import errno
import logging
import os
import re
import stat
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from memory.disk import reason
from memory.paths import find_name_fault, format_path, is_note_name

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

log = logging.getLogger(__name__)

MANY_PATHS = 100
"""With more changed notes than this, scanning the folder is cheaper than listing them."""

MANY_EVENTS = 4096
"""After this many events between two reads, the system's queue may have overflowed."""

POLL_SHARE = 0.01
"""Maximum share of one core spent on polling."""

POLL_SHARE_OF_TIME = 0.2
"""Maximum share of time spent on polling if the file system is slow."""

FILE_SYSTEMS_WITHOUT_EVENTS = frozenset(
    {"9p", "afs", "ceph", "cifs", "drvfs", "fakeowner", "fuse", "ncpfs", "nfs", "nfs4", "prl_fs"}
    | {"smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems that send no events for changes by other hosts; so do those named `fuse.…`."""

_ADDED, _DELETED = 1, 3

_Result = TypeVar("_Result")
_Identity = tuple[int, int]
_Mode = Literal["off", "waiting", "events", "polling"]


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """Notes that were created, changed or deleted; empty if anything may have changed."""

    paths: frozenset[str] = frozenset()


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
    """Between scans while events are unreliable."""
    retry: float = 300.0
    """Until events are tried again if they were unavailable."""
    distrust: float = 3600.0
    """Until events are trusted again after a change without one."""
    longest: float = 5.0
    """Maximum delay of a change to a note that is written to continuously."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The result of one scan."""

    root: str = ""
    """The folder's path without links."""
    folders: dict[str, _Identity] = field(default_factory=dict)
    """The root itself is ""; it is missing if the folder is."""
    notes: dict[str, int] = field(default_factory=dict)
    """A number that differs between versions of the note."""
    fault: str = ""
    """Why the root cannot be read, in one line."""
    rest: float = 0.0
    """Minimum seconds until the next scan, from the cost of this one."""

    @property
    def watch_key(self) -> tuple[str, dict[str, _Identity], str]:
        """What is watched; if it changes, watching begins again."""
        return self.root, self.folders, self.fault


class _ChangeBurst:
    """Changes that are still coming in."""

    def __init__(self, *, rest: float, longest: float) -> None:
        self._rest, self._longest = rest, max(longest, 2 * rest)
        self._paths: set[str] = set()
        self._anything = False
        self._began = self._last = float("inf")

    def add(self, *paths: str) -> None:
        """Add changed notes; without paths, anything may have changed."""
        self._last = time.monotonic()
        self._began = min(self._began, self._last)
        self._paths.update(paths)
        nameless = not all(map(str.isprintable, paths))
        self._anything |= not paths or nameless or len(self._paths) > MANY_PATHS
        if self._anything:
            self._paths.clear()

    @property
    def due(self) -> float:
        """The monotonic time to report the changes; infinite if there are none."""
        return min(self._last + self._rest, self._began + self._longest)

    def take(self) -> FolderChanges:
        taken = FolderChanges(frozenset(self._paths))
        self._paths.clear()
        self._anything = False
        self._began = self._last = float("inf")
        return taken


class _RunInThread(Protocol):
    """Runs functions that may wait for a disk in the watcher's thread."""

    async def __call__(self, work: Callable[[], _Result]) -> _Result: ...


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
    """Reports changes in a folder for as long as somebody listens.

    Events are only hints: many get lost, and some file systems send none. So folders are watched one by one,
    a scan follows when folders come or go, and an occasional scan finds changes without events; then the
    notes are polled as well, and `state` says so.
    """

    def __init__(self, folder: Path, *, debounce_seconds: float, pace: WatchTimes | None = None) -> None:
        """Store the settings. A change is reported after `debounce_seconds` without another one."""
        self._folder = folder
        self._debounce_seconds = debounce_seconds
        self._pace = pace or WatchTimes()
        self._alive = False
        self._error = ""
        self._last_event_at = ""
        self._last_restart_at = ""
        self._last_look_at = ""
        self._logged_mode: tuple[_Mode, str] = ("off", "")
        self._reset()

    def _reset(self) -> None:
        self._burst = _ChangeBurst(rest=self._debounce_seconds, longest=self._pace.longest)
        self._events: RustNotify | None = None
        self._no_events = ""
        self._eventless = ""
        self._seen = _Snapshot()
        self._announced: set[str] = set()
        self._suspects: set[str] = set()
        self._settling = True
        self._check_at = self._distrusted_until = self._retry_at = self._walked_at = float("-inf")
        self._walk_at = self._check_root_at = float("-inf")

    @property
    def state(self) -> WatchState:
        """The current state."""
        mode, why = self._mode()
        return WatchState(
            self._alive,
            mode,
            why,
            self._last_event_at,
            self._last_restart_at,
            self._last_look_at,
            self._error or self._seen.fault,
        )

    async def changes(self) -> AsyncGenerator[FolderChanges, None]:
        """Yield changes, one burst at a time; first that anything may have changed before watching began.

        Ends only when its task is cancelled or it is closed (`aclosing`). Changes that happen while one is
        processed are in the next.
        """
        self._reset()
        self._alive, self._error = True, ""
        thread = ThreadPoolExecutor(1, "memory-watch")

        async def run(work: Callable[[], _Result]) -> _Result:
            return await asyncio.get_running_loop().run_in_executor(thread, work)

        try:
            yield_at_once = True
            while True:
                try:
                    await self._step(run)
                except Exception as error:
                    # Watching must go on after any error; the next scan starts from nothing.
                    log.exception("Watching the notes failed; trying again in %g s", self._pace.root)
                    self._error = format_path(f"{type(error).__name__}: {error}")
                    self._close_events()
                    self._reset()
                    self._burst.add()
                    await asyncio.sleep(self._pace.root)
                if yield_at_once or time.monotonic() >= self._burst.due:
                    yield_at_once = False
                    yield self._burst.take()
                await asyncio.sleep(self._pause())
        finally:
            self._alive = False
            self._close_events()
            thread.shutdown(wait=False)

    def _mode(self) -> tuple[_Mode, str]:
        if not self._alive:
            return "off", ""
        if "" not in self._seen.folders or self._seen.fault:
            return "waiting", self._seen.fault or "the folder is not there"
        if self._events is None:
            return ("polling", self._no_events) if self._no_events else ("waiting", "it is being set up")
        if self._eventless:
            return "polling", f"the notes lie on {self._eventless}, which does not tell what others change"
        if time.monotonic() < self._distrusted_until:
            return "polling", "a note changed and the system sent no event"
        return "events", ""

    def _pause(self) -> float:
        now = time.monotonic()
        next_at = min(self._burst.due, self._walk_at, self._check_root_at)
        if self._suspects:
            next_at = min(next_at, self._check_at)
        if self._events is not None:
            next_at = min(next_at, now + self._pace.events)
        return max(next_at - now, 0.01)

    async def _step(self, run: "_RunInThread") -> None:
        self._read_events()
        now = time.monotonic()
        if now >= self._check_root_at:
            self._check_root_at = now + self._pace.root
            if await run(lambda: _identity(self._folder)) != self._seen.folders.get(""):
                self._schedule_walk()
        if now >= self._walk_at:
            before, announced = self._seen, self._announced
            polling = self._mode()[0] == "polling"
            self._suspects -= announced
            self._announced = set()
            self._seen, changed = await run(lambda: _compare_folder(self._folder, before))
            self._walked_at, self._last_look_at = time.monotonic(), _format_now()
            stirred = self._seen.watch_key != before.watch_key
            anew = stirred or (self._events is None and now >= self._retry_at)
            if anew:
                self._close_events()
                if "" in self._seen.folders and not self._seen.fault:
                    await self._open_events(run)
            self._compare_snapshots(changed - announced, stirred=stirred, polling=polling)
            self._settling = anew
            self._walk_at = time.monotonic() + self._seconds_until_walk()
        if self._suspects and time.monotonic() >= self._check_at:
            self._check_unannounced()
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
            self._retry_at = float("-inf")
            self._schedule_walk()
            return
        if told == "signal":
            raise KeyboardInterrupt
        if isinstance(told, str):
            return
        if len(told) >= MANY_EVENTS:
            self._schedule_walk()
        for kind, path in told:
            self._handle_event(kind, path)

    def _handle_event(self, kind: int, path: str) -> None:
        if path == self._seen.root:
            if kind == _DELETED:  # or moved; the next folder may get its inode number
                self._seen.folders.pop("", None)
                self._schedule_walk()
            return
        note = path[len(self._seen.root) + 1 :]
        if note.startswith(".") or "/." in note:
            return
        if note in self._seen.folders:
            if kind in {_ADDED, _DELETED}:
                # Forget it, so that a new folder of the same name, and perhaps the same inode, is watched
                # again.
                del self._seen.folders[note]
                self._schedule_walk()
        elif kind != _DELETED and stat.S_ISDIR(_file_mode(path)):
            self._schedule_walk()
        elif is_note_name(note):
            self._note_event()
            self._announced.add(note)
            self._burst.add(note)

    def _schedule_walk(self) -> None:
        """Scan as soon as the minimum interval allows, since anything may have changed."""
        self._note_event()
        self._burst.add()
        self._settling = True
        self._walk_at = min(self._walk_at, max(time.monotonic(), self._walked_at + self._settle_seconds()))

    def _settle_seconds(self) -> float:
        return max(self._pace.settle, self._seen.rest / 10)

    def _compare_snapshots(self, unannounced: set[str], *, stirred: bool, polling: bool) -> None:
        """Report changes that a scan found without an event; distrust events that should have reported them."""
        if stirred:
            self._note_event()
            self._burst.add()
        elif not unannounced:
            return
        elif self._settling or polling:
            self._note_event()
            self._burst.add(*unannounced)
            if self._events is not None and not self._settling:
                self._distrusted_until = time.monotonic() + self._pace.distrust
        else:
            self._suspects |= unannounced
            self._check_at = time.monotonic() + self._pace.settle

    def _seconds_until_walk(self) -> float:
        if "" not in self._seen.folders:
            return float("inf")
        if self._seen.fault:
            return self._pace.root
        if self._settling:
            return self._settle_seconds()
        polling = self._mode()[0] == "polling"
        return max(self._pace.poll if polling else self._pace.audit, self._seen.rest)

    def _check_unannounced(self) -> None:
        """Check changes that a scan may have found before their events; by now these should have arrived."""
        late, self._suspects = self._suspects - self._announced, set()
        if not late:
            return
        self._note_event()
        self._burst.add(*late)
        if not self._settling:
            self._distrusted_until = time.monotonic() + self._pace.distrust
            self._walk_at = min(self._walk_at, time.monotonic() + self._seconds_until_walk())

    def _note_event(self) -> None:
        self._last_event_at = _format_now()

    def _log_mode(self) -> None:
        if self._logged_mode == (now := self._mode()):
            return
        self._logged_mode = now
        mode, why = now
        if mode == "polling":
            log.warning("Notes are looked through every few seconds: %s", why)
        elif mode == "waiting":
            log.warning("Nothing to watch: %s", why)
        else:
            log.info("Watching the notes by the system's events")

    async def _open_events(self, run: _RunInThread) -> None:
        """Watch every folder of the last scan."""
        self._last_restart_at = _format_now()
        self._retry_at = time.monotonic() + self._pace.retry
        self._eventless = await run(lambda: _file_system_without_events(self._seen.root))
        try:
            self._events = await run(lambda: _open_watch(self._seen))
        except FileNotFoundError:  # a folder was deleted meanwhile; the next scan shows that
            self._no_events, self._retry_at = "folders come and go", float("-inf")
        except (ImportError, OSError, RuntimeError) as error:
            self._no_events = _explain_missing_events(error)

    def _close_events(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None


def _open_watch(seen: _Snapshot) -> "RustNotify":
    """Open a watch on each folder. Raises ImportError, OSError or RuntimeError."""
    from watchfiles._rust_notify import RustNotify

    # Not recursive, which follows links out of the folder, watches .git, and is late in new folders. And
    # never with ignore_permission_denied, which also ignores that the limit of watches is exhausted.
    paths = [f"{seen.root}/{name}" if name else seen.root for name in seen.folders]
    return RustNotify(
        paths,
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
        return "the system's limit of watched folders is used up; raise fs.inotify.max_user_watches"
    if "Too many open files" in text:
        return (
            "the system's limit of watchers is used up; raise fs.inotify.max_user_instances (or `ulimit -n`)"
        )
    return format_path(f"the system's events cannot be had: {text}")


def _compare_folder(folder: Path, before: _Snapshot) -> tuple[_Snapshot, set[str]]:
    """Scan the folder; return the snapshot and the notes that changed."""
    seen = _read_snapshot(folder)
    return seen, {path for path, _ in before.notes.items() ^ seen.notes.items()}


def _read_snapshot(folder: Path) -> _Snapshot:
    began, used = time.monotonic(), time.thread_time()
    root = os.path.realpath(folder)
    folders: dict[str, _Identity] = {}
    notes: dict[str, int] = {}
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
                        if not find_name_fault(entry.name):
                            left.append(prefix + entry.name)
                    elif is_note_name(entry.name):
                        with suppress(FileNotFoundError):
                            notes[prefix + entry.name] = _stat_digest(entry.stat(follow_symlinks=False))
            folders[name] = (found.st_dev, found.st_ino)
        except OSError as error:
            if not name and not isinstance(error, FileNotFoundError):
                fault = reason(error)
    rest = max((time.thread_time() - used) / POLL_SHARE, (time.monotonic() - began) / POLL_SHARE_OF_TIME)
    return _Snapshot(root, folders, notes, fault, rest)


def _stat_digest(found: os.stat_result) -> int:
    return hash((found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))


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


def _file_system_without_events(root: str) -> str:
    """Return the type of `root`'s file system if it sends no events; else ""."""
    return find_eventless_mount(_read_mounts(), root)


def find_eventless_mount(mounts: str, root: str) -> str:
    """Do the same for the text of Linux's `/proc/self/mountinfo`."""
    kind = parse_file_system(mounts, root)
    return kind if kind in FILE_SYSTEMS_WITHOUT_EVENTS or kind.startswith("fuse.") else ""


def parse_file_system(mounts: str, path: str) -> str:
    """Return the file system type of a path without links, from the text of mountinfo; "" if unknown."""
    kinds: dict[str, str] = {}
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
        kinds[point] = rest.partition(" ")[0]
    above = (str(each) for each in (Path(path), *Path(path).parents))
    return next((kinds[each] for each in above if each in kinds), "")


def find_file_system(path: Path) -> str:
    """Return the file system type of a path, such as `ext4`; "" if unknown."""
    return parse_file_system(_read_mounts(), os.path.realpath(path))


def _read_mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def explain_missing_events(folder: Path, write: Callable[[], object], *, seconds: float = 2.0) -> str:
    """Return why the system sends no event for what `write` does in `folder`, with the fix; "" if it does."""
    try:
        from watchfiles._rust_notify import RustNotify

        events = RustNotify([str(folder)], False, False, 0, False, False)
    except (ImportError, OSError, RuntimeError) as error:
        return _explain_missing_events(error)
    try:
        write()
        told = events.watch(10, 5, round(seconds * 1000), None)
    except (OSError, RuntimeError) as error:
        return _explain_missing_events(error)
    finally:
        events.close()
    return "" if isinstance(told, set) and told else "the system sends no events for changes there"


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
