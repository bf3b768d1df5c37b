"""The folders of notes: the memory's own, and others that appear in it as top-level folders."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memory.disk import reason
from memory.normalization import normalize
from memory.translatable import Translatable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from memory.settings import FolderSettings


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """One folder of notes, with everything below it."""

    path: Path
    name: str = ""
    """Its name among the notes: their paths begin with it. "" is the memory's own folder."""
    is_writable: bool = True
    exclude: tuple[str, ...] = ()
    """Patterns as in a .gitignore file; what they match is ignored."""

    @classmethod
    def of(cls, settings: "FolderSettings") -> "NoteFolder":
        """Return the folder that the settings describe."""
        return cls(Path(settings.path), settings.shown_name, settings.write, settings.exclude)

    @property
    def prefix(self) -> str:
        """What the paths of its notes begin with: `vault/`, or "" for the memory's own folder."""
        return f"{self.name}/" if self.name else ""

    def excludes(self, below: str) -> bool:
        """Return whether the patterns exclude a file at a path below this folder."""
        return bool(self.exclude) and _compile_patterns(self.exclude).match_file(below)

    def excludes_all_in(self, below: str) -> bool:
        """Return whether a folder below this one need not be looked into, since all in it is excluded.

        May be False for such a folder: with a pattern such as `!kept.md`, only the files tell.
        """
        return not any(each.startswith("!") for each in self.exclude) and self.excludes(f"{below}/")

    def explain_absence(self) -> str:
        """Return why nothing in it can be read or written now, in one line; "" if it is there.

        It is absent if it is missing, unreadable, or without any entry: an unmounted folder is usually empty.
        """
        try:
            with os.scandir(self.path) as entries:
                is_empty = next(entries, None) is None
        except FileNotFoundError:
            return Translatable("{path} does not exist", path=self.path)
        except NotADirectoryError:
            return Translatable("{path} is not a folder", path=self.path)
        except OSError as error:
            return Translatable("{path} cannot be read: {reason}", path=self.path, reason=reason(error))
        return Translatable("{path} is empty", path=self.path) if is_empty else ""


@dataclass(frozen=True, slots=True)
class NoteFolders:
    """All folders of notes. A note's path begins with the name of its folder, if that has one."""

    own: NoteFolder
    others: tuple[NoteFolder, ...] = ()

    def __iter__(self) -> Iterator[NoteFolder]:
        return iter((self.own, *self.others))

    def locate(self, parts: Sequence[str]) -> tuple[NoteFolder, tuple[str, ...]]:
        """Return the folder that a path, split into names, leads into, and the names below that folder."""
        if self.others and len(parts) > 1:
            top = normalize("NFC", parts[0])
            for folder in self.others:
                if folder.name == top:
                    return folder, tuple(parts[1:])
        return self.own, tuple(parts)

    def folder_of(self, path: str) -> NoteFolder:
        """Return the folder that a note's path leads into."""
        return self.locate(path.split("/"))[0]

    def count_notes(self, paths: Iterable[str]) -> Mapping[str, int]:
        """Return how many of these notes are in each folder, by its name; no folder is missing.

        `paths`: as a walk returns them.
        """
        found = dict.fromkeys((folder.name for folder in self), 0)
        for path in paths:
            top, slash, _ = path.partition("/")
            found[top if slash and top in found else ""] += 1
        return found

    def find_file(self, path: str) -> Path:
        """Return where the file of a note's path is; nothing is checked."""
        folder, below = self.locate(path.split("/"))
        return folder.path.joinpath(*below)


@cache
def _compile_patterns(patterns: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # only needed if a folder has patterns

    return GitIgnoreSpec.from_lines(patterns)
