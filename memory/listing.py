"""Find every note in a folder by one fast walk."""

import errno
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from memory.disk import reason
from memory.paths import find_name_fault, format_path, is_note_name

# Matches nearly all names; the others are checked one by one.
_PLAIN_NAME = re.compile(r"[0-9A-Za-z_-]{5,200}\.md")
_version_of = attrgetter("st_size", "st_mtime_ns", "st_ino", "st_ctime_ns")
_stamp_of = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns")


class NoteStat(NamedTuple):
    """Metadata that distinguishes versions of a note. A tuple, since a walk creates ten thousand of them."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int
    """Also changes when a tool sets the modification time back."""

    @classmethod
    def of(cls, path: str, found: os.stat_result) -> "NoteStat":
        """Convert the result of `stat`."""
        return cls(path, *_version_of(found))

    def modified(self, zone: tzinfo | None) -> datetime | None:
        """Return the modification time; None if it is outside the calendar."""
        try:
            return datetime.fromtimestamp(self.mtime_ns / 1e9, zone)
        except (ValueError, OverflowError, OSError):
            return None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the memory folder that cannot be read as a note, and why."""

    path: str
    reason: str
    hides_notes: bool = False
    """True if searches may miss text because of it."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The result of a walk, in no order."""

    notes: list[NoteStat]
    problems: list[Problem]
    unchanged: list[str] = field(default_factory=list)
    """Paths of notes that are still as in `known`; they are not in `notes`."""


def list_notes(folder: Path, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
    """Find every note in `folder`; nothing if the folder is missing.

    `known` holds size, mtime_ns and ctime_ns of notes by path: for an unchanged note only the path is
    returned, which halves the work.

    Hidden files and folders are skipped. Symbolic links are not followed: a target inside the folder is found
    under its own name, and one outside is a problem. Unreadable files are problems too, and never raise.
    """
    return _FolderWalk(os.path.realpath(folder), known or {}).listing()


def list_files(folder: Path, *, limit: int) -> list[str]:
    """Return the paths of up to `limit` files in `folder`, notes and others, below no hidden folder; never raises."""
    found: list[str] = []
    for above, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = os.path.relpath(above, folder)
        prefix = "" if below == "." else f"{below}/"
        found += (prefix + name for name in names)
        if len(found) >= limit:
            break
    return found[:limit]


class _FolderWalk:
    def __init__(self, root: str, known: Mapping[str, tuple[int, int, int]]) -> None:
        self.root = root
        self.known = known
        self.unchanged: list[str] = []
        self.notes: list[NoteStat] = []
        self.problems: list[Problem] = []
        self.folders = [""]
        self.twins: dict[tuple[int, int], int] = {}

    def listing(self) -> Listing:
        while self.folders:
            folder = self.folders.pop()
            try:
                self.scan(folder)
            except FileNotFoundError:
                continue  # deleted meanwhile, or nothing was ever written
            except OSError as error:
                not_folder = error.errno == errno.ENOTDIR
                self.add_problem(
                    folder or ".", "it is not a folder" if not_folder else reason(error), hides_notes=True
                )
        return Listing(self.notes, self.problems, self.unchanged)

    def scan(self, folder: str) -> None:
        """Scan one folder by its descriptor; the common case is inlined for speed."""
        prefix = f"{folder}/" if folder else ""
        path = f"{self.root}/{folder}" if folder else self.root
        is_plain, keep, new = _PLAIN_NAME.fullmatch, self.notes.append, tuple.__new__
        known, is_unchanged = self.known.get, self.unchanged.append
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    name = entry.name
                    before = known(prefix + name)
                    if before is not None and entry.is_file(follow_symlinks=False):
                        try:
                            found = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        if _stamp_of(found) == before and found.st_nlink == 1:
                            is_unchanged(prefix + name)
                        else:
                            self.add(prefix + name, found)
                    elif is_plain(name) and entry.is_file(follow_symlinks=False):
                        try:
                            found = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        if found.st_nlink == 1:
                            keep(new(NoteStat, (prefix + name, *_version_of(found))))
                        else:
                            self.add(prefix + name, found)
                    elif name[0] != ".":
                        self.check_entry(prefix + name, entry)
        finally:
            os.close(fd)

    def check_entry(self, path: str, entry: os.DirEntry[str]) -> None:
        """Check an entry that is not obviously a note."""
        is_note = is_note_name(entry.name)
        if entry.is_symlink():
            self.check_link(path, is_note=is_note)
        elif entry.is_dir(follow_symlinks=False):
            if fault := find_name_fault(entry.name):
                self.add_problem(path, fault, hides_notes=True)
            else:
                self.folders.append(path)
        elif not is_note:
            return
        elif fault := find_name_fault(entry.name):
            self.add_problem(path, fault, hides_notes=True)
        elif entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                self.add(path, entry.stat(follow_symlinks=False))
        else:
            self.add_problem(path, "it is a pipe, a socket or a device, not a file")

    def check_link(self, path: str, *, is_note: bool) -> None:
        # pathlib raises if a folder on the way may not be entered, which would hide everything beside the
        # link.
        real = os.path.realpath(f"{self.root}/{path}")
        is_folder = os.path.isdir(real)  # noqa: PTH112
        if not (is_note or is_folder):
            return
        if not f"{real}/".startswith(f"{self.root}/"):
            self.add_problem(path, "it is a symbolic link that leads out of the memory folder")
        elif fault := _find_link_fault(real):
            self.add_problem(path, fault)
        elif not is_folder and (
            not is_note_name(real) or any(map(find_name_fault, real[len(self.root) + 1 :].split("/")))
        ):
            self.add_problem(path, "it is a symbolic link to a file that is not a note")

    def add(self, path: str, found: os.stat_result) -> None:
        note = NoteStat.of(path, found)
        if found.st_nlink > 1:
            # A file with several names is one note, under the first name.
            place = self.twins.setdefault((found.st_dev, found.st_ino), len(self.notes))
            if place < len(self.notes):
                self.notes[place] = min(note, self.notes[place])
                return
        self.notes.append(note)

    def add_problem(self, path: str, why: str, *, hides_notes: bool = False) -> None:
        self.problems.append(Problem(format_path(path), why, hides_notes))


def _find_link_fault(real: str) -> str:
    """Return what is wrong with the target of a symbolic link; "" if nothing is."""
    try:
        found = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError):
        return "it is a symbolic link that leads nowhere"
    except OSError as error:
        return f"it is a symbolic link whose target cannot be read: {reason(error)}"
    return "it is a symbolic link that leads nowhere" if stat.S_ISLNK(found.st_mode) else ""
