"""Safe file operations: opening without following links, and writing completely or not at all."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.translatable import Translatable

_REASONS = {
    errno.ENOSPC: Translatable("the disk is full; free some space and try again"),
    errno.EDQUOT: Translatable("the disk quota is used up; free some space and try again"),
    errno.EFBIG: Translatable("the file would become larger than the system allows"),
    errno.EACCES: Translatable("permission denied; give the user who runs this program access to it"),
    errno.EPERM: Translatable("permission denied; give the user who runs this program access to it"),
    errno.EROFS: Translatable("the file system is read-only; mount it so that it can be written to"),
    errno.EISDIR: Translatable("it is a folder, not a file; rename the folder"),
    errno.ENOTDIR: Translatable("a part of its path is a file, not a folder"),
    errno.ELOOP: Translatable("it is a symbolic link that leads nowhere"),
    errno.ENXIO: Translatable("it is a pipe, a socket or a device, not a file"),
    errno.EIO: Translatable("the disk reported an error"),
    errno.ENAMETOOLONG: Translatable("its path is too long"),
    errno.EXDEV: Translatable("the two folders are on different disks"),
}
# Errors from file systems without hard links, or for files that are not ours.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def reason(error: OSError) -> str:
    """Return a readable reason for the error, with the fix if there is one."""
    code = error.errno or 0
    return _REASONS.get(code) or os.strerror(code).lower()


def open_file(name: str, flags: int, *, folder: int) -> int:
    """Open a regular file in an open folder; follows no link and does not block on a pipe. Raises OSError."""
    _check_is_file(os.stat(name, dir_fd=folder, follow_symlinks=False))
    fd = os.open(name, flags | _SAFE, dir_fd=folder)
    try:
        _check_is_file(os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def create_file(name: str, flags: int, *, folder: int) -> int:
    """Create a file that must not exist. Raises OSError."""
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | _SAFE, 0o666, dir_fd=folder)


def read_all(fd: int, *, limit: int) -> bytes:
    """Read an open file from its start, at most `limit` bytes."""
    os.lseek(fd, 0, os.SEEK_SET)
    pieces = []
    left = limit
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def same_version(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether both are the same file, not modified in between."""
    return os.path.samestat(one, other) and (one.st_size, one.st_mtime_ns) == (
        other.st_size,
        other.st_mtime_ns,
    )


def append_bytes(fd: int, data: bytes) -> int:
    """Append `data` to an O_APPEND descriptor and sync it, completely or not at all; return its offset.

    Raises OSError after removing what was written.
    """
    before = os.fstat(fd).st_size
    done = 0
    try:
        while done < len(data):
            done += os.write(fd, data[done:] if done else data)
        os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            # Truncate only our own bytes: if another program has appended, a partial line is the lesser evil.
            if done and os.fstat(fd).st_size == before + done:
                os.ftruncate(fd, before)
                os.fsync(fd)
        raise
    return os.lseek(fd, 0, os.SEEK_CUR) - len(data)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to our user only; an existing one is unchanged.

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
    """Open a private folder, creating it if missing; yields its descriptor. Raises OSError."""
    make_private_folder(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def remove_stale_files(folder: Path, *, pattern: str, seconds: float) -> None:
    """Remove files left by a crash; those younger than `seconds` may be in use."""
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > seconds:
                path.unlink()


def sync_folder(fd: int) -> None:
    """Sync an open folder, so that a new name is durable, if the file system supports that."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}:
            raise


def rename_to_new(name: str, new: str, *, folder: int, to: int | None = None) -> bool:
    """Rename a file, never over an existing one; return False if the name is taken.

    `folder` and `to` are open folders; without `to`, the file stays in its own. A hard link comes first, since a rename
    would replace a file that was created in between. A file that a crash has left with both names keeps the new one.
    Raises OSError.
    """
    into = folder if to is None else to
    try:
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=into, follow_symlinks=False)
    except FileExistsError:
        if not is_same_file(name, new, folder=folder, to=into):
            return False
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_nlink == 1:
            # One name in two spellings, which this file system treats alike.
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)
            return True
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _rename_to_reserved(name, new, folder=folder, to=into)
    if not is_same_file(name, new, folder=folder, to=into):
        # An editor saved at this moment: rename what it saved, not the previous version.
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)
        return True
    if into != folder:
        sync_folder(into)  # before the old name is gone
    os.unlink(name, dir_fd=folder)
    return True


def _rename_to_reserved(name: str, new: str, *, folder: int, to: int) -> bool:
    """Do the same without hard links: an empty file reserves the new name."""
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=to))
    except FileExistsError:
        return False
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=to)
    except BaseException:
        os.unlink(new, dir_fd=to)
        raise
    return True


def is_same_file(one: str, other: str, *, folder: int, to: int | None = None) -> bool:
    """Return whether two names, the second one in the open folder `to` if given, are of one file. Raises OSError."""
    found = os.stat(one, dir_fd=folder, follow_symlinks=False)
    into = folder if to is None else to
    return os.path.samestat(found, os.stat(other, dir_fd=into, follow_symlinks=False))


def write_new(name: str, data: bytes, *, folder: int) -> None:
    """Write a new file and sync it, completely or not at all. Raises OSError."""
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
    """Write the next version of the open file `like` under `name`, with its mode and owner.

    The draft is removed when the block ends unless it was renamed. Raises OSError, also if the owner cannot
    be set.
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
    """Overwrite a file that nothing can be renamed onto; the caller has saved `old` elsewhere.

    Raises OSError after restoring `old`.
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
