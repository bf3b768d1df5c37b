"""Changes below the folder of notes as they happen: told by events, and by regular looks where there are none."""

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
"""More changed notes than this, and a walk through the folder is cheaper than their list."""

MANY_EVENTS = 4096
"""So many events between two questions that the system's queue of them may have run over."""

POLL_SHARE = 0.01
"""Looking through the notes takes at most this share of a core."""

POLL_SHARE_OF_TIME = 0.2
"""And a file system that is slow to answer is busy with it for at most this share of the time."""

FILE_SYSTEMS_WITHOUT_EVENTS = frozenset(
    {"9p", "afs", "ceph", "cifs", "drvfs", "fakeowner", "fuse", "ncpfs", "nfs", "nfs4", "prl_fs"}
    | {"smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""What others change there is told to nobody here. Neither is it on `fuse.…`."""

_ADDED, _DELETED = 1, 3

_Result = TypeVar("_Result")
_Identity = tuple[int, int]
_Mode = Literal["off", "waiting", "events", "polling"]


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """Notes that came, changed or went; no paths at all where anything may have changed."""

    paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WatchState:
    """How the watch fares."""

    alive: bool
    """Whether somebody is being told of changes."""
    mode: _Mode
    """`waiting`: the folder is not there or cannot be read, or the watch has only begun.
    `polling`: the notes are looked through regularly."""
    reason: str
    """Why it waits or polls; one line, empty otherwise."""
    last_event_at: str
    """ISO 8601 in UTC, as the next one; empty before the first time."""
    last_restart_at: str
    """When the folder was last watched anew: at the start, or since it was replaced or has other folders."""
    last_look_at: str
    """When all notes were last looked through for what no event told."""
    error: str
    """What last went wrong unexpectedly; one line."""


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """How often what is done, in seconds."""

    events: float = 0.2
    """Ask for events; what this costs is the waking up."""
    root: float = 5.0
    """Is the folder still the same one, or there by now?"""
    settle: float = 1.0
    """Look again after folders came or went; as long, an event may lag behind its change."""
    audit: float = 60.0
    """Look through all notes for what no event told."""
    poll: float = 2.0
    """Look through all notes where events cannot be relied on."""
    retry: float = 300.0
    """Try events again where they could not be had."""
    distrust: float = 3600.0
    """Rely on events again, after a change that none told."""
    longest: float = 5.0
    """Tell of a note that is written to without rest."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What one walk found."""

    root: str = ""
    """The folder without links in its path."""
    folders: dict[str, _Identity] = field(default_factory=dict)
    """The root itself is ""; it is missing where the folder is."""
    notes: dict[str, int] = field(default_factory=dict)
    """A number that differs for another version of the note."""
    fault: str = ""
    """Why the root cannot be read; one line."""
    rest: float = 0.0
    """Seconds until another walk is decent, since this one has cost something."""

    @property
    def place(self) -> tuple[str, dict[str, _Identity], str]:
        """What is watched; where it differs it is watched anew."""
        return self.root, self.folders, self.fault


class _ChangeBurst:
    """Changes that are still coming in."""

    def __init__(self, *, rest: float, longest: float) -> None:
        self._rest, self._longest = rest, max(longest, 2 * rest)
        self._paths: set[str] = set()
        self._anything = False
        self._began = self._last = float("inf")

    def add(self, *paths: str) -> None:
        """No paths: anything may have changed."""
        self._last = time.monotonic()
        self._began = min(self._began, self._last)
        self._paths.update(paths)
        nameless = not all(map(str.isprintable, paths))
        self._anything |= not paths or nameless or len(self._paths) > MANY_PATHS
        if self._anything:
            self._paths.clear()

    @property
    def due(self) -> float:
        """When it is to be told; infinite where there is nothing to tell."""
        return min(self._last + self._rest, self._began + self._longest)

    def take(self) -> FolderChanges:
        taken = FolderChanges(frozenset(self._paths))
        self._paths.clear()
        self._anything = False
        self._began = self._last = float("inf")
        return taken


class _RunInThread(Protocol):
    """Do in the thread what may wait for a disk."""

    async def __call__(self, work: Callable[[], _Result]) -> _Result: ...


class _StopAfterFirst:
    """Makes `RustNotify.watch` give what it has and not wait: it asks this in each round, and needs three."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > 3


class Watcher:
    """Tells of changes below a folder, for as long as somebody listens.

    An event is only a hint: many get lost, and some file systems send none. So folders are watched one by
    one, a walk follows whenever folders come or go, and one now and then shows what no event told; then the
    notes are polled as well, and `state` says so.
    """

    def __init__(self, folder: Path, *, debounce_seconds: float, pace: WatchTimes | None = None) -> None:
        """Touch nothing yet. A change is told when its burst has rested for `debounce_seconds`."""
        self._folder = folder
        self._debounce_seconds = debounce_seconds
        self._pace = pace or WatchTimes()
        self._alive = False
        self._error = ""
        self._last_event_at = ""
        self._last_restart_at = ""
        self._last_look_at = ""
        self._told: tuple[_Mode, str] = ("off", "")
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
        self._judge_at = self._distrusted_until = self._retry_at = self._walked_at = float("-inf")
        self._walk_at = self._check_root_at = float("-inf")

    @property
    def state(self) -> WatchState:
        """How the watch fares now."""
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
        """Tell of changes, one burst at a time; at once that anything may have changed before the watch began.

        Ends only with its task, or where `aclosing` ends it. What happens while a change is being dealt with is
        told by the next one.
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
                    # Whatever it was, the watch must go on; the next look begins from nothing.
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
            next_at = min(next_at, self._judge_at)
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
            stirred = self._seen.place != before.place
            anew = stirred or (self._events is None and now >= self._retry_at)
            if anew:
                self._close_events()
                if "" in self._seen.folders and not self._seen.fault:
                    await self._open_events(run)
            self._compare_snapshots(changed - announced, stirred=stirred, polling=polling)
            self._settling = anew
            self._walk_at = time.monotonic() + self._seconds_until_walk()
        if self._suspects and time.monotonic() >= self._judge_at:
            self._check_unannounced()
        self._log_mode()

    def _read_events(self) -> None:
        """Sort out what the system told since the last time."""
        if self._events is None:
            return
        try:
            told = self._events.watch(0, 0, 0, _StopAfterFirst())
        except RuntimeError as error:  # such as a name that is not UTF-8; it would be raised for ever
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
            if kind == _DELETED:  # or moved; its inode's number may be given to the next folder
                self._seen.folders.pop("", None)
                self._schedule_walk()
            return
        note = path[len(self._seen.root) + 1 :]
        if note.startswith(".") or "/." in note:
            return
        if note in self._seen.folders:
            if kind in {_ADDED, _DELETED}:
                # Forgotten, so that one of the same name, and perhaps the same number, is watched anew.
                del self._seen.folders[note]
                self._schedule_walk()
        elif kind != _DELETED and stat.S_ISDIR(_file_mode(path)):
            self._schedule_walk()
        elif is_note_name(note):
            self._note_event()
            self._announced.add(note)
            self._burst.add(note)

    def _schedule_walk(self) -> None:
        """Anything may have changed: see what is there as soon as that is decent."""
        self._note_event()
        self._burst.add()
        self._settling = True
        self._walk_at = min(self._walk_at, max(time.monotonic(), self._walked_at + self._settle_seconds()))

    def _settle_seconds(self) -> float:
        return max(self._pace.settle, self._seen.rest / 10)

    def _compare_snapshots(self, unannounced: set[str], *, stirred: bool, polling: bool) -> None:
        """Tell what a walk found without an event; doubt events where they should have told it."""
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
            self._judge_at = time.monotonic() + self._pace.settle

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
        """A walk may be quicker than an event; what is still not announced by now never will be."""
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
        if self._told == (now := self._mode()):
            return
        self._told = now
        mode, why = now
        if mode == "polling":
            log.warning("Notes are looked through every few seconds: %s", why)
        elif mode == "waiting":
            log.warning("Nothing to watch: %s", why)
        else:
            log.info("Watching the notes by the system's events")

    async def _open_events(self, run: _RunInThread) -> None:
        """Watch every folder that the last walk found."""
        self._last_restart_at = _format_now()
        self._retry_at = time.monotonic() + self._pace.retry
        self._eventless = await run(lambda: _file_system_without_events(self._seen.root))
        try:
            self._events = await run(lambda: _open_watch(self._seen))
        except FileNotFoundError:  # a folder went meanwhile: the walk that follows finds it gone
            self._no_events, self._retry_at = "folders come and go", float("-inf")
        except (ImportError, OSError, RuntimeError) as error:
            self._no_events = _explain_missing_events(error)

    def _close_events(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None


def _open_watch(seen: _Snapshot) -> "RustNotify":
    """Have the system tell of what happens in each folder. Raises ImportError, OSError or RuntimeError."""
    from watchfiles._rust_notify import RustNotify

    # Not recursively: that follows links out of the folder, watches .git, and is late in new folders.
    # And never with ignore_permission_denied, which ignores an exhausted limit as well.
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
    """One line with the mend in it."""
    text = str(error)
    if "watch limit reached" in text:
        return "the system's limit of watched folders is used up; raise fs.inotify.max_user_watches"
    if "Too many open files" in text:
        return (
            "the system's limit of watchers is used up; raise fs.inotify.max_user_instances (or `ulimit -n`)"
        )
    return format_path(f"the system's events cannot be had: {text}")


def _compare_folder(folder: Path, before: _Snapshot) -> tuple[_Snapshot, set[str]]:
    """See what is there, and which notes are not as they were."""
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
    """Tell one folder from the next at the same place; None where there is none to read."""
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
    """The kind of file system that `root` lies on where it is one that sends no events; else empty."""
    return find_eventless_mount(_read_mounts(), root)


def find_eventless_mount(mounts: str, root: str) -> str:
    """The same, by the text of Linux's `/proc/self/mountinfo`."""
    kind = parse_file_system(mounts, root)
    return kind if kind in FILE_SYSTEMS_WITHOUT_EVENTS or kind.startswith("fuse.") else ""


def parse_file_system(mounts: str, path: str) -> str:
    """The kind of file system that a path without links lies on, by that text; "" where it is not told."""
    kinds: dict[str, str] = {}
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
        kinds[point] = rest.partition(" ")[0]
    above = (str(each) for each in (Path(path), *Path(path).parents))
    return next((kinds[each] for each in above if each in kinds), "")


def find_file_system(path: Path) -> str:
    """The kind of file system that a path lies on, such as `ext4`; "" where the system does not tell."""
    return parse_file_system(_read_mounts(), os.path.realpath(path))


def _read_mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def explain_missing_events(folder: Path, write: Callable[[], object], *, seconds: float = 2.0) -> str:
    """Why the system does not tell of what `write` does in `folder`, in one line with the mend; "" where it does."""
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
