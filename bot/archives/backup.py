"""Makes backups: archives of the notes and of state.db, made while a service runs, and verified by reading them."""

import asyncio
import errno
import hashlib
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, TypeVar

from bot.archives.errors import ArchiveCorrupted, BackupError
from bot.state.database import StateFault
from bot.state.snapshot import SnapshotStopped, check_database, copy_database
from bot.version import VERSION
from memory import disk, hidden_lines
from memory.translatable import Translatable

if TYPE_CHECKING:
    from bot.archives.archive import Manifest

FOLDER = "backups"
SUFFIX = ".tar.gz"
_DRAFT = ".commonplace-backup-"
_STAMP = "%Y%m%dT%H%M%SZ"
_NIGHTLY = re.compile(rf"commonplace-nightly-(\d{{8}}T\d{{6}}Z)(?:-\d+)?{re.escape(SUFFIX)}")
_BEFORE_UPGRADE = re.compile(rf"commonplace-\d{{8}}T\d{{6}}Z(?:-\d+)?-before-upgrade{re.escape(SUFFIX)}")
_NAMED = re.compile(rf"commonplace-(nightly-)?(\d{{8}}T\d{{6}}Z)?[A-Za-z0-9._+-]*{re.escape(SUFFIX)}")
"""An archive as we name it, with a time or not; such a name needs no escaping anywhere."""
KEPT_UPGRADES = 3
"""Number of backups made before an upgrade that are kept."""
OLD_DRAFT_SECONDS = 3600.0
OLD_AFTER = timedelta(days=2)
"""After this time without another backup, people should be told."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive on disk."""

    file: Path
    size: int
    """In bytes."""
    files: int
    """Number of files of the notes folder."""
    problems: tuple[str, ...] = ()
    """Files that could not be read, each with the reason."""


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """An archive in the folder of backups."""

    name: str
    stat: os.stat_result
    made_at: datetime
    """Aware: the time in its name, or else of the file."""
    is_nightly: bool
    contents: "Manifest | None"
    """What is in it, if this process has made or read it."""

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stat.st_size

    @property
    def is_before_upgrade(self) -> bool:
        """Whether it was made before an upgrade of state.db; it has no notes."""
        return bool(_BEFORE_UPGRADE.fullmatch(self.name))


class Backups:
    """Makes archives one at a time, by default below `.commonplace/backups/`."""

    def __init__(self, *, notes: Path, private: Path, now: Callable[[], datetime]) -> None:
        self.folder = private / FOLDER
        self._notes = notes
        self._private = private
        self._now = now
        self._one_at_a_time = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._contents: dict[tuple[str, int, int], Manifest] = {}
        """By name, size and time of the file."""

    @property
    def is_running(self) -> bool:
        """Whether this process is making a backup."""
        return self._one_at_a_time.locked()

    async def make(self, file: Path | None = None, *, key: str = "") -> Backup:
        """Make an archive at `file`, which must not exist yet, or inside the folder `file`; by default in `folder`.

        With a `key`, an archive made earlier for it is returned instead. Raises BackupError; then nothing is left.
        """
        mark = hashlib.sha256(key.encode()).hexdigest()[:10] if key else ""
        async with self._one_at_a_time:
            if mark and (made := await asyncio.to_thread(self._find_made, mark)):
                return made
            return await _in_thread(lambda stopped: self._make(file, mark=mark, stopped=stopped))

    async def make_nightly(self, *, keep: int, notes: bool = True) -> Backup:
        """Make the nightly backup, then delete those of earlier nights beyond `keep`, and no other file.

        `notes`: False if another instance backs them up; then only conversations are included. Raises BackupError.
        """
        async with self._one_at_a_time:
            made = await _in_thread(
                lambda stopped: self._make(None, kind="nightly-", notes=notes, stopped=stopped)
            )
            await asyncio.to_thread(self._remove_old, _NIGHTLY, keep, made.file)
        return made

    def make_before_upgrade(self) -> Backup:
        """Back up conversations before state.db is upgraded, and keep only the latest few of such backups. It blocks.

        The notes are left out, since no upgrade changes them. Raises BackupError.
        """
        made = self._make(None, mark="before-upgrade", notes=False, stopped=lambda: False)
        self._remove_old(_BEFORE_UPGRADE, KEPT_UPGRADES, made.file)
        return made

    def latest_nightly(self) -> datetime | None:
        """Return when the latest nightly backup was made; None if there is none."""
        stamps = [match[1] for match in map(_NIGHTLY.fullmatch, self._list_names()) if match]
        return datetime.strptime(max(stamps), _STAMP).replace(tzinfo=UTC) if stamps else None

    def list_stored(self) -> tuple[StoredBackup, ...]:
        """Return the archives in the folder that have names of ours, the latest first. It blocks."""
        stored = [found for name in self._list_names() if (found := self.find_stored(name))]
        for gone in self._contents.keys() - {_version(each.name, each.stat) for each in stored}:
            self._contents.pop(gone, None)
        return tuple(sorted(stored, key=lambda each: (each.made_at, each.stat.st_mtime_ns), reverse=True))

    def find_stored(self, name: str) -> StoredBackup | None:
        """Return the archive with this name, or None if there is no such archive or we never name one so. Blocking."""
        if (match := _NAMED.fullmatch(name)) is None:
            return None
        try:
            stat = os.lstat(f"{self.folder}/{name}")
        except OSError:
            return None
        if not S_ISREG(stat.st_mode):
            return None
        made_at = _parse_stamp(match[2]) or datetime.fromtimestamp(stat.st_mtime, UTC)
        return StoredBackup(name, stat, made_at, bool(match[1]), self._contents.get(_version(name, stat)))

    async def read_contents(self, name: str) -> "Manifest":
        """Read an archive of `list_stored` to its end and return what is in it, one at a time.

        Raises BackupError if it is damaged or gone.
        """
        async with self._reading:
            return await _in_thread(lambda stopped: self._read(name, stopped))

    def _read(self, name: str, stopped: Callable[[], bool]) -> "Manifest":
        from bot.archives.archive import read_archive

        try:
            with (self.folder / name).open("rb") as file:
                contents = read_archive(file, name=name, stopped=stopped)
                self._contents[_version(name, os.fstat(file.fileno()))] = contents
                return contents
        except OSError as error:
            raise BackupError(
                "{file} cannot be read: {reason}", file=name, reason=disk.reason(error)
            ) from error

    def _find_made(self, mark: str) -> Backup | None:
        from bot.archives.archive import read_archive

        for name in self._list_names():
            if name.endswith(f"-{mark}{SUFFIX}"):
                file = self.folder / name
                with suppress(ArchiveCorrupted, OSError), file.open("rb") as stream:
                    made = read_archive(stream, name=name)
                    return Backup(file, file.stat().st_size, made.files, made.problems)
        return None

    def _remove_old(self, names: re.Pattern[str], keep: int, latest: Path) -> None:
        # `latest` was made last, whatever the clock says.
        others = [
            each for each in self.list_stored() if names.fullmatch(each.name) and each.name != latest.name
        ]
        for old in others[max(keep - 1, 0) :]:
            with suppress(OSError):
                (self.folder / old.name).unlink()

    def _list_names(self) -> list[str]:
        try:
            with os.scandir(self.folder) as entries:
                return sorted(each.name for each in entries)
        except OSError:  # missing; other problems are reported by the next write
            return []

    def _make(
        self,
        file: Path | None,
        *,
        kind: str = "",
        mark: str = "",
        notes: bool = True,
        stopped: Callable[[], bool],
    ) -> Backup:
        now = self._now().astimezone(UTC)
        place = file or self.folder
        try:
            if file is None:
                disk.make_private_folder(place)
            target = self._target(place, f"commonplace-{kind}{now:{_STAMP}}", mark)
            return self._write(target, now, stopped, notes=notes)
        except StateFault as fault:
            raise BackupError("no backup was made: {reason}", reason=fault) from fault
        except OSError as error:
            told = Translatable(
                "{file} could not be written: {reason}", file=place, reason=disk.reason(error)
            )
            raise BackupError("no backup was made: {reason}", reason=told) from error

    def _target(self, file: Path, name: str, mark: str) -> Path:
        """Return the path of the new archive. Raises BackupError rather than overwrite a file."""
        if not file.is_dir():
            if os.path.lexists(file):
                raise BackupError(
                    "{file} already exists and was left unchanged; give another name", file=file
                )
            if not file.parent.is_dir():
                raise BackupError("the folder {folder} does not exist; create it first", folder=file.parent)
        folder = file if file.is_dir() else file.parent
        if folder.resolve().is_relative_to(self._notes.resolve()):
            raise BackupError(
                "{folder} is inside the folder of your notes; put the backup somewhere else", folder=folder
            )
        if folder is not file:
            return file
        end = f"-{mark}{SUFFIX}" if mark else SUFFIX
        target, number = file / f"{name}{end}", 1
        while os.path.lexists(target):
            number += 1
            target = file / f"{name}-{number}{end}"
        return target

    def _write(self, target: Path, now: datetime, stopped: Callable[[], bool], *, notes: bool) -> Backup:
        from bot.archives.archive import read_archive, write_archive

        temporary = self._private / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        disk.remove_stale_files(temporary, pattern="backup-*", seconds=OLD_DRAFT_SECONDS)
        disk.remove_stale_files(target.parent, pattern=f"{_DRAFT}*", seconds=OLD_DRAFT_SECONDS)
        token = os.urandom(8).hex()
        copy, draft = temporary / f"backup-{token}.db", target.parent / f"{_DRAFT}{token}"
        try:
            state: Path | None = self._private / "state.db"
            if state is not None and state.is_file():
                copy_database(state, copy, stopped=stopped)
                check_database(copy, original=state, stopped=stopped)
                state = copy
            else:
                state = None
            fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w+b") as file:
                written, problems = write_archive(
                    file,
                    notes=self._notes if notes else None,
                    state=state,
                    hidden=hidden if (hidden := self._private / hidden_lines.FILE).is_file() else None,
                    spool=temporary,
                    made_at=now.isoformat(timespec="seconds"),
                    version=VERSION,
                    stopped=stopped,
                )
                file.flush()
                os.fsync(fd)
                if read_archive(file, name=target.name, stopped=stopped) != written:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                size = os.fstat(fd).st_size
            with disk.open_private_folder(target.parent) as folder:
                if not disk.rename_to_new(draft.name, target.name, folder=folder):
                    raise BackupError(
                        "{file} already exists and was left unchanged; give another name", file=target
                    )
                disk.sync_folder(folder)
            if target.parent == self.folder:
                self._contents[_version(target.name, target.stat())] = written
        except ArchiveCorrupted as error:
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from error
        finally:
            for each in (draft, copy, copy.with_name(f"{copy.name}-journal")):
                each.unlink(missing_ok=True)
        return Backup(target, size, written.files, tuple(problems))


def _version(name: str, stat: os.stat_result) -> tuple[str, int, int]:
    return name, stat.st_size, stat.st_mtime_ns


def _parse_stamp(stamp: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp) if stamp else None
    except ValueError:  # digits that are no time
        return None


async def _in_thread(work: Callable[[Callable[[], bool]], Result]) -> Result:
    """Run long work in a thread; if cancelled, stop it and wait until it has cleaned up."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop.is_set))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        with suppress(SnapshotStopped, BackupError):
            task.result()
        raise
