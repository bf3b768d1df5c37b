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
from typing import NamedTuple

from memory.disk import reason
from memory.normalization import normalize
from memory.note_folders import NoteFolder, NoteFolders
from memory.paths import find_name_fault, format_path, is_note_name
from memory.translatable import Translatable

# Matches nearly all names; the others are checked one by one. No device has so long a name, but for spaces at its end.
_PLAIN_NAME = re.compile(r"[0-9A-Za-z_ -]{4,199}[0-9A-Za-z_-]\.md")
_PLAIN_NAMES = re.compile(rf"(?:{_PLAIN_NAME.pattern}/)*+")
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
    """A file or folder that cannot be read as a note or as notes, and why."""

    path: str
    """Of a file or folder. Whatever the index holds of it or below it stays there."""
    reason: str
    hides_notes: bool = False
    """True if searches may miss text because of it."""
    away: str = ""
    """Why nothing of it can be read, if it is a whole folder that is away; else ""."""
    was_read: bool = False
    """True if all of its text was read nevertheless."""

    def describe_away(self) -> str:
        """Return that the folder is away and why, without a full stop."""
        return Translatable("The folder {folder} is away: {reason}", folder=self.path, reason=self.away)


@dataclass(frozen=True, slots=True)
class Listing:
    """The result of a walk, in no order."""

    notes: list[NoteStat]
    problems: list[Problem]
    unchanged: list[str] = field(default_factory=list)
    """Paths of notes that are still as in `known`; they are not in `notes`."""
    excluded: list[str] = field(default_factory=list)
    """Paths in `known` that the settings exclude, in folders that are away: they leave the index all the same."""

    def find_away(self, path: str) -> Problem | None:
        """Return the problem that the folder at the top of a path, in any case, is away; None if it is not."""
        top = path.partition("/")[0].casefold()
        return next((each for each in self.problems if each.away and each.path.casefold() == top), None)


def list_notes(folders: NoteFolders, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
    """Find every note in all folders; nothing if the memory's own folder is missing.

    `known` holds size, mtime_ns and ctime_ns of notes by path: for an unchanged note only the path is
    returned, which halves the work.

    Hidden files and folders are skipped. Symbolic links are not followed: a target inside the folder is found
    under its own name, and one outside is a problem. Unreadable files are problems too, and never raise. A
    folder elsewhere that is away is one problem: it does not exist, or holds no note although `known` has some of it.
    """
    names = frozenset(folder.name for folder in folders.others)
    listings = [_FolderWalk(folder, known or {}, taken=names).listing() for folder in folders]
    if len(listings) == 1:
        return listings[0]
    return Listing(
        [note for listing in listings for note in listing.notes],
        [problem for listing in listings for problem in listing.problems],
        [path for listing in listings for path in listing.unchanged],
        [path for listing in listings for path in listing.excluded],
    )


@dataclass(frozen=True, slots=True)
class FolderEntries:
    """The names in one folder, in no order."""

    folders: list[str]
    notes: list[str]
    problems: list[Problem]


def find_entries(folder: NoteFolder, fd: int, below: str, *, taken: frozenset[str]) -> FolderEntries:
    """Return what is in an open folder, of which `below` is the path in the folder of notes; stats no plain note.

    `taken`: names of other folders of notes. What is hidden or excluded is left out. Raises OSError.
    """
    walk = _FolderWalk(folder, {}, taken=taken)
    walk.folders.clear()
    prefix, names, others = f"{below}/" if below else "", list[str](), list[os.DirEntry[str]]()
    keep = names.append
    with os.scandir(fd) as entries:
        # Of a hundred thousand notes, whatever is done for each one is most of the time.
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                keep(entry.name)
            else:
                others.append(entry)
    for entry in others:
        if entry.name[0] != ".":
            walk.check_entry(prefix + entry.name, entry)
    if not _PLAIN_NAMES.fullmatch("/".join((*names, ""))):
        names = [name for name in names if _PLAIN_NAME.fullmatch(name) or walk.check_file(prefix, name)]
    cut = len(walk.prefix + prefix)
    names += (note.path[cut:] for note in walk.notes)
    if folder.exclude:
        names = [name for name in names if not folder.excludes(prefix + name)]
    return FolderEntries([path[len(prefix) :] for path in walk.folders], names, walk.problems)


def list_files(folders: NoteFolders, *, limit: int) -> list[str]:
    """Return the paths of up to `limit` files, notes and others, below no hidden folder; never raises."""
    found: list[str] = []
    for folder in folders:
        for above, names_of_folders, names in os.walk(folder.path):
            names_of_folders[:] = [name for name in names_of_folders if not name.startswith(".")]
            below = os.path.relpath(above, folder.path)
            prefix = "" if below == "." else f"{below}/"
            found += (folder.prefix + prefix + name for name in names if not folder.excludes(prefix + name))
            if len(found) >= limit:
                return found[:limit]
    return found


class _FolderWalk:
    def __init__(
        self, folder: NoteFolder, known: Mapping[str, tuple[int, int, int]], *, taken: frozenset[str]
    ) -> None:
        """`taken`: names of top-level folders that are not this folder's, but other folders of notes."""
        self.folder = folder
        self.root = os.path.realpath(folder.path)
        self.prefix = folder.prefix
        self.taken = frozenset() if folder.name else taken
        self.known = known
        self.unchanged: list[str] = []
        self.notes: list[NoteStat] = []
        self.problems: list[Problem] = []
        self.folders = [""]
        """Paths below the root that are still to be scanned."""
        self.twins: dict[tuple[int, int], int] = {}

    def listing(self) -> Listing:
        before = _identity(self.root)
        while self.folders:
            folder = self.folders.pop()
            try:
                self.scan(folder)
            except FileNotFoundError:
                continue  # deleted meanwhile, or nothing was ever written
            except OSError as error:
                not_folder = error.errno == errno.ENOTDIR
                self.add_problem(
                    folder or ".",
                    Translatable("it is not a folder") if not_folder else reason(error),
                    hides_notes=True,
                )
        if self.folder.name and (away := self.find_away(before)):
            return Listing([], [away], excluded=self.find_excluded())
        if self.folder.exclude:
            self.drop_excluded()
        return Listing(self.notes, self.problems, self.unchanged)

    def find_away(self, before: tuple[int, int] | None) -> Problem | None:
        """Return the problem that this folder is away, or was replaced during the walk; None if it is there.

        `before` identifies the folder before the walk.
        """
        is_other = before is None or before != _identity(self.root)
        if not is_other and (self.notes or self.unchanged):
            return None
        has_known = any(path.startswith(self.prefix) for path in self.known)
        why = self.folder.explain_absence()
        if not (why or is_other or has_known):
            return None  # a new folder without notes
        why = why or Translatable("{path} has no notes left", path=self.folder.path)
        told = (
            Translatable("away: {reason}; searches still find what was indexed before", reason=why)
            if has_known
            else Translatable("away: {reason}", reason=why)
        )
        return Problem(self.folder.name, told, hides_notes=not has_known, away=why)

    def find_excluded(self) -> list[str]:
        if not self.folder.exclude:
            return []
        cut = len(self.prefix)
        known = (path for path in self.known if path.startswith(self.prefix))
        return [path for path in known if self.folder.excludes(path[cut:])]

    def drop_excluded(self) -> None:
        cut, excludes = len(self.prefix), self.folder.excludes
        self.notes = [note for note in self.notes if not excludes(note.path[cut:])]
        self.unchanged = [path for path in self.unchanged if not excludes(path[cut:])]
        self.problems = [problem for problem in self.problems if not excludes(problem.path[cut:])]

    def scan(self, folder: str) -> None:
        """Scan one folder by its descriptor; the common case is inlined for speed."""
        below = f"{folder}/" if folder else ""
        prefix = self.prefix + below
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
                        self.check_entry(below + name, entry)
        finally:
            os.close(fd)

    def check_file(self, above: str, name: str) -> bool:
        """Return whether a file's name is that of a note; one that could be but may not is a problem."""
        if is_note_name(name) and not find_name_fault(name) and name not in self.taken:
            return True
        if self.taken and normalize("NFC", above + name) in self.taken:
            self.add_name_problem(above + name)
        elif name[0] != "." and is_note_name(name):
            self.add_problem(above + name, find_name_fault(name), hides_notes=True)
        return False

    def check_entry(self, below: str, entry: os.DirEntry[str]) -> None:
        """Check an entry that is not obviously a note; `below` is its path from the root."""
        is_note = is_note_name(entry.name)
        if self.taken and normalize("NFC", below) in self.taken:
            self.add_name_problem(below)
        elif entry.is_symlink():
            self.check_link(below, is_note=is_note)
        elif entry.is_dir(follow_symlinks=False):
            if fault := find_name_fault(entry.name):
                self.add_problem(below, fault, hides_notes=True)
            elif not self.folder.excludes_all_in(below):
                self.folders.append(below)
        elif not is_note:
            return
        elif fault := find_name_fault(entry.name):
            self.add_problem(below, fault, hides_notes=True)
        elif entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                self.add(self.prefix + below, entry.stat(follow_symlinks=False))
        else:
            self.add_problem(below, Translatable("it is a pipe, a socket or a device, not a file"))

    def check_link(self, below: str, *, is_note: bool) -> None:
        # pathlib raises if a folder on the way may not be entered, which would hide everything beside the
        # link.
        real = os.path.realpath(f"{self.root}/{below}")
        is_folder = os.path.isdir(real)  # noqa: PTH112
        if not (is_note or is_folder):
            return
        if not f"{real}/".startswith(f"{self.root}/"):
            home = self.folder.name or "memory"
            self.add_problem(
                below,
                Translatable("it is a symbolic link that leads out of the {folder} folder", folder=home),
            )
        elif fault := _find_link_fault(real):
            self.add_problem(below, fault)
        elif not is_folder and (
            not is_note_name(real) or any(map(find_name_fault, real[len(self.root) + 1 :].split("/")))
        ):
            self.add_problem(below, Translatable("it is a symbolic link to a file that is not a note"))

    def add(self, path: str, found: os.stat_result) -> None:
        note = NoteStat.of(path, found)
        if found.st_nlink > 1:
            if self.folder.excludes(path[len(self.prefix) :]):
                return
            # A file with several names is one note, under the first name.
            place = self.twins.setdefault((found.st_dev, found.st_ino), len(self.notes))
            if place < len(self.notes):
                self.notes[place] = min(note, self.notes[place])
                return
        self.notes.append(note)

    def add_name_problem(self, below: str) -> None:
        why = Translatable("[[memory.folders]] uses this name for another folder; rename one of them")
        self.problems.append(Problem(f"{self.folder.path.name}/{below}", why, hides_notes=True))

    def add_problem(self, below: str, why: str, *, hides_notes: bool = False) -> None:
        path = self.folder.name if self.folder.name and below == "." else self.prefix + below
        self.problems.append(Problem(format_path(path), why, hides_notes))


def _identity(root: str) -> tuple[int, int] | None:
    """Return an id of the folder at this path; None if there is none."""
    try:
        found = os.stat(root)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _find_link_fault(real: str) -> str:
    """Return what is wrong with the target of a symbolic link; "" if nothing is."""
    try:
        found = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError):
        return Translatable("it is a symbolic link that leads nowhere")
    except OSError as error:
        return Translatable(
            "it is a symbolic link whose target cannot be read: {reason}", reason=reason(error)
        )
    return Translatable("it is a symbolic link that leads nowhere") if stat.S_ISLNK(found.st_mode) else ""
