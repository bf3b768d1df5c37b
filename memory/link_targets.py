"""Resolve links to notes as Obsidian does: by path or by name, whatever the case and the Unicode form; pure."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from memory.normalization import normalize

_FILES = (
    *("png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "avif", "pdf", "canvas", "base", "excalidraw"),
    *("mp3", "wav", "m4a", "ogg", "flac", "mp4", "webm", "mov", "mkv", "csv", "json", "zip", "docx", "xlsx"),
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
    return not target.lower().endswith(tuple(f".{end}" for end in _FILES))


def resolve_link(target: str, *, path: str, is_wiki: bool, names: Iterable[LinkName]) -> str | None:
    """Return the path of the note that a link in the note `path` leads to; None if it leads to none.

    `names`: all names with the `link_key` of the target, in any order. A path counts from the linking note's top-level
    folder, as if that were a vault, or from the linking note, or from the memory's folder; Markdown links begin with
    the linking note. `[[folder/name]]` may also lie deeper, and an alias counts if no file has the name. Of several
    notes, one in the same top-level folder comes first, then the shortest path, then the first by name.
    """
    wanted = fold(target).removesuffix(".md")
    names = list(names)
    files = {fold(name.path).removesuffix(".md"): name.path for name in names if not name.alias}
    for place in _places(wanted, fold(path), is_wiki=is_wiki):
        if place in files:
            return files[place]
    if not is_wiki:
        return None
    end = f"/{wanted}"
    found = [one for folded, one in files.items() if folded == wanted or folded.endswith(end)]
    found = found or [name.path for name in names if name.alias and fold(name.alias) == fold(target)]
    root = _root(path)
    return min(found, key=lambda one: (_root(one) != root, one.count("/"), len(one), one), default=None)


def _places(wanted: str, path: str, *, is_wiki: bool) -> list[str]:
    """Return the paths that a target may mean, the first one first; those outside of the memory are left out."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))
    if wanted.startswith((".", "/")) or ".." in wanted:
        return [beside]
    root = _root(path)
    in_vault = f"{root}/{wanted}" if root else wanted
    return [in_vault, beside, wanted] if is_wiki else [beside, in_vault, wanted]


def _root(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""
