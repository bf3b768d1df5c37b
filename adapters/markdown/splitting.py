"""Split styled text into messages at natural places, within the channel's size limit."""

import re
import sys
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wcwidth import iter_graphemes

from adapters.markdown.styled import Mark, is_blank

_DROPPED_FIRST = ("code", "italic", "underline", "bold", "strikethrough")
_PARAGRAPH = re.compile(r"\n\n+")
_LINE = re.compile(r"\n+")
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；][」』”）]*")
_WORD = re.compile(r"\s+|[、，：；]")
_GROWN = re.compile(
    r"[\u0300-\u036f\u200d\ufe00-\ufe0f\u20d0-\u20ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class MessagePart:
    """The text of one message; marks are in code points from its start."""

    text: str
    marks: tuple[Mark, ...]


class Ruler(Protocol):
    """Measures a text as the channel counts it, including markup."""

    def size(self, start: int, end: int) -> int:
        """Return the maximum size of the text between two places in a message."""

    def reach(self, start: int, limit: int) -> int:
        """Return the furthest place with at most `limit` from `start`."""


class Units:
    """Lengths in UTF-16 units, as Telegram counts them; 😀 takes two."""

    def __init__(self, text: str) -> None:
        self._astral = [] if text.isascii() else [match.start() for match in _ASTRAL.finditer(text)]
        self._size = len(text)

    def at(self, place: int) -> int:
        """Return the number of units before the code point `place`."""
        return place + bisect_left(self._astral, place) if self._astral else place

    def size(self, start: int, end: int) -> int:
        """Return the number of units between two places."""
        return self.at(end) - self.at(start)

    def reach(self, start: int, limit: int) -> int:
        """Return the furthest place at most `limit` units after `start`."""
        if not self._astral:
            return min(self._size, start + limit)
        most = self.at(start) + limit
        low, high = start, min(self._size, start + limit)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.at(middle) <= most else (low, middle - 1)
        return low


def split_text(
    text: str,
    marks: Sequence[Mark],
    headings: Mapping[int, int],
    *,
    limit: int,
    ruler: Ruler,
    max_marks: int = sys.maxsize,
) -> list[MessagePart]:
    """Split `text` into parts of at most `limit` by `ruler`; none is blank or has more than `max_marks` marks.

    `headings` maps each heading's end to its start; headings stay with the text after them. Each cut depends only
    on the text before it and on `limit` characters after it, so complete parts stay the same when text is added.
    """
    parts: list[MessagePart] = []
    start = 0
    code = [mark for mark in marks if mark.kind == "pre"]
    ahead = _MarkScanner(marks)
    while True:
        start = _skip_space(text, code, start)
        if start >= len(text):
            return parts
        here = ahead.marks_between(start, start + limit)
        end = _find_end(text, code, here, ruler, headings, start, limit, max_marks)
        part = text[start:end].rstrip()
        if not is_blank(part):
            parts.append(MessagePart(part, tuple(_clip_marks(here, start, start + len(part), max_marks))))
        start = end


class _MarkScanner:
    """Reads sorted marks from front to back, so that each is looked at only a few times."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = marks
        self._starts = [mark.start for mark in marks]
        self._next = 0
        self._open: list[Mark] = []
        """Marks that begin before the last `start` and may reach past it."""

    def marks_between(self, start: int, end: int) -> list[Mark]:
        """Return the marks that overlap `start` to `end`; `start` must not decrease between calls."""
        first = bisect_left(self._starts, start, lo=self._next)
        begun = (*self._open, *self._marks[self._next : first])
        self._open = [mark for mark in begun if mark.end > start]
        self._next = first
        return [*self._open, *self._marks[first : bisect_left(self._starts, end, lo=first)]]


def _skip_space(text: str, code: Sequence[Mark], start: int) -> int:
    """Return `start` after white space: all of it in prose, one line break in code."""
    if _find_code(code, start) is not None and start:
        return start + (text[start] == "\n")
    at = bisect_left(code, start, key=lambda mark: mark.start)
    stop = code[at].start if at < len(code) else len(text)
    while start < stop and text[start].isspace():
        start += 1
    return start


def _find_code(code: Sequence[Mark], place: int) -> Mark | None:
    """Return the code block that a cut at `place` would divide."""
    at = bisect_left(code, place, key=lambda mark: mark.start) - 1
    return code[at] if at >= 0 and place < code[at].end else None


def _find_end(
    text: str,
    code: Sequence[Mark],
    here: Sequence[Mark],
    ruler: Ruler,
    headings: Mapping[int, int],
    start: int,
    limit: int,
    max_marks: int,
) -> int:
    end = ruler.reach(start, limit)
    if len(here) > max_marks:  # earlier, but not so early that few words fill many messages
        end = min(end, max(here[max_marks].start, start + limit // 2))
    if end >= len(text):
        return len(text)
    divided = _find_code(code, end)
    if divided is not None and (prose := _find_code_start(text, headings, start, divided.start)):
        return prose
    if divided is not None:
        return (
            _find_last_cut(_LINE, text, start, end, 0)
            or _find_last_cut(_WORD, text, start, end, 0)
            or _avoid_split_character(text, start, end)
        )
    half = (end - start) // 2
    for pattern in (_PARAGRAPH, _LINE, _SENTENCE, _WORD):
        place = _find_last_cut(pattern, text, start, end, half, headings)
        if place:
            return place
    return (
        _find_last_cut(_LINE, text, start, end, 0)
        or _find_last_cut(_WORD, text, start, end, 0)
        or _avoid_split_character(text, start, end)
    )


def _find_code_start(text: str, headings: Mapping[int, int], start: int, end: int) -> int:
    """Return the end of the text before a code block and its heading; 0 if there is none."""
    end = start + len(text[start:end].rstrip())
    while end in headings and end > start:
        end = start + len(text[start : headings[end]].rstrip())
    return end if not is_blank(text[start:end]) else 0


def _find_last_cut(
    pattern: re.Pattern[str], text: str, start: int, end: int, minimum: int, headings: Collection[int] = ()
) -> int:
    """Return the last possible cut by `pattern`; 0 if there is none."""
    found = 0
    for match in pattern.finditer(text, start + max(minimum, 1), min(len(text), end + 1)):
        blank = match[0].isspace()
        place = match.start() if blank else match.end()
        if place > end:
            break
        if match.start() in headings or _GROWN.match(text, match.end()):
            continue
        found = place
    return found if found > start else 0


def _avoid_split_character(text: str, start: int, end: int) -> int:
    """Return `end`, or the last place before it that does not divide a grapheme."""
    place = start
    for grapheme in iter_graphemes(text[start : min(len(text), end + 64)]):
        if place + len(grapheme) > end:
            break
        place += len(grapheme)
    return place if place > start else max(end, start + 1)


def _clip_marks(marks: Sequence[Mark], start: int, end: int, max_marks: int) -> list[Mark]:
    """Return the marks between `start` and `end`, relative to `start` and cut at the edges."""
    inside = []
    for mark in marks:
        first, last = max(mark.start, start), min(mark.end, end)
        if first < last:
            inside.append(mark._replace(start=first - start, end=last - start))
    for kind in _DROPPED_FIRST:
        if len(inside) > max_marks:
            spare = len(inside) - max_marks
            dropped = set([at for at, mark in enumerate(inside) if mark.kind == kind][-spare:])
            inside = [mark for at, mark in enumerate(inside) if at not in dropped]
    return inside[:max_marks]
