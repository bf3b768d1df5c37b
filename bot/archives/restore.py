"""Restores a backup: checks it first, then puts it in place; the previous files are kept.

Everything is prepared beside the files in use. From then on a small file, `restore.json`, marks a running restore: as
long as it exists, nobody opens the workspace, and the next restore continues after a crash.
"""

import errno
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from bot.archives.archive import MAX_MANIFEST_BYTES, NOTES, STATE, Manifest, parse_manifest, read_archive
from bot.archives.errors import BackupError
from bot.conversations.index_file import delete_index
from bot.process_lock import RESTORE_PENDING, RESTORE_UNFINISHED, is_unfinished, is_workspace_open
from bot.state.database import StateFault
from bot.state.snapshot import check_database
from memory import disk, hidden_lines
from memory.errors import MemoryFault, NoteUnreadable
from memory.hidden_lines import HiddenLines, read_hidden_lines

_STAGING = "restore-"
_STATE_FILES = (STATE, f"{STATE}-wal", f"{STATE}-shm", f"{STATE}-journal")
_ELSEWHERE = {errno.EXDEV, errno.EBUSY, errno.EROFS, errno.EACCES, errno.EPERM, errno.EINVAL}
"""A folder that is mounted, or whose parent is read-only or not ours, cannot be renamed: its content is copied."""
IN_USE = (
    "this workspace is in use by a service, a chat or a backup: stop it, or wait for the backup, then restore"
)


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The outcome of a restore."""

    made_at: str
    """When the backup was made; ISO 8601 in UTC."""
    files: int
    kept: Path | None
    """The folder with the previous files; None if there were none."""
    resumed: bool = False
    """Whether an earlier restore was interrupted and is now complete."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """Content of `restore.json`; folders by their names inside the private one."""

    staging: str
    aside: str
    manifest: Manifest


def restore(file: Path, *, notes: Path, private: Path, now: Callable[[], datetime]) -> RestoreResult:
    """Replace notes and conversations by the content of an archive. Raises BackupError if that fails.

    An interrupted restore is completed first; if it was of the same archive, that is all.
    """
    finished: _Pending | None = None
    try:
        if notes.exists() and not notes.is_dir():
            raise BackupError(f"{notes} is not a folder: move it away, then restore")
        disk.make_private_folder(private)
        with _hold_restore_lock(private):
            finished = _resume(notes, private)
            with _open_archive(file) as source:
                # An archive that claims to be larger than the disk is not read: it may be two hundred bytes. What
                # was just restored is on the disk already, and needs no more room.
                most = max(
                    shutil.disk_usage(private).free,
                    finished.manifest.bytes + MAX_MANIFEST_BYTES if finished else 0,
                )
                manifest = read_archive(source, name=file.name, max_bytes=most)
                if finished and finished.manifest == manifest:
                    return _build_result(finished, private, resumed=True)
                _check_disk_space(manifest.bytes, file.name, notes=notes, private=private)
                pending = _stage(source, file.name, manifest, private=private, now=now)
            _begin(pending, private)
            _apply(pending, notes=notes, private=private)
    except (OSError, BackupError) as error:
        told = str(error)
        if isinstance(error, OSError):
            place = f" ({error.filename})" if error.filename else ""
            after = RESTORE_UNFINISHED if is_unfinished(private) else "nothing was changed"
            told = f"{file} could not be restored: {disk.reason(error)}{place}; {after}"
        if finished:
            at = finished.manifest.made_at
            told = f"the interrupted restore of the backup of {at} is now complete, but then: {told}"
        raise BackupError(told) from error
    return _build_result(pending, private)


@contextmanager
def _hold_restore_lock(private: Path) -> Iterator[None]:
    """Prevent a second restore; the lock ends with the process."""
    locks = private / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    fd = os.open(locks / "restore.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError("another restore of this workspace is running: wait for it to end") from None
        if is_workspace_open(locks):
            raise BackupError(IN_USE)
        yield
    finally:
        os.close(fd)


@contextmanager
def _open_archive(file: Path) -> Iterator[BinaryIO]:
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as source:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise BackupError(f"{file} is not a file; name an archive that `commonplace backup` made")
        yield source


# -- preparation, beside the files in use --------------------------------------------------------------------


def _check_disk_space(wanted: int, name: str, *, notes: Path, private: Path) -> None:
    """Raise BackupError if the restore would fill the disk, also the one of the notes if that is another one."""
    needed, free = wanted, shutil.disk_usage(private).free
    if notes.is_dir() and notes.stat().st_dev != private.stat().st_dev:
        there = sum(each.lstat().st_size for each in notes.rglob("*") if not each.is_dir())
        needed += there  # is copied there to be kept
        if wanted > shutil.disk_usage(notes).free + there:
            needed, free = wanted, 0
    if needed > free:
        raise BackupError(f"there is not enough disk space to restore {name}; free some space and try again")


def _stage(
    source: BinaryIO,
    name: str,
    manifest: Manifest,
    *,
    private: Path,
    now: Callable[[], datetime],
) -> _Pending:
    """Extract into a folder of its own and check the database; leaves nothing behind after an error."""
    for left in private.glob(f"{_STAGING}*/"):  # no other restore runs or is pending
        shutil.rmtree(left, ignore_errors=True)
    stamp = f"{now().astimezone(UTC):%Y%m%dT%H%M%SZ}"
    aside = _find_free_path(private / f"before-restore-{stamp}")
    staging = private / f"{_STAGING}{os.urandom(8).hex()}"
    staging.mkdir(mode=0o700)
    try:
        again = read_archive(source, name=name, into=staging, max_bytes=manifest.bytes + MAX_MANIFEST_BYTES)
        if again != manifest:
            raise BackupError(f"{name} is still being written: wait until it is complete, then restore")
        if manifest.state:
            try:
                check_database(staging / STATE)
            except StateFault as fault:
                raise BackupError(f"{name} cannot be restored: {fault}; nothing was changed") from fault
        if (staging / hidden_lines.FILE).is_file():
            try:
                read_hidden_lines(staging / hidden_lines.FILE)
            except NoteUnreadable as fault:
                raise BackupError(f"{name} cannot be restored: {fault}; nothing was changed") from fault
        if manifest.notes:
            (staging / NOTES).mkdir(exist_ok=True)
        os.sync()  # everything, or the order of the next steps would mean nothing
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return _Pending(staging.name, aside.name, manifest)


def _begin(pending: _Pending, private: Path) -> None:
    """Mark the restore as running; a process that starts at the same time sees that, or is seen here."""
    try:
        _write_pending(private, pending)
        if is_workspace_open(private / "locks"):
            raise BackupError(IN_USE)
    except BaseException:
        (private / RESTORE_PENDING).unlink(missing_ok=True)
        shutil.rmtree(private / pending.staging, ignore_errors=True)
        raise


def _write_pending(private: Path, pending: _Pending) -> None:
    draft = private / f"{RESTORE_PENDING}.new"
    draft.unlink(missing_ok=True)
    with disk.open_private_folder(private) as folder:
        disk.write_new(draft.name, json.dumps(asdict(pending)).encode() + b"\n", folder=folder)
        draft.rename(private / RESTORE_PENDING)
        disk.sync_folder(folder)


# -- replacement: each step may be repeated after a crash -----------------------------------------------------


def _resume(notes: Path, private: Path) -> _Pending | None:
    """Complete an interrupted restore; return it, or None if there was none."""
    try:
        fields = json.loads((private / RESTORE_PENDING).read_bytes())
        pending = _Pending(fields["staging"], fields["aside"], parse_manifest(fields["manifest"]))
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError) as error:
        raise BackupError(f"{private / RESTORE_PENDING} is damaged: delete it, then restore again") from error
    _apply(pending, notes=notes, private=private)
    return pending


def _apply(pending: _Pending, *, notes: Path, private: Path) -> None:
    staging, aside = private / pending.staging, private / pending.aside
    aside.mkdir(mode=0o700, exist_ok=True)
    notes = Path(os.path.realpath(notes))
    # What is still staged is not in place yet; the files there are the old ones, or newer than the crash.
    if (staging / NOTES).is_dir():
        _replace_notes(staging / NOTES, notes, aside)
    if (staging / hidden_lines.FILE).is_file():
        _merge_hidden_lines(staging / hidden_lines.FILE, private, aside)
    if (staging / STATE).is_file() or not pending.manifest.state:
        delete_index(private)  # it would seem to fit conversations with the same numbers
        for name in _STATE_FILES:
            if os.path.lexists(private / name):
                (private / name).rename(_find_free_path(aside / name))
        if pending.manifest.state:
            _sync(private, aside)
            (staging / STATE).rename(private / STATE)
    _sync(private, aside, notes.parent)
    if not any(aside.iterdir()):
        aside.rmdir()  # there was nothing before
    (private / RESTORE_PENDING).unlink()
    _sync(private)
    shutil.rmtree(staging, ignore_errors=True)


def _merge_hidden_lines(staged: Path, private: Path, aside: Path) -> None:
    """Add the lines that an archive hides; those that are hidden now stay hidden, unless their file is damaged."""
    current = private / hidden_lines.FILE
    try:
        if current.is_file():
            read_hidden_lines(current)
    except NoteUnreadable:
        current.rename(_find_free_path(aside / hidden_lines.FILE))
        _sync(aside, private)
    try:
        HiddenLines(private).merge(staged)
    except MemoryFault as fault:
        raise BackupError(f"{str(fault).removesuffix('.')}; {RESTORE_UNFINISHED}") from fault


def _replace_notes(staged: Path, notes: Path, aside: Path) -> None:
    disk.make_private_folder(notes.parent)
    if notes.is_dir():
        shutil.copymode(notes, staged)
    if notes.is_dir() and any(notes.iterdir()):
        kept = _find_free_path(aside / NOTES)
        try:
            notes.rename(kept)
        except OSError as error:
            if error.errno not in _ELSEWHERE:
                raise
            part = aside / f"{NOTES}.part"
            _remove(part)
            _copy_all(notes, part)
            os.sync()
            part.rename(kept)
        _sync(aside, notes.parent)
    try:
        if notes.is_dir() and not any(notes.iterdir()):
            notes.rmdir()  # fails if it is mounted
        if not os.path.lexists(notes):
            staged.rename(notes)
            return
    except OSError as error:
        if error.errno not in _ELSEWHERE:
            raise
    notes.mkdir(exist_ok=True)
    for each in notes.iterdir():
        _remove(each)
    _copy_all(staged, notes)
    os.sync()
    staged.rename(staged.with_name(f"{NOTES}.done"))


def _copy_all(source: Path, target: Path) -> None:
    """Copy a folder with files, folders and links; unlike shutil's version, it stops at the first error."""
    target.mkdir(exist_ok=True)
    for each in source.iterdir():
        copy = target / each.name
        if each.is_symlink():
            copy.symlink_to(each.readlink())
        elif each.is_dir():
            _copy_all(each, copy)
        elif each.is_file():  # skips pipes, which have no content
            shutil.copy2(each, copy)
    with suppress(OSError):  # a mounted folder may belong to somebody else
        shutil.copystat(source, target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _find_free_path(path: Path) -> Path:
    """Return `path`, or the first free path with a number behind it."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _sync(*folders: Path) -> None:
    for each in folders:
        with disk.open_private_folder(each) as folder:
            disk.sync_folder(folder)


def _build_result(pending: _Pending, private: Path, *, resumed: bool = False) -> RestoreResult:
    manifest, aside = pending.manifest, private / pending.aside
    return RestoreResult(manifest.made_at, manifest.files, aside if aside.exists() else None, resumed)
