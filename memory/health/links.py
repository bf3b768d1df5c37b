"""Find links to notes and files that do not exist; pure but for the question which files do."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from memory.normalization import normalize

MAX_LINE_CHARS = 10_000
"""Links in longer lines are not looked for."""

_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})")
_LINK = re.compile(
    r"(?<![\\\w\])])!?\[(?P<label>[^\[\]\n]{1,500})\]\((?:<(?P<angled>[^<>\n]{1,500})>|(?P<bare>[^\s()<>\[\]{}|*\"']{1,500}))"
    r"(?:\s+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'))?\)"
)
_WIKI = re.compile(
    r"(?<![\\\[])!?\[\[(?P<target>[^\[\]|#^\n]{1,500})(?P<rest>(?:[#^][^\[\]|\n]{0,200})?)(?:\|(?P<label>[^\[\]\n]{1,200}))?\]\](?!\])"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\?")


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link to a note or a file."""

    line: int
    """1-based."""
    start: int
    """Where it begins in its line."""
    end: int
    target: str
    """The path, without escapes and without the part after `#`."""
    label: str
    """What a reader sees."""
    is_wiki: bool
    """Whether it is `[[target]]`, which names a note in any folder."""


def find_links(text: str) -> Iterator[NoteLink]:
    """Yield the relative links of a note, without those in code."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE_CHARS:
            continue
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
            continue
        if fence or "[" not in line or "]" not in line:
            continue
        yield from _find_in_line(number, line)


def _find_in_line(number: int, line: str) -> Iterator[NoteLink]:
    shown = _CODE.sub(lambda code: " " * len(code[0]), line) if "`" in line else line
    for found in _LINK.finditer(shown):
        target = found["angled"] or found["bare"]
        if _SCHEME.match(target):
            continue
        path = unquote(target.partition("#")[0].partition("?")[0]).strip()
        if path:
            yield NoteLink(number, *found.span(), path, found["label"], is_wiki=False)
    for found in _WIKI.finditer(shown):
        target = found["target"].strip().removesuffix("\\")
        if target and not _SCHEME.match(target):
            label = (found["label"] or target).strip()
            yield NoteLink(number, *found.span(), target, label, is_wiki=True)


class FileNames:
    """The files of the memory's folder, to look links up in."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = {_fold(path): path for path in paths}
        self._names: dict[str, list[str]] = {}
        for path in paths:
            self._names.setdefault(_fold(posixpath.basename(path)), []).append(path)
        self._suffixes: set[str] | None = None
        self._folders = {_fold(path[:at]) for path in paths for at, sign in enumerate(path) if sign == "/"}

    def has(self, link: NoteLink, *, path: str) -> bool:
        """Return whether the target of a link in the note `path` exists, or lies outside of the folder."""
        target = _fold(link.target)
        if link.is_wiki:
            ends = (target, f"{target}.md")
            if any(end in self._names or end in self._paths for end in ends):
                return True
            if not target.startswith("."):
                return "/" in target and not self._ends().isdisjoint(ends)
        full = posixpath.normpath(posixpath.join(posixpath.dirname(_fold(path)), target))
        if full.startswith("..") or full == ".":
            return True
        return full in self._paths or f"{full}.md" in self._paths or full in self._folders

    def _ends(self) -> set[str]:
        """Return the ends of all paths, from each folder on."""
        if self._suffixes is None:
            self._suffixes = {
                path[at + 1 :] for path in self._paths for at, sign in enumerate(path) if sign == "/"
            }
        return self._suffixes

    def find_moved(self, link: NoteLink) -> str | None:
        """Return the only file with the name of the link's target; None if there is none or several."""
        name = _fold(posixpath.basename(link.target.rstrip("/")))
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


def _fold(path: str) -> str:
    return normalize("NFC", path).casefold()
