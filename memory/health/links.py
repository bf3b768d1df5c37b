"""Find links to notes and files that do not exist, and mend them; pure."""

import posixpath
import re
from collections.abc import Iterable, Sequence

from memory.link_targets import LinkName, LinkTargets, fold, link_key
from memory.note_links import NoteLink


class FileNames:
    """The files of the memory's folder and the aliases of its notes, to look links up in."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        """The files with a name."""
        self._folders: set[str] = set()
        self._called: dict[str, LinkTargets] = {}
        """What notes are called, by `link_key`."""
        for path in paths:
            folded = fold(path)
            self._paths[folded] = path
            self._names.setdefault(posixpath.basename(folded), []).append(path)
            self._folders.update(folded[:at] for at, sign in enumerate(folded) if sign == "/")
            if folded.endswith(".md"):
                self._called.setdefault(link_key(path), LinkTargets()).add(LinkName(path))

    def add_aliases(self, path: str, aliases: Iterable[str]) -> None:
        """Let links call a note by these names too."""
        for alias in aliases:
            self._called.setdefault(link_key(alias), LinkTargets()).add(LinkName(path, alias))

    def has(self, link: NoteLink, *, path: str) -> bool:
        """Return whether the target of a link in the note `path` exists, or lies outside of the folder."""
        called = self._called.get(link_key(link.target))
        if called and called.resolve(link.target, path=path, is_wiki=link.is_wiki):
            return True
        target, folder = fold(link.target), posixpath.dirname(fold(path))
        if link.is_wiki and self._has_file(target):
            return True
        full = posixpath.normpath(posixpath.join(folder, target))
        return full.startswith("..") or full == "." or full in self._paths or full in self._folders

    def _has_file(self, target: str) -> bool:
        """Return whether a file has this name, or a path that ends so."""
        end = f"/{target}"
        named = self._names.get(posixpath.basename(target), ())
        return any(fold(path) == target or fold(path).endswith(end) for path in named)

    def find_moved(self, link: NoteLink) -> str | None:
        """Return the only file with the name of the link's target; None if there is none or several."""
        name = fold(posixpath.basename(link.target.rstrip("/")))
        found = self._names.get(name) or self._names.get(f"{name}.md") or []
        return found[0] if len(found) == 1 else None


def fix_links(line: str, links: Sequence[NoteLink], *, path: str, moved: Sequence[str | None]) -> str:
    """Return the line with its links pointing to where the files are now, or else reduced to their text."""
    for link, target in sorted(zip(links, moved, strict=True), key=lambda each: -each[0].start):
        line = _fix_link(line, link, path=path, moved=target)
    return line


def _fix_link(line: str, link: NoteLink, *, path: str, moved: str | None) -> str:
    if moved is None:
        return f"{line[: link.start]}{link.label}{line[link.end :]}"
    folder = posixpath.dirname(path)
    address = posixpath.relpath(moved, folder) if folder else moved
    mark = "!" if line[link.start] == "!" else ""
    if link.is_wiki:
        label = "" if link.label == link.target else f"|{link.label}"
        return f"{line[: link.start]}{mark}[[{moved.removesuffix('.md')}{label}]]{line[link.end :]}"
    address = f"<{address}>" if re.search(r"[\s()]", address) else address
    return f"{line[: link.start]}{mark}[{link.label}]({address}){line[link.end :]}"
