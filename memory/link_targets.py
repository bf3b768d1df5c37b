"""Resolve links to notes as Obsidian does: by path or by name, whatever the case and the Unicode form; pure."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.normalization import normalize

_FILES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".avif", ".pdf", ".canvas", ".base", ".csv"),
    *(".mp3", ".wav", ".m4a", ".ogg", ".flac", ".mp4", ".webm", ".mov", ".mkv", ".json", ".zip", ".docx"),
    *(".xlsx", ".excalidraw"),
)
"""Extensions of files that are not notes."""


@dataclass(frozen=True, slots=True)
class LinkName:
    """A name that links may use for a note: its file name, or an alias."""

    path: str
    """The note's."""
    alias: str = ""
    """"" for the file name."""


def fold(name: str) -> str:
    """Return a path or a name in the form in which they are compared."""
    return name.casefold() if name.isascii() else normalize("NFC", normalize("NFC", name).casefold())


def link_key(target: str) -> str:
    """Return what a target and the names that it may mean have in common: the last part, folded, without `.md`."""
    return fold(target).rstrip("/").rpartition("/")[2].removesuffix(".md")


def may_be_note(target: str) -> bool:
    """Return whether a target may be a note, rather than a picture or another file."""
    return not target.lower().endswith(_FILES)


class LinkTargets:
    """The notes that links with one `link_key` may mean.

    It resolves many links fast, since a thousand links may lead to one of a thousand notes called `README`.
    """

    def __init__(self, names: Iterable[LinkName] = ()) -> None:
        """`names`: all names with that `link_key`, in any order."""
        self._files: dict[str, str] = {}
        """The note of each file, by its folded path without `.md`."""
        self._aliases: dict[str, list[str]] = {}
        self._best: dict[str, dict[str | None, str]] = {}
        """The best note for a folded target, in each top-level folder and, under None, in all."""
        for name in names:
            self.add(name)

    def add(self, name: LinkName) -> None:
        """Add another name with the same `link_key`."""
        if name.alias:
            self._aliases.setdefault(fold(name.alias), []).append(name.path)
        else:
            folded = fold(name.path).removesuffix(".md")
            self._files[folded] = min(name.path, self._files.get(folded, name.path))
        self._best.clear()

    def resolve(self, target: str, *, path: str, is_wiki: bool) -> str | None:
        """Return the path of the note that a link in the note `path` leads to; None if it leads to none.

        A path counts from the linking note's top-level folder, as if that were a vault, or from the linking note, or
        from the memory's folder; Markdown links begin with the linking note. `[[folder/name]]` may also lie deeper,
        and an alias counts if no file has the name. Of several notes, one in the same top-level folder comes first,
        then the shortest path, then the first by name.
        """
        asked = fold(target)
        for place in _places(asked.removesuffix(".md"), fold(path), is_wiki=is_wiki):
            if place in self._files:
                return self._files[place]
        if not is_wiki:
            return None
        best = self._best.get(asked)
        if best is None:
            best = self._best[asked] = _choose_best(self._find(asked))
        return best.get(_root(path), best.get(None))

    def _find(self, asked: str) -> Sequence[str]:
        """Return the notes whose path ends in the target, or else those with the alias."""
        wanted = asked.removesuffix(".md")
        end = f"/{wanted}"
        found = [one for folded, one in self._files.items() if folded == wanted or folded.endswith(end)]
        return found or self._aliases.get(asked, [])


def _choose_best(paths: Iterable[str]) -> dict[str | None, str]:
    best: dict[str | None, str] = {}
    for path in sorted(paths, key=lambda one: (one.count("/"), len(one), one)):
        best.setdefault(_root(path), path)
        best.setdefault(None, path)
    return best


def _places(wanted: str, path: str, *, is_wiki: bool) -> list[str]:
    """Return the paths that a target may mean, the first one first; those outside of the memory are left out."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))
    if wanted.startswith(("./", "../", "/")) or "/../" in wanted:
        return [beside]
    root = _root(path)
    in_vault = f"{root}/{wanted}" if root else wanted
    return [in_vault, beside, wanted] if is_wiki else [beside, in_vault, wanted]


def _root(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""
