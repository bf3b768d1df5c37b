"""The relative links of a note that is moved, rewritten so that they lead where they led."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from memory.folder_files import FileFinder
from memory.line_diff import split_lines
from memory.line_reversal import LinesReplacement
from memory.link_targets import LinkName, LinkTargets, fold, link_key, may_be_note
from memory.note_folders import NoteFolders
from memory.note_links import SCHEME, find_wiki_targets
from memory.outside_code import iterate_lines_outside_code

MAX_TARGETS = 1_000
"""Different targets of one note that are looked at."""

# Whatever is before the bracket: a label may begin in the line above, be empty, or be a picture.
_ADDRESS = r"(?:<(?P<angled>[^<>\n]{1,1000})>|(?P<bare>[^\s()<>]{1,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3}))"
_INLINE = re.compile(rf"(?<!\\)\][(][ \t]*{_ADDRESS}(?=[ \t]{{0,100}}[)]|[ \t][ \t]{{0,100}}[\"'(])")
_DEFINITION = re.compile(rf" {{0,3}}\[[^\[\]\n]{{1,500}}\]:[ \t]*{_ADDRESS}")
_NO_WIKI = re.compile(r"[\[\]|#^]")
_NOT_ANGLED = re.compile(r"[%#?<>\\]")
_NOT_BARE = re.compile(r"[%#?<>\\\s()\[\]{}|*\"'`]")


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    """The part of a link that names a note or a file."""

    line: int
    """1-based."""
    start: int
    """Where it begins in its line; `end`: where it ends."""
    end: int
    target: str
    """What it says, without escapes."""
    is_wiki: bool
    """Whether it stands in `[[target]]`."""
    is_angled: bool = False
    """Whether it stands in `<…>`, where spaces need no escapes."""


class MovedLinks:
    """What links in a note mean before it is moved and afterwards. It blocks, and lists all notes at most once."""

    def __init__(
        self, folders: NoteFolders, path: str, to: str, *, list_notes: Callable[[], Iterable[str]]
    ) -> None:
        """`path` is that of the note, and `to` its next one; `list_notes` returns the paths of all notes."""
        self._path, self._to = path, to
        self._list_notes = list_notes
        self._files_before, self._files_after = FileFinder(folders, path), FileFinder(folders, to)
        self._before: dict[str, LinkTargets] = {}
        self._after: dict[str, LinkTargets] = {}

    def rewrite(self, text: str) -> Mapping[int, str]:
        """Return the lines of the note (LF line ends) that have to change, by their number (1-based)."""
        written = list(_find_targets(text))
        self._load_names({link_key(each.target) for each in written})
        lines, changed = text.split("\n"), dict[int, str]()
        known = dict[tuple[str, bool, bool], str | None]()
        below = (len(lines) + 1, 0)
        for each in sorted(written, key=lambda one: (one.line, one.start), reverse=True):
            if (each.line, each.end) > below and each.line == below[0]:
                continue  # one within the other
            below = (each.line, each.start)
            asked = (each.target, each.is_wiki, each.is_angled)
            if asked not in known:
                known[asked] = self._find_new(each) if len(known) < MAX_TARGETS else None
            if (new := known[asked]) is not None:
                line = changed.get(each.line, lines[each.line - 1])
                changed[each.line] = line[: each.start] + new + line[each.end :]
        return changed

    def _find_new(self, link: WrittenTarget) -> str | None:
        """Return what a link has to say to lead where it leads now; None if it may stay, or leads nowhere."""
        target, is_wiki = link.target, link.is_wiki
        leads = self._resolve(target, is_wiki, self._before, self._path, self._files_before)
        wanted = self._to if leads == self._path else leads
        if not wanted or (
            self._leads(target, is_wiki) == wanted
            and (is_wiki or not _is_beside(target, leads, self._path) or _is_beside(target, wanted, self._to))
        ):
            return None
        for path in _name_target(wanted, self._to, is_wiki=is_wiki):
            shown = path
            if wanted[-3:].lower() == ".md" and target[-3:].lower() != ".md":
                shown = path[:-3]
            if self._leads(shown, is_wiki) == wanted and not (is_wiki and _NO_WIKI.search(shown)):
                return shown if is_wiki else _escape(shown, is_angled=link.is_angled)
        return None

    def _leads(self, target: str, is_wiki: bool) -> str:
        return self._resolve(target, is_wiki, self._after, self._to, self._files_after)

    def _resolve(
        self, target: str, is_wiki: bool, names: Mapping[str, LinkTargets], path: str, files: FileFinder
    ) -> str:
        """Return the path of the note or file that a target means in a note at `path`; "" for none."""
        called = names.get(link_key(target)) if may_be_note(target) else None
        return (called and called.resolve(target, path=path, is_wiki=is_wiki)) or files.find(target)

    def _load_names(self, keys: set[str]) -> None:
        if not keys:
            return
        for path in self._list_notes():
            if (key := link_key(path)) in keys:
                self._before.setdefault(key, LinkTargets()).add(LinkName(path))
                if path != self._path:
                    self._after.setdefault(key, LinkTargets()).add(LinkName(path))
        self._after.setdefault(link_key(self._to), LinkTargets()).add(LinkName(self._to))


def replace_contents(text: str, changed: Mapping[int, str]) -> LinesReplacement | None:
    """Return the one run of lines of a text that has all changed lines, by number (1-based); None if none differs."""
    lines = split_lines(text)
    numbers = [number for number, line in changed.items() if lines[number - 1] != line]
    if not numbers:
        return None
    run = range(min(numbers), max(numbers) + 1)
    old = tuple(lines[number - 1] for number in run)
    return LinesReplacement(run[0], old, tuple(changed.get(number, lines[number - 1]) for number in run))


def _find_targets(text: str) -> Iterator[WrittenTarget]:
    """Yield what the relative links of a note say, without those in code."""
    for number, line in iterate_lines_outside_code(text, mark="["):
        for start, end in find_wiki_targets(line):
            yield WrittenTarget(number, start, end, line[start:end], is_wiki=True)
        definition = _DEFINITION.match(line)
        for found in (*_INLINE.finditer(line), *([definition] if definition else ())):
            which = "angled" if found["angled"] else "bare"
            start, address = found.start(which), found[which]
            path = re.split("[#?]", address, maxsplit=1)[0]
            if SCHEME.match(address) or not path.strip():
                continue
            end = start + len(path)
            yield WrittenTarget(number, start, end, unquote(path), is_wiki=False, is_angled=which == "angled")


def _name_target(path: str, to: str, *, is_wiki: bool) -> Iterator[str]:
    """Yield what a link in the note `to` may say to lead to a path, the best first."""
    top, slash, below = path.partition("/")
    if is_wiki:
        yield path.rpartition("/")[2]
        if slash and to.startswith(f"{top}/"):
            yield below
        yield path
    yield posixpath.relpath(path, posixpath.dirname(to) or ".")


def _is_beside(target: str, leads: str, path: str) -> bool:
    """Return whether a target names a path from the folder of its note, as links do everywhere, not only here."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return fold(beside).removesuffix(".md") == fold(leads).removesuffix(".md")


def _escape(path: str, *, is_angled: bool) -> str:
    escaped = (_NOT_ANGLED if is_angled else _NOT_BARE).sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path
    )
    return f"./{escaped}" if SCHEME.match(escaped) else escaped
