"""What is in one folder of notes, without what is below: fast, however many notes there are in all."""

import errno
import os
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nsmallest
from threading import Lock
from typing import Final

from memory import disk
from memory.dates import CORE_NOTE
from memory.dates.note_name import note_date
from memory.errors import NoteMissing, NoteUnreadable
from memory.listing import NoteStat, Problem, find_entries
from memory.note_folders import NoteFolders
from memory.paths import NotePath, format_path, open_note_folder, resolve_folder_path

MAX_KEPT: Final = 8
"""Listings that are kept for the next page."""
_RECENT_NS: Final = 2_000_000_000
"""The time of a folder may stay the same while it changes; a listing of one that changed so recently is not kept."""


class NoteNames:
    """The names of a folder's notes: the core note, daily logs from the latest, then the other notes by name.

    Sorting a hundred thousand takes longer than all the rest of a first page, so that waits for the second one.
    """

    def __init__(self, names: Collection[str]) -> None:
        """`names`: in any order."""
        self._names = names
        self._sorted: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self._names)

    def between(self, start: int, stop: int) -> Sequence[str]:
        """Return the names from `start` up to `stop` (0-based, exclusive)."""
        if self._sorted is None:
            if start == 0 and stop < len(self._names):
                return _sort_notes(self._names, first=stop)
            self._sorted = _sort_notes(self._names)
        return self._sorted[start:stop]


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The names in one folder."""

    folders: Sequence[str]
    """Folders in it, by name; those named under [[memory.folders]] are in the memory's own."""
    notes: NoteNames
    problems: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class FolderPage:
    """Some of what is in one folder."""

    folders: Sequence[str]
    notes: Sequence[NoteStat]
    titles: Sequence[str]
    """Of the notes; "" for one without."""
    first: int
    """The number of the first entry, folders before notes; 0-based."""
    entries: int
    """How many folders and notes there are in all."""
    all_notes: int
    problems: Sequence[Problem]


class FolderLister:
    """Lists folders. Methods may be called from any thread."""

    def __init__(self, folders: NoteFolders) -> None:
        self._folders = folders
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[tuple[int, int, int], FolderListing]] = OrderedDict()

    def list(self, path: str) -> FolderListing:
        """Return what is in a folder ("" for the memory's own).

        Raises `NoteMissing`, `NoteUnreadable` (also if a folder under [[memory.folders]] is away), `PathRefused`.
        """
        place = resolve_folder_path(self._folders, path)
        below = "/".join(place.parts[:-1])
        if below and place.folder.excludes_all_in(below):
            raise NoteMissing(
                "{path} is left out by `exclude` under [[memory.folders]].", path=format_path(path)
            )
        if place.folder.name and (why := place.folder.explain_absence()):
            raise NoteUnreadable(
                "The folder {folder} is away: {reason}.", folder=place.folder.name, reason=why
            )
        try:
            with open_note_folder(place) as fd:
                return self._list_opened(fd, place, path)
        except (FileNotFoundError, NotADirectoryError):
            if not path:
                return FolderListing([each.name for each in self._folders.others], NoteNames(()), [])
            raise NoteMissing("There is no folder {path}.", path=format_path(path)) from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise NoteMissing(
                    "There is no folder {path}; it is a symbolic link.", path=format_path(path)
                ) from None
            raise NoteUnreadable(
                "{path} could not be read: {reason}.", path=format_path(path), reason=disk.reason(error)
            ) from error

    def stat(self, path: str, names: Collection[str]) -> Sequence[NoteStat]:
        """Return the metadata of these notes in a folder, in order, without those that are gone."""
        place = resolve_folder_path(self._folders, path)
        prefix, found = f"{path}/" if path else "", list[NoteStat]()
        with suppress(OSError), open_note_folder(place) as fd:
            for name in names:
                with suppress(OSError):
                    stat = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    found.append(NoteStat.of(prefix + name, stat))
        return found

    def _list_opened(self, fd: int, place: NotePath, path: str) -> FolderListing:
        found = os.fstat(fd)
        version = (found.st_dev, found.st_ino, found.st_mtime_ns)
        with self._lock:
            kept = self._kept.get(path)
            if kept and kept[0] == version:
                self._kept.move_to_end(path)
                return kept[1]
        listing = self._read(fd, place, is_root=not path)
        if not listing.problems and time.time_ns() - found.st_mtime_ns > _RECENT_NS:
            with self._lock:
                self._kept[path] = (version, listing)
                while len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
        return listing

    def _read(self, fd: int, place: NotePath, *, is_root: bool) -> FolderListing:
        others = [each.name for each in self._folders.others]
        entries = find_entries(place.folder, fd, "/".join(place.parts[:-1]), taken=frozenset(others))
        folders = sorted([*entries.folders, *(others if is_root else ())], key=str.casefold)
        return FolderListing(folders, NoteNames(entries.notes), entries.problems)


def _sort_notes(names: Collection[str], *, first: int | None = None) -> list[str]:
    """Return the names in order: all, or only the `first` of them, which is faster."""
    core = [CORE_NOTE] if CORE_NOTE in names else []
    days = [(-day.toordinal(), name) for name in names if "0" <= name[0] <= "9" and (day := note_date(name))]
    days.sort()
    above = [*core, *(name for _, name in days)]
    known = frozenset(above)
    rest = [name for name in names if name not in known] if known else names
    if first is None:
        return [*above, *sorted(rest, key=str.casefold)]
    return [*above[:first], *nsmallest(first - len(above), rest, key=str.casefold)]
