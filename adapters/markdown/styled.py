"""Text with marks: parsed Markdown before it is split into messages."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from adapters.markdown.ranges import Ranges

# Channels allow any nesting of these, except within code and within the same style.
STYLES = ("bold", "italic", "underline", "strikethrough", "spoiler")
FIXED_WIDTH = ("code", "pre")
OWN_LINES = ("pre", "blockquote")
HIDDEN = ""
_WORD = re.compile(r"[^\W_]+")


class Mark(NamedTuple):
    """A style from `start` to `end` (code points). HIDDEN: source words that are not shown."""

    kind: str
    start: int
    end: int
    detail: str = ""
    """A link's address, a code block's language, or the hidden words."""


@dataclass(frozen=True, slots=True)
class Styled:
    """A text and its marks."""

    text: str
    marks: tuple[Mark, ...] = ()

    @property
    def needs_own_lines(self) -> bool:
        """Whether it starts with something that cannot share a line, such as code."""
        return any(mark.start == 0 and mark.kind in OWN_LINES for mark in self.marks)

    def with_hanging_indent(self, first: str, rest: str) -> Self:
        """Prefix the first line with `first` and the others with `rest`, except lines of code and quotes."""
        kept = find_ranges(self.marks, OWN_LINES)
        added = [(0, first)]
        at = self.text.find("\n") + 1
        while at:
            if self.text[at : at + 1] not in ("", "\n") and not kept.hold(at):
                added.append((at, rest))
            at = self.text.find("\n", at) + 1
        return self.insert(added)

    def insert(self, added: Sequence[tuple[int, str]]) -> Self:
        """Insert texts at sorted places; a mark that ends at one does not grow."""
        places = [place for place, _ in added]
        shift = [0]
        pieces = []
        last = 0
        for place, text in added:
            pieces += [self.text[last:place], text]
            shift.append(shift[-1] + len(text))
            last = place
        pieces.append(self.text[last:])

        def moved(mark: Mark) -> Mark:
            start = mark.start + shift[bisect_right(places, mark.start)]
            if mark.start == mark.end:
                return mark._replace(start=start, end=start)
            return mark._replace(start=start, end=mark.end + shift[bisect_left(places, mark.end)])

        return type(self)("".join(pieces), tuple(map(moved, self.marks)))

    def remove_ranges(self, cuts: Iterable[tuple[int, int]]) -> Self:
        """Remove the ranges `cuts`, which must not overlap."""
        ranges = sorted(cuts)
        ends = [end for _, end in ranges]
        gone = [0]
        pieces = []
        last = 0
        for start, end in ranges:
            pieces.append(self.text[last:start])
            gone.append(gone[-1] + end - start)
            last = end
        pieces.append(self.text[last:])

        def moved(place: int) -> int:
            before = bisect_right(ends, place)
            inside = place - ranges[before][0] if before < len(ranges) else 0
            return place - gone[before] - max(0, inside)

        marks = (mark._replace(start=moved(mark.start), end=moved(mark.end)) for mark in self.marks)
        return type(self)("".join(pieces), tuple(marks))


class StyledBuilder:
    """Builds styled text piece by piece."""

    def __init__(self) -> None:
        self.size = 0
        self.marks: list[Mark] = []
        self._texts: list[str] = []

    def write(self, text: str) -> None:
        self._texts.append(text)
        self.size += len(text)

    def mark(self, kind: str, start: int, detail: str = "") -> None:
        """Mark everything from `start` on, if there is anything."""
        if self.size > start:
            self.marks.append(Mark(kind, start, self.size, detail))

    def hide(self, words: str) -> None:
        """Record source words that are not shown, so that they do not count as lost."""
        self.marks.append(Mark(HIDDEN, self.size, self.size, words))

    def add(self, styled: Styled) -> None:
        """Append text and marks."""
        size = self.size
        self.marks += [
            mark._replace(start=mark.start + size, end=mark.end + size) if size else mark
            for mark in styled.marks
        ]
        self.write(styled.text)

    def text_since(self, start: int) -> str:
        """Return what was written after the first `start` characters, in time proportional to its length."""
        pieces: list[str] = []
        place = self.size
        for piece in reversed(self._texts):
            if place <= start:
                break
            place -= len(piece)
            pieces.append(piece)
        return "".join(reversed(pieces))[max(0, start - place) :]

    def build(self) -> Styled:
        return Styled("".join(self._texts), tuple(self.marks))


def find_lost_word(source: str, styled: Styled) -> str:
    """Return the first word of `source` missing from the shown and hidden words of `styled`; "" for none."""
    pieces = []
    last = 0
    hidden = (mark for mark in styled.marks if mark.kind == HIDDEN)
    for _, place, _, words in sorted(hidden, key=lambda mark: mark.start):
        pieces += [styled.text[last:place], f" {words} "]
        last = place
    kept = "".join([*pieces, styled.text[last:]])
    at = 0
    for word in _WORD.findall(source):
        found = kept.find(word, at)
        if found < 0:
            return str(word)
        at = found + len(word)
    return ""


def normalize_marks(styled: Styled, over_code: Collection[str] = ()) -> list[Mark]:
    """Return marks as channels accept them: sorted, trimmed, and merged within each kind.

    No style covers code, except those in `over_code`.
    """
    by_kind: dict[str, list[Mark]] = {}
    for mark in styled.marks:
        if mark.kind != HIDDEN and mark.end > mark.start:
            by_kind.setdefault(mark.kind, []).append(mark)
    if "code" in by_kind:  # where a link and code meet, the link is more useful
        links = find_ranges(by_kind.get("text_link", ()))
        by_kind["code"] = [code for code in by_kind["code"] if not links.overlap(code.start, code.end)]
    fixed = find_ranges(mark for kind in FIXED_WIDTH for mark in by_kind.get(kind, ()))
    marks: list[Mark] = []
    for kind, found in by_kind.items():
        if kind in STYLES:
            around = _NOWHERE if kind in over_code else fixed
            found = [part for mark in _merge_marks(found) for part in subtract_ranges(mark, around)]
        marks += [kept for mark in found if (kept := trim_mark(styled.text, mark))]
    return sorted(marks, key=_mark_order)


def _mark_order(mark: Mark) -> tuple[int, int, str]:
    return mark.start, -mark.end, mark.kind


def _merge_marks(marks: Iterable[Mark]) -> list[Mark]:
    """Merge overlapping marks of one kind."""
    joined: list[Mark] = []
    for mark in sorted(marks, key=_mark_order):
        if joined and mark.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, mark.end))
        else:
            joined.append(mark)
    return joined


_NOWHERE = Ranges(())


def find_ranges(marks: Iterable[Mark], kinds: Collection[str] = ()) -> Ranges:
    """Return the ranges of marks of these kinds, or of all."""
    return Ranges((mark.start, mark.end) for mark in marks if not kinds or mark.kind in kinds)


def subtract_ranges(mark: Mark, fixed: Ranges) -> list[Mark]:
    """Return the parts of `mark` outside `fixed`."""
    return [mark._replace(start=start, end=end) for start, end in fixed.outside(mark.start, mark.end)]


def trim_mark(text: str, mark: Mark) -> Mark | None:
    """Return `mark` without white space at its edges; None if nothing is left."""
    if mark.kind == "pre":  # its first line may be indented
        return mark if not is_blank(text[mark.start : mark.end]) else None
    inner = text[mark.start : mark.end]
    start = mark.start + len(inner) - len(inner.lstrip())
    end = mark.start + len(inner.rstrip())
    return mark._replace(start=start, end=end) if start < end else None


def is_blank(text: str) -> bool:
    """Return whether a text has nothing visible, which channels reject, including Unicode's invisible characters."""
    if not text or text.isspace():
        return True
    return all(char in "\u2800\u3164\u115f\u1160\uffa0\ufffc" or _is_invisible(char) for char in text)


def _is_invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Mn")
