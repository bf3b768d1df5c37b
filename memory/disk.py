"""Bytes on disk: opened without surprises, written whole or not at all."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EFBIG: "the file would become larger than the system allows",
    errno.EACCES: "permission denied; give the user who runs this program access to it",
    errno.EPERM: "permission denied; give the user who runs this program access to it",
    errno.EROFS: "the file system is read-only; mount it so that it can be written to",
    errno.EISDIR: "it is a folder, not a file; rename the folder",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.ELOOP: "it is a symbolic link that leads nowhere",
    errno.ENXIO: "it is a pipe, a socket or a device, not a file",
    errno.EIO: "the disk reports an error",
    errno.ENAMETOOLONG: "its path is too long",
}
# What a file system says that gives a file one name only, and the system of a file that is not ours.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def reason(error: OSError) -> str:
    """Say in plain words why the system refused, with the mend where there is one."""
    code = error.errno or 0
    return _REASONS.get(code) or os.strerror(code).lower()


def open_file(name: str, flags: int, *, folder: int) -> int:
    """Open a regular file in the open folder; never a link, never waiting for a pipe. Raises OSError."""
    _check_is_file(os.stat(name, dir_fd=folder, follow_symlinks=False))
    fd = os.open(name, flags | _SAFE, dir_fd=folder)
    try:
        _check_is_file(os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def create_file(name: str, flags: int, *, folder: int) -> int:
    """Create a file that must not be there yet. Raises OSError."""
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | _SAFE, 0o666, dir_fd=folder)


def read_all(fd: int, *, limit: int) -> bytes:
    """Read an open file from its start to its end, at most `limit` bytes."""
    os.lseek(fd, 0, os.SEEK_SET)
    pieces = []
    left = limit
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def same_version(one: os.stat_result, other: os.stat_result) -> bool:
    """Tell whether both are the same file, not written to in between."""
    return os.path.samestat(one, other) and (one.st_size, one.st_mtime_ns) == (
        other.st_size,
        other.st_mtime_ns,
    )


def append_bytes(fd: int, data: bytes) -> int:
    """Add `data` to an O_APPEND descriptor, whole and on disk, or not at all; gives where it begins.

    Raises OSError after it has taken back what was written of it.
    """
    before = os.fstat(fd).st_size
    done = 0
    try:
        while done < len(data):
            done += os.write(fd, data[done:] if done else data)
        os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            # Only our own bytes: where another program has added some, a torn line is the lesser evil.
            if done and os.fstat(fd).st_size == before + done:
                os.ftruncate(fd, before)
                os.fsync(fd)
        raise
    return os.lseek(fd, 0, os.SEEK_CUR) - len(data)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and what is missing above it, for whoever runs us alone; one that is there stays as it is.

    Raises OSError.
    """
    missing = []
    for each in (folder, *folder.parents):
        if each.is_dir():
            break
        missing.append(each)
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def open_private_folder(folder: Path) -> Iterator[int]:
    """Open a folder of our own, made where it is missing. Raises OSError."""
    make_private_folder(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def remove_stale_files(folder: Path, *, pattern: str, seconds: float) -> None:
    """Remove files that a crash has left; those younger than `seconds` may be in use."""
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > seconds:
                path.unlink()


def sync_folder(fd: int) -> None:
    """Make a new name in an open folder durable, where the file system knows how."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}:
            raise


def rename_to_new(name: str, new: str, *, folder: int) -> bool:
    """Give a file in an open folder another name, never over a file that is there; False where one is. Raises OSError.

    By a second name for it, since a rename would replace whatever was created in between. A file that a crash has left
    with both names keeps the new one.
    """
    try:
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        if not _is_same_file(name, new, folder=folder):
            return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _rename_to_reserved(name, new, folder=folder)
    if not _is_same_file(name, new, folder=folder):
        # An editor has saved in this instant: what it saved is renamed, and not what was there before.
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    os.unlink(name, dir_fd=folder)
    return True


def _rename_to_reserved(name: str, new: str, *, folder: int) -> bool:
    """The same where a file can have one name only: an empty file keeps the new one free for it."""
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
    except FileExistsError:
        return False
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(new, dir_fd=folder)
        raise
    return True


def _is_same_file(one: str, other: str, *, folder: int) -> bool:
    found = [os.stat(name, dir_fd=folder, follow_symlinks=False) for name in (one, other)]
    return os.path.samestat(*found)


def write_new(name: str, data: bytes, *, folder: int) -> None:
    """Write a file that must not be there yet, whole and on disk, or not at all. Raises OSError."""
    fd = create_file(name, os.O_WRONLY, folder=folder)
    try:
        _write_from_start(fd, data)
        sync_folder(folder)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(fd)


@contextmanager
def write_draft(name: str, data: bytes, *, folder: int, like: int) -> Iterator[None]:
    """Write the next version of the open file `like`, with its mode and owner, under `name`; gone at the end.

    Whoever wants to keep it renames it before that. Raises OSError, also where the owner cannot be had.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    fd = create_file(name, os.O_WRONLY, folder=folder)
    try:
        try:
            _copy_mode_and_owner(fd, like)
            _write_from_start(fd, data)
        finally:
            os.close(fd)
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def overwrite(name: str, data: bytes, *, old: bytes, folder: int) -> None:
    """Write over a file where nothing can be renamed onto it; the caller has kept `old` elsewhere.

    Raises OSError after it has put `old` back.
    """
    fd = open_file(name, os.O_WRONLY, folder=folder)
    try:
        try:
            _write_from_start(fd, data)
        except BaseException:
            with contextlib.suppress(OSError):
                _write_from_start(fd, old)
            raise
    finally:
        os.close(fd)


def _write_from_start(fd: int, data: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    done = 0
    while done < len(data):
        done += os.write(fd, data[done:] if done else data)
    os.ftruncate(fd, len(data))
    os.fsync(fd)


def _copy_mode_and_owner(fd: int, like: int) -> None:
    wanted, ours = os.fstat(like), os.fstat(fd)
    if (wanted.st_uid, wanted.st_gid) != (ours.st_uid, ours.st_gid):
        os.fchown(fd, wanted.st_uid, wanted.st_gid)
    os.fchmod(fd, stat.S_IMODE(wanted.st_mode))
    if hasattr(os, "listxattr"):
        for attribute in os.listxattr(like):
            with contextlib.suppress(OSError):
                os.setxattr(fd, attribute, os.getxattr(like, attribute))


def _check_is_file(found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    code = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.ENXIO
    code = errno.ELOOP if stat.S_ISLNK(found.st_mode) else code
    raise OSError(code, os.strerror(code))
