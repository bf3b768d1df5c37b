"""Escape text that Discord would take for markup, mentions or emoji."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence

from adapters.markdown.styled import Mark

UNSEEN = "\u200b"
"""A zero-width space, between characters that must not touch."""
ADDRESS = re.compile(r"(?:https?|steam)://[^\s<>]+[^\s<>.,:;\"'\]]")
"""For matching a whole address; `links.find_addresses` searches for addresses in text."""
MENTION = re.compile(r"@(?=everyone|here)|(?<=<)@(?=[!&$]?\d)")
_MARKUP_CHARACTER = re.compile(
    r"[*`_\[]"
    r"|\\(?![0-9A-Za-z\s])"
    r"|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|<(?=a?:\w{1,64}:\d|#\d|t:-?\d|/[^>\n]{1,99}:\d|id:\w|sound:\d|\+\d|[^: >]{1,100}:/|[^\s<>@]++@[^\s<>@]++>)"
    r"|:(?=[\w+-]++:)"
    r"|@(?=everyone|here)|(?<=<)@(?=[!&$]?\d)|\](?=\()"
)
_LINE_START = r" *(?:(?P<sign>\#{1,3}(?=\s)|-(?=\ |\#\s)|>(?=\ )|>>>(?=\ ))|\d+(?P<dot>\.)(?=\ ))"
_AT_LINE_START = re.compile("^" + _LINE_START, re.MULTILINE)
_AFTER_LEAD = re.compile(_LINE_START)
_SHORT_NAME = re.compile(r":([A-Za-z][\w+-]{2,}):(?![0-9A-Za-z])", re.ASCII)
_CLOSING_LINE = re.compile(r"_(?!\w)", re.ASCII)


def needs_escaping(text: str) -> bool:
    """Return whether short text on one line needs an escape."""
    return next(find_escapes(text, [], [], ()), None) is not None


def find_escapes(
    text: str, marks: Sequence[Mark], kept: Sequence[Mark], edges: Collection[int], *, worst: bool = False
) -> Iterator[tuple[int, bool, str]]:
    """Yield insertions that make Discord show `text` literally: place, whether before markup, text.

    `kept`: sorted, disjoint marks whose text is not escaped; `edges`: places that will get markup. `worst`: yield
    everything that could be needed, wherever the text is cut.
    """
    starts = [mark.start for mark in kept]
    links = worst or any(mark.kind == "text_link" for mark in marks) or "](" in text
    lines = worst or any(_CLOSING_LINE.search(text[mark.start : mark.end]) for mark in kept)

    def is_kept(place: int) -> bool:
        at = bisect_right(starts, place) - 1
        return at >= 0 and place < kept[at].end

    for match in _MARKUP_CHARACTER.finditer(text):
        place, char = match.start(), match[0]
        if is_kept(place):
            continue
        if char in "@]":
            yield place + 1, True, UNSEEN
        elif char == ":":
            if text[place - 1 : place].isalnum() or not _SHORT_NAME.match(text, place):
                yield place, False, "\\"
        elif char == "[":
            if links:
                yield place, False, "\\"
        elif char != "_" or lines or place in edges or place + 1 in edges or not _is_in_word(text, place):
            yield place, False, "\\"
    for match in _AT_LINE_START.finditer(text):
        place = match.start("sign") if match["sign"] else match.start("dot")
        if not is_kept(place):
            yield place, False, "\\"
    for mark in marks:
        if mark.kind == "lead" and (found := _AFTER_LEAD.match(text, mark.end)):
            place = found.start("sign") if found["sign"] else found.start("dot")
            if not is_kept(place):
                yield place, False, "\\"
    yield from _escape_at_edges(text, edges, is_kept)


def _escape_at_edges(
    text: str, edges: Collection[int], is_kept: Callable[[int], bool]
) -> Iterator[tuple[int, bool, str]]:
    """Yield escapes for single characters that would merge with the markup next to them."""
    for edge in edges:
        before, after = text[edge - 1 : edge] if edge else "", text[edge : edge + 1]
        if before in ("~", "|") and not text.endswith(before * 2, 0, edge) and not is_kept(edge - 1):
            yield edge, True, UNSEEN
        if before == "\\" and after.isalnum() and after.isascii() and not is_kept(edge - 1):
            yield edge - 1, False, "\\"
        if after in ("~", "|") and not text.startswith(after * 2, edge) and not is_kept(edge):
            yield edge, False, UNSEEN


def _is_in_word(text: str, place: int) -> bool:
    around = text[place - 1 : place] + text[place + 1 : place + 2] if place else ""
    return len(around) == 2 and around.isascii() and around.isalnum()
