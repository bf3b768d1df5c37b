"""The folders that a search is limited to; pure."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

_NEVER_IN_A_PATH = re.compile("[\0\ud800-\udfff]")
_AFTER_SLASH = chr(ord("/") + 1)


@dataclass(frozen=True, slots=True)
class FolderScope:
    """The notes in these folders and everything below; a note that is in no folder is in none of them."""

    folders: frozenset[str]

    @classmethod
    def of(cls, names: Collection[str]) -> "FolderScope":
        """Return the scope of the folders with exactly these paths, such as `a` or `a/b`; others are no folder's."""
        folders = frozenset(filter(_can_be_folder, names))
        return cls(frozenset(each for each in folders if folders.isdisjoint(_parents(each))))

    def contains(self, path: str) -> bool:
        """Return whether the note with this path is in one of the folders."""
        return not self.folders.isdisjoint(_parents(path))

    def path_ranges(self) -> list[tuple[str, str]]:
        """Return the range of paths of each folder, by code point: the first one may be in it, the second not."""
        return [(f"{folder}/", f"{folder}{_AFTER_SLASH}") for folder in sorted(self.folders)]


def top_folders(paths: Iterable[str]) -> Sequence[str]:
    """Return the names of the top-level folders that these notes are in, sorted."""
    return sorted({path.partition("/")[0] for path in paths if "/" in path})


def _can_be_folder(name: str) -> bool:
    """Return whether a folder may have this path. NUL and lone surrogates cannot be stored."""
    return all(name.split("/")) and not _NEVER_IN_A_PATH.search(name)


def _parents(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, from the top."""
    at = path.find("/")
    while at != -1:
        yield path[:at]
        at = path.find("/", at + 1)
