"""Read the links of a note: `[[wikilinks]]`, `![[embeds]]` and relative Markdown links; pure, in linear time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from memory.visible_lines import iterate_visible_lines

_LINK = re.compile(
    r"(?<![\\\w\])])!?\[(?P<label>[^\[\]\n]{1,500})\]\((?:<(?P<angled>[^<>\n]{1,500})>|(?P<bare>[^\s()<>\[\]{}|*\"']{1,500}))"
    r"(?:\s+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'))?\)"
)
_WIKI = re.compile(
    r"(?<![\\\[])!?\[\[(?P<target>[^\[\]|#^\n]{1,500}+)(?P<rest>(?:[#^][^\[\]|\n]{0,200}+)?)(?:\|(?P<label>[^\[\]\n]{1,200}+))?\]\](?!\])"
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
    heading: str = ""
    """The heading, or `^block`, that it leads to; "" for the note itself."""


def find_links(text: str) -> Iterator[NoteLink]:
    """Yield the relative links of a note, without those in code."""
    if "](" not in text and "[[" not in text:
        return
    for number, line in iterate_visible_lines(text, mark="["):
        if "](" in line:
            for found in _LINK.finditer(line):
                if link := _markdown_link(number, found):
                    yield link
        if "[[" in line:
            for found in _WIKI.finditer(line):
                if link := _wiki_link(number, found):
                    yield link


def match_wiki_link(text: str, start: int) -> NoteLink | None:
    """Return the wikilink that begins at `start` of a text, as if the text were a line; None if there is none."""
    found = _WIKI.match(text, start)
    return _wiki_link(1, found) if found else None


def _markdown_link(number: int, found: re.Match[str]) -> NoteLink | None:
    address = found["angled"] or found["bare"]
    if _SCHEME.match(address):
        return None
    path, _, heading = address.partition("#")
    path = unquote(path.partition("?")[0]).strip()
    if not path:
        return None
    return NoteLink(
        number, *found.span(), path, found["label"], is_wiki=False, heading=unquote(heading).strip()
    )


def _wiki_link(number: int, found: re.Match[str]) -> NoteLink | None:
    # In a table, `\\|` stands for `|`.
    target = found["target"].strip().removesuffix("\\").rstrip()
    if not target or _SCHEME.match(target):
        return None
    heading = found["rest"].removesuffix("\\").removeprefix("#").strip()
    label = (found["label"] or target).strip()
    return NoteLink(number, *found.span(), target, label, is_wiki=True, heading=heading)
