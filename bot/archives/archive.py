"""The backup archive: a .tar.gz of the notes and a copy of state.db, with a manifest at its end.

It holds every regular file below the notes folder, including pictures and the like, under `memory/`. Hidden files and
folders are left out, and so are symbolic links: their targets inside the folder are there under their own names, and
nothing outside is included.
"""

import errno
import gzip
import hashlib
import json
import os
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

from bot.archives.errors import ArchiveCorrupted, BackupError
from bot.archives.gzip_member import open_member
from bot.archives.tar_members import ForeignArchive, MemberContent, read_members
from bot.sanitize import one_line
from bot.state.snapshot import SnapshotStopped
from memory import disk, hidden_lines
from memory.errors import NoteUnreadable
from memory.paths import NAME_MAX_BYTES, format_path
from memory.translatable import Translatable, map_fields

FORMAT = 3
"""1: always with the notes; 2: may be without them; 3: may have hidden lines. Each archive names the lowest version
that can read it."""
MANIFEST = "commonplace-backup.json"
STATE = "state.db"
NOTES = "memory"
BESIDE_NOTES = (STATE, hidden_lines.FILE)
"""Files that may be in an archive beside the notes."""

CHUNK_BYTES = 1 << 18
MAX_FILES = 1_000_000
MAX_MANIFEST_BYTES = 1 << 16
MAX_PROBLEMS = 50
MAX_NAME_CHARS = 4096
"""Characters of a path; no system allows more bytes."""
MAX_NAMES_CHARS = 128 << 20
"""Characters of all names together, which are held in memory to find duplicates."""
MAX_PADDING_BYTES = 1 << 16
"""Zero bytes that may follow the last file."""
SPOOL_BYTES = 4 << 20
"""Larger files go through a temporary file, until it is certain that they did not change meanwhile."""
RECENT_CHANGE_NS = 2_000_000_000
MAX_TRIES = 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in an archive."""

    made_at: str
    """ISO 8601, in UTC."""
    version: str
    """Version of the program that made it."""
    files: int
    """Number of files of the notes folder."""
    bytes: int
    """Total size, including state.db."""
    state: bool
    """Whether state.db is included; a workspace without any conversation has none."""
    digest: str
    """SHA-256 over name, size and SHA-256 of each file."""
    problems: tuple[str, ...] = ()
    """Files that could not be read, each with the reason; of very many the first ones."""
    notes: bool = True
    """Whether the notes are included, even if there are none; otherwise a restore leaves them as they are."""


class _Tally:
    """Counts and hashes the files of an archive."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.letters = 0
        """Of all names."""
        self._bytes = 0
        self._digest = hashlib.sha256()

    def add(self, name: str, size: int, digest: str) -> None:
        self.names.add(name)
        self.letters += len(name)
        self._bytes += size
        self._digest.update(f"{name}\0{size}\0{digest}\n".encode("utf-8", "surrogateescape"))

    def manifest(self, *, made_at: str, version: str, problems: Sequence[str], notes: bool) -> Manifest:
        state = STATE in self.names
        files = len(self.names.difference(BESIDE_NOTES))
        return Manifest(
            made_at, version, files, self._bytes, state, self._digest.hexdigest(), tuple(problems), notes
        )


# -- writing ------------------------------------------------------------------------------------------------


def write_archive(
    target: BinaryIO,
    *,
    notes: Path | None,
    state: Path | None,
    hidden: Path | None,
    spool: Path,
    made_at: str,
    version: str,
    stopped: Callable[[], bool],
) -> tuple[Manifest, list[str]]:
    """Write notes, a copy of state.db and the hidden lines, if given; return the manifest, and what could not be read.

    A note that changes meanwhile is read again, so that its copy is consistent. `spool`: a folder for copies of large
    files. Raises OSError if the archive cannot be written, SnapshotStopped.
    """
    tally = _Tally()
    problems: list[str] = []
    if hidden is not None:
        try:
            hidden_lines.read_hidden_lines(hidden)
        except NoteUnreadable as fault:  # with it, the archive could not be restored
            problems.append(fault.text)
            hidden = None
    with (
        gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w:", format=tarfile.PAX_FORMAT) as tar,
        tempfile.SpooledTemporaryFile(SPOOL_BYTES, dir=str(spool)) as copy,
    ):
        for member, source in zip(BESIDE_NOTES, (state, hidden), strict=True):
            if source is None:
                continue
            with source.open("rb") as file:
                digest = _digest(file, stopped)
                file.seek(0)
                found = os.fstat(file.fileno())
                _add(tar, member, file, size=found.st_size, mode=0o600, mtime=found.st_mtime, stopped=stopped)
                tally.add(member, found.st_size, digest)
        for name, file_name, folder in _walk_files(notes, problems) if notes else ():
            try:
                found, digest = _copy_unchanged(file_name, folder, copy, stopped)
            except FileNotFoundError:
                continue  # gone meanwhile
            except _SourceError as fault:
                problems.append(Translatable("{path}: {reason}", path=format_path(name), reason=str(fault)))
                continue
            copy.seek(0)
            member = f"{NOTES}/{name}"
            mode = found.st_mode & 0o777
            _add(tar, member, copy, size=found.st_size, mode=mode, mtime=int(found.st_mtime), stopped=stopped)
            tally.add(member, found.st_size, digest)
        problems = [map_fields(problem, partial(one_line, limit=300)) for problem in problems]
        if len(problems) > MAX_PROBLEMS:
            problems[MAX_PROBLEMS:] = [Translatable("and {count} more", count=len(problems) - MAX_PROBLEMS)]
        manifest = tally.manifest(
            made_at=made_at, version=version, problems=problems, notes=notes is not None
        )
        fields = asdict(manifest)
        if manifest.notes:
            del fields["notes"]
        version_needed = 3 if hidden else 1 if manifest.notes else 2
        text = json.dumps({"format": version_needed, **fields}, indent=1).encode() + b"\n"
        copy.seek(0)
        copy.truncate()
        copy.write(text)
        copy.seek(0)
        _add(tar, MANIFEST, copy, size=len(text), mode=0o600, mtime=time.time(), stopped=stopped)
    return manifest, problems


class _SourceError(Exception):
    """A file cannot be read; the text says why."""


def _walk_files(notes: Path, problems: list[str]) -> Iterator[tuple[str, str, int]]:
    """Yield path, name and the open folder of each file, without following links."""
    top = os.path.realpath(notes)
    folders = [""]
    while folders:
        folder = folders.pop()
        prefix = f"{folder}/" if folder else ""
        try:
            fd = os.open(f"{top}/{folder}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(
                Translatable("{path}: {reason}", path=format_path(folder) or ".", reason=disk.reason(error))
            )
            continue
        try:
            with os.scandir(fd) as entries:
                shown = sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if entry.name[0] != "."
                )
            folders += [prefix + name for name, is_folder in reversed(shown) if is_folder]
            for name, is_folder in shown:
                if not is_folder:
                    yield prefix + name, name, fd
        finally:
            os.close(fd)


def _copy_unchanged(
    name: str, folder: int, copy: IO[bytes], stopped: Callable[[], bool]
) -> tuple[os.stat_result, str]:
    """Copy a file in a consistent state, between two writes of other programs. Raises FileNotFoundError."""
    for _ in range(MAX_TRIES):
        try:
            fd = disk.open_file(name, os.O_RDONLY, folder=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO}:  # a link or a pipe: not part of the notes
                raise FileNotFoundError from None
            raise _SourceError(disk.reason(error)) from error
        with os.fdopen(fd, "rb", buffering=0) as file:
            before = os.fstat(fd)
            copy.seek(0)
            copy.truncate()
            digest = _digest(_SourceFile(file), stopped, into=copy)
            # The modification time is that of a write's beginning; if it is recent, only a second read is conclusive.
            young = time.time_ns() - before.st_mtime_ns < RECENT_CHANGE_NS
            if young:
                file.seek(0)
                if _digest(_SourceFile(file), stopped) != digest:
                    continue
            if disk.same_version(before, os.fstat(fd)) and copy.tell() == before.st_size:
                return before, digest
        time.sleep(0.02)
    raise _SourceError("it kept changing while it was being read")


class _SourceFile:
    """Distinguishes a source that cannot be read from an archive that cannot be written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise _SourceError(disk.reason(error)) from error


class _StoppableFile:
    """A file whose reading can be stopped."""

    def __init__(self, file: IO[bytes], stopped: Callable[[], bool]) -> None:
        self._file = file
        self._stopped = stopped

    def read(self, size: int) -> bytes:
        if self._stopped():
            raise SnapshotStopped
        return self._file.read(size)


def _digest(
    file: Any, stopped: Callable[[], bool], *, into: IO[bytes] | None = None, limit: int | None = None
) -> str:
    """Return the SHA-256 of the rest of a file, and copy it to `into` if given."""
    digest = hashlib.sha256()
    left = limit
    while piece := file.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left)):
        if stopped():
            raise SnapshotStopped
        digest.update(piece)
        if into is not None:
            into.write(piece)
        if left is not None:
            left -= len(piece)
    return digest.hexdigest()


def _add(
    tar: tarfile.TarFile,
    name: str,
    file: IO[bytes],
    *,
    size: int,
    mode: int,
    mtime: float,
    stopped: Callable[[], bool],
) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, mode, int(mtime)
    tar.addfile(member, _StoppableFile(file, stopped))  # type: ignore[arg-type]


# -- reading ------------------------------------------------------------------------------------------------


def read_archive(
    source: BinaryIO,
    *,
    name: str,
    into: Path | None = None,
    max_bytes: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Manifest:
    """Read every byte of an archive and return its manifest; with `into`, an empty folder, extract it there.

    Nothing is trusted: members that are no regular files with valid names, files that differ from the manifest, and
    more than `max_bytes` are refused. Raises ArchiveCorrupted, which calls it `name`; BackupError if it is newer;
    OSError if a file cannot be written; SnapshotStopped.
    """
    tally = _Tally()
    manifest: Manifest | None = None
    size = 0
    with _translate_errors(name):
        source.seek(0)
        with open_member(source) as packed:
            for member, content in read_members(packed):
                if stopped():
                    raise SnapshotStopped
                parts = _check_name(member, seen=tally)
                size += member.size
                if max_bytes is not None and size > max_bytes:
                    raise BackupError(_no_room_text(name))
                if manifest is not None:
                    raise ForeignArchive
                if member.name == MANIFEST:
                    manifest = _read_manifest(content.read(MAX_MANIFEST_BYTES), name=name)
                    continue
                if into is None:
                    digest = _digest(content, stopped)
                else:
                    digest = _extract(content, member, into.joinpath(*parts), folder=into, stopped=stopped)
                tally.add(member.name, member.size, digest)
            _check_padding(packed)
    if manifest is None:
        raise ArchiveCorrupted(_damaged_text(name))
    found = tally.manifest(
        made_at=manifest.made_at, version=manifest.version, problems=manifest.problems, notes=manifest.notes
    )
    if found != manifest:
        raise ArchiveCorrupted(_damaged_text(name))
    return manifest


def _check_name(member: tarfile.TarInfo, *, seen: _Tally) -> tuple[str, ...]:
    """Return the parts of a member's name. Raises ForeignArchive unless our archives may contain it."""
    if member.name in seen.names or len(seen.names) > MAX_FILES or seen.letters > MAX_NAMES_CHARS:
        raise ForeignArchive
    if member.name == MANIFEST:
        if member.size > MAX_MANIFEST_BYTES:
            raise ForeignArchive
        return (MANIFEST,)
    if member.name in BESIDE_NOTES:
        return (member.name,)
    parts = tuple(member.name.split("/"))
    if len(parts) < 2 or parts[0] != NOTES:
        raise ForeignArchive
    if len(member.name) > MAX_NAME_CHARS:
        raise ForeignArchive
    for part in parts[1:]:
        # Not hidden either, which includes `.` and `..`.
        length = len(part.encode("utf-8", "surrogateescape"))
        if not part or part[0] == "." or "\0" in part or length > NAME_MAX_BYTES:
            raise ForeignArchive
    return parts


def _extract(
    content: MemberContent,
    member: tarfile.TarInfo,
    path: Path,
    *,
    folder: Path,
    stopped: Callable[[], bool],
) -> str:
    """Write one file below `folder`, which holds only files of this archive; return its SHA-256."""
    safe = getattr(tarfile, "data_filter", lambda member, _: member)(member, str(folder))
    mode = (0o600 if safe.mode is None else safe.mode) & 0o777
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
    except (FileExistsError, NotADirectoryError) as error:
        raise ForeignArchive from error
    with os.fdopen(fd, "wb", buffering=0) as file:
        digest = _digest(content, stopped, into=_FullWriter(file))  # type: ignore[arg-type]
        os.fchmod(fd, mode)
    os.utime(path, (member.mtime, member.mtime))
    return digest


class _FullWriter:
    """Writes all bytes to an unbuffered file: a full disk takes a part, and fails only at the next write."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        done = 0
        while done < len(data):
            done += self._file.write(data[done:])


def _read_manifest(text: bytes, *, name: str) -> Manifest:
    fields = json.loads(text)
    if not isinstance(fields, dict) or not isinstance(written := fields.pop("format", None), int):
        raise ForeignArchive
    if written > FORMAT:
        raise BackupError(f"{name} was made by a newer version of Commonplace: update Commonplace first")
    return parse_manifest(fields)


def parse_manifest(fields: dict[str, Any]) -> Manifest:
    """Return a manifest from its JSON fields. Raises TypeError if they are invalid."""
    problems = fields.get("problems", ())
    if not all(isinstance(each, str) for each in problems):
        raise TypeError(problems)
    return Manifest(**{**fields, "problems": tuple(problems)})


def _check_padding(packed: IO[bytes]) -> None:
    """Read to the end, which also verifies the checksum."""
    rest = packed.read(MAX_PADDING_BYTES + 1)
    if len(rest) > MAX_PADDING_BYTES or rest.strip(b"\0"):
        raise ForeignArchive


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (
        ForeignArchive,
        EOFError,
        zlib.error,
        tarfile.TarError,
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ArchiveCorrupted(_damaged_text(name)) from error


def _damaged_text(name: str) -> str:
    return f"{name} is damaged, or was not made by `commonplace backup`; nothing was changed"


def _no_room_text(name: str) -> str:
    return f"there is not enough disk space to restore {name}; free some space and try again"
