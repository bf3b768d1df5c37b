"""Files beside the notes, such as pictures: found as links name them, and opened."""

import os
import posixpath
from dataclasses import dataclass
from typing import BinaryIO

from memory import disk
from memory.errors import NoteMissing, NoteUnreadable, PathRefused
from memory.link_targets import fold
from memory.listing import list_files
from memory.note_folders import NoteFolders
from memory.paths import format_path, open_note_folder, resolve_file_path

MAX_LISTED = 200_000
"""Files among which a name is looked for."""
MAX_TARGETS = 1_000
"""Different targets of one note that are looked for; a note of thousands would take seconds."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file that is open for reading. Whoever gets it closes it."""

    path: str
    size: int
    """In bytes."""
    file: BinaryIO


def open_file(folders: NoteFolders, path: str) -> OpenedFile:
    """Open a file that is no note. Raises `NoteMissing`, `NoteUnreadable`, `PathRefused`."""
    place = resolve_file_path(folders, path)
    try:
        with open_note_folder(place) as folder:
            fd = disk.open_file(place.name, os.O_RDONLY, folder=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise NoteMissing("There is no file {path}.", path=format_path(path)) from None
    except OSError as error:
        raise NoteUnreadable(
            "{path} could not be read: {reason}.", path=format_path(path), reason=disk.reason(error)
        ) from error
    return OpenedFile(place.path, os.fstat(fd).st_size, os.fdopen(fd, "rb"))


class FileFinder:
    """Finds the files that the links of one note name. It blocks, and lists all files at most once."""

    def __init__(self, folders: NoteFolders, path: str) -> None:
        """`path` is that of the note."""
        self._folders = folders
        self._path = path
        self._top = path.partition("/")[0] if "/" in path else ""
        self._found: dict[str, str] = {}
        self._by_name: dict[str, list[str]] | None = None

    def find(self, target: str) -> str:
        """Return the path of the file that a target means; "" for none, and for a note.

        It is beside the note, or in its top-level folder or the memory's; else anywhere, as in Obsidian: one in the
        same top-level folder comes first, then the shortest path, then the first by name.
        """
        if target not in self._found:
            if len(self._found) >= MAX_TARGETS:
                return ""
            self._found[target] = self._look_for(target)
        return self._found[target]

    def _look_for(self, target: str) -> str:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self._path), target))
        for place in (beside, f"{self._top}/{target}" if self._top else target, target):
            if self._is_file(place):
                return place
        if not target or target.startswith((".", "/")):
            return ""
        wanted = fold(target)
        found = [
            each
            for each in self._list_names().get(wanted.rpartition("/")[2], ())
            if fold(each) == wanted or fold(each).endswith(f"/{wanted}")
        ]
        in_order = sorted(found, key=lambda each: (not each.startswith(f"{self._top}/"), len(each), each))
        return next(filter(self._is_file, in_order), "")

    def _is_file(self, path: str) -> bool:
        try:
            place = resolve_file_path(self._folders, path)
        except PathRefused:
            return False
        return os.path.isfile("/".join((place.root, *place.parts)))  # noqa: PTH113

    def _list_names(self) -> dict[str, list[str]]:
        if self._by_name is None:
            self._by_name = {}
            for path in list_files(self._folders, limit=MAX_LISTED):
                self._by_name.setdefault(fold(path.rpartition("/")[2]), []).append(path)
        return self._by_name
