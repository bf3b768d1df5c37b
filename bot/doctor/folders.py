"""Checks the folders: they exist, are writable, have free space and suit SQLite; and that changes are noticed."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from bot import phrases
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic
from bot.doctor.permissions import current_user, file_owner, has_access
from memory import disk
from memory.file_systems import FILE_SYSTEMS_WITHOUT_EVENTS, find_file_system, is_eventless
from memory.note_folders import NoteFolder
from memory.quantities import format_size
from memory.watcher import explain_missing_events

TOPIC = Topic("folders")
WATCHING = Topic("watching")

FULL_BYTES = 20_000_000
"""With less free space than this, writes will soon fail."""
LOW_BYTES = 500_000_000
LOW_INODES = 1000
ELSEWHERE = FILE_SYSTEMS_WITHOUT_EVENTS | {"glusterfs", "lustre", "beegfs", "ocfs2", "gfs2", "davfs"}
"""File systems that several machines may share. SQLite's journal only works on one machine."""
TEMPORARY_FILE_SYSTEMS = {"overlay", "tmpfs", "ramfs", "aufs", "rootfs"}
"""File systems whose content is lost with the container or at the next boot."""
LOCAL_DISK = "put .commonplace on a local disk (in a container, a named volume); only memory/ may be a mount"


def check_folders(settings: Settings) -> Iterator[Check]:
    """Check workspace, notes and private folder; files written for a test are deleted again."""
    workspace, notes, private = settings.workspace, settings.memory_folder, settings.private_folder
    blocked = False
    for name, folder in (("workspace", workspace), ("notes", notes), ("private", private)):
        check = _check_folder(name, folder, must_write=folder != workspace)
        blocked |= check.status == "fail"
        yield check
    if blocked:
        return
    if private.is_dir():
        yield from _check_private(private)
    disks = {
        folder.stat().st_dev: folder for folder in (_nearest_existing(notes), _nearest_existing(private))
    }
    for folder in disks.values():
        yield from _check_room(folder)
    yield from _check_other_folders(settings.note_folders.others)
    yield from _check_disk(private, next((each for each in (private, workspace) if each.is_dir()), None))


def check_watching(settings: Settings) -> Iterator[Check]:
    """Check whether changes are noticed, without touching the notes."""
    private = settings.private_folder
    if not settings.memory.watch.enabled:
        minutes = settings.memory.reindex.interval_minutes
        yield WATCHING.ok(
            "notes", f"not watched (memory.watch.enabled is false); scanned every {minutes} minutes"
        )
        return
    eventless = 0
    for folder in settings.note_folders:
        if is_eventless(kind := find_file_system(_nearest_existing(folder.path))):
            detail = f"on {kind}, which does not report changes by other programs, so the notes are scanned instead"
            yield WATCHING.ok(folder.name or "notes", detail)
            eventless += 1
    if eventless <= len(settings.note_folders.others):
        yield from _check_events(private)
    yield from _check_limit([folder.path for folder in settings.note_folders])


def _check_folder(name: str, folder: Path, *, must_write: bool) -> Check:
    try:
        if not os.path.lexists(folder):
            return _check_missing(name, folder)
        if not folder.is_dir():
            return TOPIC.fail(
                name, f"{folder} is not a folder", "move it away, or set workspace to another folder"
            )
        wanted = os.R_OK | os.X_OK | (os.W_OK if must_write else 0)
        if not has_access(folder, wanted):
            return _foreign_owner(name, folder)
    except OSError as error:
        return TOPIC.fail(
            name, f"{folder}: {disk.reason(error)}", "fix that, or set workspace to another folder"
        )
    return TOPIC.ok(name, str(folder))


def _check_other_folders(folders: Iterable[NoteFolder]) -> Iterator[Check]:
    for folder in folders:
        wanted = os.R_OK | os.X_OK | (os.W_OK if folder.is_writable else 0)
        access = phrases.FOLDER_ACCESS[folder.is_writable]
        if why := folder.explain_absence():
            fix = "mount it, or correct its path under [[memory.folders]]; until then, its notes stay in the index"
            yield TOPIC.warn(folder.name, why, fix)
        elif not has_access(folder.path, wanted):
            fix = f"give {current_user()} the right to {'write' if folder.is_writable else 'read'} it"
            yield TOPIC.warn(folder.name, f"{folder.path}: permission denied", fix)
        else:
            yield TOPIC.ok(folder.name, f"{folder.path}, {access}")


def _check_missing(name: str, folder: Path) -> Check:
    above = _nearest_existing(folder)
    if not above.is_dir() or not has_access(above, os.W_OK | os.X_OK):
        return TOPIC.fail(
            name,
            f"{folder} does not exist and cannot be created: {current_user()} may not write to {above}",
            f"as a user who may, run: mkdir -p {folder}; then make {current_user()} its owner",
        )
    return TOPIC.ok(name, f"{folder} does not exist yet; the first start creates it")


def _foreign_owner(name: str, path: Path) -> Check:
    read_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    if read_only:
        return TOPIC.fail(name, f"{path} is on a read-only file system", "mount it read-write")
    owner, user = file_owner(path), current_user()
    whose = f"it belongs to {owner}" if owner != user else "its permissions do not allow it"
    return TOPIC.fail(
        name,
        f"{user} may not read and write {path}: {whose}",
        f"as root, run: chown -R {user} {path}; or run Commonplace as {owner}"
        if owner != user
        else f"run: chmod -R u+rwX {path}",
    )


def _check_private(private: Path) -> Iterator[Check]:
    of_chats = [*_database_files(private / "state.db"), *_database_files(private / "conversations.db")]
    folders = [private / name for name in ("locks", "backups", "tmp", "trash")]
    for path in (*of_chats, *_database_files(private / "index.db"), *folders):
        if os.path.lexists(path) and not has_access(path, os.R_OK | os.W_OK):
            yield _foreign_owner(path.name, path)
    for path in of_chats:
        if path.is_file() and path.stat().st_mode & 0o077:
            yield TOPIC.warn(
                path.name,
                f"other users of this machine can read the conversations in {path}",
                f"run: chmod 600 {path}",
            )


def _database_files(database: Path) -> list[Path]:
    return [database.with_name(f"{database.name}{suffix}") for suffix in ("", "-wal", "-shm")]


def _check_room(folder: Path) -> Iterator[Check]:
    free, name = shutil.disk_usage(folder).free, "free space"
    detail = f"{format_size(free)} free on the disk of {folder}"
    if free < FULL_BYTES:
        yield TOPIC.fail(name, f"only {detail}", "free up some space: nothing can be saved on a full disk")
    elif free < LOW_BYTES:
        yield TOPIC.warn(name, f"only {detail}", "free up some space before the disk is full")
    else:
        yield TOPIC.ok(name, detail)
    numbers = os.statvfs(folder)
    if numbers.f_files and numbers.f_favail < LOW_INODES:
        detail = f"only {numbers.f_favail} more files can be created on the disk of {folder}"
        yield TOPIC.warn("free inodes", detail, "delete files that nobody needs")


def _check_disk(private: Path, folder: Path | None) -> Iterator[Check]:
    """Check the file system of .commonplace, and whether SQLite's WAL works in `folder`, if given."""
    kind, name = find_file_system(_nearest_existing(private)), "file system"
    if kind in ELSEWHERE or kind.startswith("fuse"):
        detail = f".commonplace is on {kind}, where SQLite's WAL is not safe and state.db may get damaged"
        yield TOPIC.warn(name, detail, LOCAL_DISK)
    elif kind in TEMPORARY_FILE_SYSTEMS:
        detail = f".commonplace is on {kind} and will be lost with the container or at the next boot"
        yield TOPIC.warn(name, detail, LOCAL_DISK)
    else:
        yield TOPIC.ok(name, kind or "unknown on this system")
    if folder is None:
        return
    try:
        with _scratch_folder(folder) as scratch:
            fault = wal_problem(scratch / "trial.db")
    except OSError as error:
        yield TOPIC.fail(
            "writing", f"{folder}: {disk.reason(error)}", "fix that, or set workspace to another folder"
        )
        return
    if fault:
        yield TOPIC.fail("journal", f"SQLite's WAL does not work in {folder}: {fault}", LOCAL_DISK)
    else:
        yield TOPIC.ok("journal", "SQLite's WAL works")


def wal_problem(file: Path) -> str:
    """Return why SQLite cannot read and write concurrently in this folder, "" if it can.

    Raises OSError if the file cannot be written at all.
    """
    file.write_bytes(b"")
    try:
        writer = apsw.Connection(str(file))
        try:
            mode = writer.execute("PRAGMA journal_mode = WAL").get
            if mode != "wal":
                return f"the journal mode stays {mode}"
            writer.execute("CREATE TABLE trial (number INTEGER); INSERT INTO trial VALUES (1)")
            reader = apsw.Connection(str(file))
            try:
                writer.execute("BEGIN IMMEDIATE; INSERT INTO trial VALUES (2)")
                seen: int = reader.execute("SELECT count(*) FROM trial").get
                writer.execute("COMMIT")
                return "" if seen == 1 else "a reader sees uncommitted data"
            finally:
                reader.close()
        finally:
            writer.close()
    except apsw.Error as error:
        return str(error)


def _check_events(private: Path) -> Iterator[Check]:
    if not private.is_dir():
        yield WATCHING.ok("events", "checked once .commonplace exists")
        return
    try:
        with _scratch_folder(private) as scratch:
            fault = explain_missing_events(scratch, lambda: (scratch / "trial").write_bytes(b"\n"))
    except OSError:  # reported by check_folders
        return
    if fault:
        yield WATCHING.warn("events", fault, "fix that; until then, the notes are scanned every few seconds")
    else:
        yield WATCHING.ok("events", "the system reports changes in .commonplace")


def _check_limit(folders: Iterable[Path]) -> Iterator[Check]:
    try:
        limit = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return
    count = sum(1 for folder in folders for _ in os.walk(folder))
    if 2 * count > limit:
        detail = (
            f"the notes are in {count} folders, but all programs of a user together can only watch {limit}"
        )
        yield WATCHING.warn(
            "limit", detail, f"run: sysctl fs.inotify.max_user_watches={max(524_288, 4 * count)}"
        )


@contextmanager
def _scratch_folder(folder: Path) -> Iterator[Path]:
    """Open a temporary folder, deleted at the end. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=folder, ignore_cleanup_errors=True) as made:
        yield Path(made)


def _nearest_existing(path: Path) -> Path:
    """Return the path, or the nearest of its parents that exists."""
    return next(each for each in (path, *path.parents) if each.exists())
