"""Read the links of a note: `[[wikilinks]]`, `![[embeds]]` and relative Markdown links; pure, in linear time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from memory.outside_code import iterate_lines_outside_code

_LINK = re.compile(
    r"\[(?P<label>[^\[\]\n]{1,500})\]\((?:<(?P<angled>[^<>\n]{1,500})>|(?P<bare>[^\s()<>\[\]{}|*\"']{1,500}))"
    r"(?:\s+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'))?\)"
)
_WIKI = re.compile(
    r"\[\[(?P<target>[^\[\]|#^\n]{0,500}+)(?P<rest>(?:[#^][^\[\]|\n]{0,200}+)?)(?:\|(?P<label>[^\[\]\n]{1,200}+))?\]\](?!\])"
)
# Both begin with a literal character, which is fast to search for; what precedes it is checked afterwards.
_BEFORE_NO_LINK = re.compile(r"[\\\w\])]")
_BEFORE_NO_WIKI = re.compile(r"[\\\[]")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\?")
"""How an address begins that is not relative to the note."""


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link to a note or a file."""

    line: int
    """1-based."""
    start: int
    """Where it begins in its line."""
    end: int
    target: str
    """The path, without escapes and without the part after `#`; "" for the note itself."""
    label: str
    """What a reader sees; "" for that of the heading."""
    is_wiki: bool
    """Whether it is `[[target]]`, which names a note in any folder."""
    heading: str = ""
    """The heading, or `^block`, that it leads to; "" for the note itself."""


def find_links(text: str) -> Iterator[NoteLink]:
    """Yield the relative links of a note, without those in code."""
    if "](" not in text and "[[" not in text:
        return
    for number, line in iterate_lines_outside_code(text, mark="["):
        if "](" in line:
            for found in _LINK.finditer(line):
                start = _find_start(line, found.start(), _BEFORE_NO_LINK)
                if start is not None and (link := _markdown_link(number, start, found)):
                    yield link
        if "[[" in line:
            for found in _WIKI.finditer(line):
                start = _find_start(line, found.start(), _BEFORE_NO_WIKI)
                if start is not None and (link := _wiki_link(number, start, found)) and link.target:
                    yield link


def find_wiki_targets(line: str) -> Iterator[tuple[int, int]]:
    """Yield where the targets of the wikilinks in a line are: start and end of each."""
    for found in _WIKI.finditer(line) if "[[" in line else ():
        link = _wiki_link(1, found.start(), found)
        if link and link.target and _find_start(line, found.start(), _BEFORE_NO_WIKI) is not None:
            start = line.index(link.target, found.start("target"))
            yield start, start + len(link.target)


def match_wiki_link(text: str, start: int) -> NoteLink | None:
    """Return the wikilink that begins at `start` of a text, as if the text were a line; None if there is none.

    `[[#Heading]]` is a link, too: to a heading of its own note.
    """
    found = _WIKI.match(text, start)
    return _wiki_link(1, start, found) if found else None


def _find_start(line: str, start: int, not_after: re.Pattern[str]) -> int | None:
    """Return where a link begins whose bracket is at `start`: before the mark of an embed; None if it is no link."""
    if start and line[start - 1] == "!" and not (start > 1 and not_after.match(line, start - 2)):
        return start - 1
    return None if start and not_after.match(line, start - 1) else start


def _markdown_link(number: int, start: int, found: re.Match[str]) -> NoteLink | None:
    address = found["angled"] or found["bare"]
    if SCHEME.match(address):
        return None
    path, _, heading = address.partition("#")
    path = unquote(path.partition("?")[0]).strip()
    if not path:
        return None
    return NoteLink(
        number, start, found.end(), path, found["label"], is_wiki=False, heading=unquote(heading).strip()
    )


def _wiki_link(number: int, start: int, found: re.Match[str]) -> NoteLink | None:
    # In a table, `\\|` stands for `|`.
    target = found["target"].strip().removesuffix("\\").rstrip()
    heading = found["rest"].removesuffix("\\").removeprefix("#").strip()
    if not (target or heading) or SCHEME.match(target):
        return None
    label = (found["label"] or target).strip()
    return NoteLink(number, start, found.end(), target, label, is_wiki=True, heading=heading)
