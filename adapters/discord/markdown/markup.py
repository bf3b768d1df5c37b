"""Render marked text as Discord's Markdown, and measure its length."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate

from adapters.discord.markdown.escaping import ADDRESS, UNSEEN, find_escapes
from adapters.discord.markdown.links import bracket_address, find_addresses
from adapters.markdown.ranges import Ranges
from adapters.markdown.styled import (
    FIXED_WIDTH,
    OWN_LINES,
    STYLES,
    Mark,
    Styled,
    find_ranges,
    normalize_marks,
    subtract_ranges,
    trim_mark,
)

_SIGNS = {"bold": "**", "italic": "*", "underline": "__", "strikethrough": "~~", "spoiler": "||"}
_PAIRED = (*FIXED_WIDTH, "address", "text_link", *STYLES)
_KEPT = (*FIXED_WIDTH, "address", "lead", "text_link")
"""Marks whose text is not parsed as markup."""
_OUTERMOST = (
    "text_link",
    "spoiler",
    "underline",
    "strikethrough",
    "bold",
    "italic",
    "address",
    "code",
    "pre",
)
_LANGUAGE = re.compile(r"[A-Za-z0-9.+-]+")
_SHARP = {"c#": "cs", "f#": "fs"}
_BREAK = re.compile(r"\n")
_TICKS = re.compile(r"`+")
_FENCE_IN_CODE = re.compile(r"``(?=`)")
_BARS = re.compile(r"\|(?=\|)")
_SHARPS = re.compile(r"#(?!#{0,2}\s)")
_LINK_END = re.compile(r"\](?=\()")
_LIST_END = re.compile(r"\n(?=[^ ])")
# Order of insertions at a place, all before the character there.
_EARLY, _CLOSING, _BETWEEN, _PREFIX, _OPENING, _LATE = range(6)
_SLACK = 4
"""Characters that a cut may add: escapes at the start of a line or next to markup."""

Insertion = tuple[int, int, int, str]
"""Place, rank from above, order within the rank, text."""


def prepare(styled: Styled) -> tuple[str, list[Mark]]:
    """Return text and marks that Discord can show; marks are nested or disjoint."""
    text = styled.text
    marks = normalize_marks(styled, over_code=("spoiler",))
    addresses = find_addresses(text, marks)
    marks = [mark for mark in marks if mark.kind != "address"]
    parts: list[Mark] = []
    ending = {  # inside an address it would end the style
        sign: find_ranges(each for each in addresses if sign in text[each.start : each.end])
        for sign in {_mark_sign(mark) for mark in marks}
    }
    for mark in marks:
        around = ending[_mark_sign(mark)]
        found = subtract_ranges(mark, around) if around else [mark]
        parts += [kept for part in found if (kept := trim_mark(text, part))]
    begun = {mark.start for mark in parts}
    for at, mark in enumerate(parts):
        if mark.kind in ("blockquote", "heading"):  # these cover whole lines, including indented code
            parts[at] = mark._replace(start=text.rfind("\n", 0, mark.start) + 1)
    text = _replace_breaks(text, find_ranges(parts, ("code",)))  # a blank line would end a list
    return text, _nest_marks([*parts, *(bracket_address(text, address, begun) for address in addresses)])


def _mark_sign(mark: Mark) -> str:
    return _SIGNS.get(mark.kind, " ")[0]


def _replace_breaks(text: str, code: Ranges) -> str:
    """Replace the line breaks within `code` by spaces."""
    places = [match.start() for match in _BREAK.finditer(text) if code.hold(match.start())] if code else []
    pieces = []
    last = 0
    for place in places:
        pieces += [text[last:place], " "]
        last = place + 1
    return "".join([*pieces, text[last:]])


def _nest_marks(marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks in order, split where they would cross another mark."""
    done: list[Mark] = []
    around: list[Mark] = []
    waiting = [(*_mark_order(mark), mark) for mark in marks]
    heapify(waiting)
    while waiting:
        *_, mark = heappop(waiting)
        while around and around[-1].end <= mark.start:
            around.pop()
        if mark.kind in _PAIRED:
            if around and mark.end > around[-1].end:
                rest = mark._replace(start=around[-1].end)
                heappush(waiting, (*_mark_order(rest), rest))
                mark = mark._replace(end=rest.start)
            around.append(mark)
        done.append(mark)
    return done


def _mark_order(mark: Mark) -> tuple[int, int, int]:
    order = _OUTERMOST.index(mark.kind) if mark.kind in _OUTERMOST else -1
    return mark.start, -mark.end, order


def render_markup(text: str, marks: Sequence[Mark]) -> str:
    """Render text and marks prepared by `prepare` as Discord's Markdown."""
    pieces = []
    last = 0
    for place, _, _, inserted in sorted(_find_insertions(text, marks)):
        pieces += [text[last:place], inserted]
        last = place
    return "".join([*pieces, text[last:]])


def _find_insertions(text: str, marks: Sequence[Mark]) -> Iterator[Insertion]:
    paired = [mark for mark in marks if mark.kind in _PAIRED]
    quotes = find_ranges(marks, ("blockquote",))
    for number, mark in enumerate(paired):
        opening, closing = _mark_signs(text, mark, quotes)
        yield mark.start, _OPENING, number, opening
        yield mark.end, _CLOSING, -number, closing
    for place in _find_touching(paired):
        yield place, _BETWEEN, 0, UNSEEN
    yield from _point_insertions(text, marks, worst=False)


def _point_insertions(text: str, marks: Sequence[Mark], *, worst: bool) -> Iterator[Insertion]:
    kept = [mark for mark in marks if mark.kind in _KEPT and not _is_address_rest(text, mark)]
    edges = {
        place
        for mark in marks
        if mark.kind in _PAIRED and mark.kind != "pre"
        for place in (mark.start, mark.end)
    }
    for place, early, inserted in find_escapes(text, marks, kept, edges, worst=worst):
        yield place, _EARLY if early else _LATE, 0, inserted
    quotes, spoilers = find_ranges(marks, ("blockquote",)), find_ranges(marks, ("spoiler",))
    link_end = min((mark.end for mark in marks if mark.kind == "text_link"), default=len(text) + 1)
    for place in _list_starts(text, marks, worst=worst):
        yield place, _EARLY, 0, "> \n" if quotes.are_cut_at(place) else "\n"
    for mark in marks:
        if mark.kind == "blockquote":
            for start in _line_starts(text, mark):
                yield start, _PREFIX, 0, "> "
        elif mark.kind == "heading":
            for start in _line_starts(text, mark):
                yield start, _PREFIX, 1, "#" * int(mark.detail) + " "
                if _SHARPS.match(text, start):
                    yield start, _LATE, 0, "\\"
            for match in re.finditer(r"#(?=\n|$)", text[mark.start : mark.end]):
                yield mark.start + match.end(), _EARLY, 1, UNSEEN
        elif mark.kind in FIXED_WIDTH:
            yield from _code_insertions(
                text, mark, after_link=link_end <= mark.start, in_spoiler=spoilers.hold(mark.start)
            )


def _code_insertions(text: str, code: Mark, *, after_link: bool, in_spoiler: bool) -> Iterator[Insertion]:
    """Yield separators within code: Discord has no fences longer than three backticks."""
    inner = text[code.start : code.end]
    broken = _FENCE_IN_CODE if code.kind == "pre" else re.compile("`(?=`)")
    if code.kind == "pre" or {len(run) for run in _TICKS.findall(inner)} - {1}:
        for match in broken.finditer(inner):
            yield code.start + match.end(), _LATE, 1, UNSEEN
    if after_link:
        bracket = inner.find("[")
        for match in _LINK_END.finditer(inner, 0, len(inner) if bracket < 0 else bracket + 1):
            yield code.start + match.end(), _LATE, 1, UNSEEN  # otherwise the link would extend to here
    if in_spoiler:
        for match in _BARS.finditer(inner):
            yield code.start + match.end(), _LATE, 1, UNSEEN


def _list_starts(text: str, marks: Sequence[Mark], *, worst: bool) -> Iterator[int]:
    """Yield the starts of lists that Discord would merge with the list above, which numbers items itself."""
    above: list[tuple[int, int | None]] = []
    last = 0
    for mark in marks:
        if mark.kind != "lead":
            continue
        start = text.rfind("\n", 0, mark.start) + 1
        if text[start : mark.start].strip(" "):  # it follows another item on its line
            continue
        if worst:
            yield start
            continue
        column = mark.start - start
        number = int(text[mark.start : mark.end - 1]) if mark.end - mark.start > 1 else None
        if _LIST_END.search(text, last, start):
            above.clear()
        while above and above[-1][0] > column:
            above.pop()
        if above and above[-1][0] == column:
            before = above.pop()[1]
            if number != (None if before is None else before + 1):
                yield start
        above.append((column, number))
        last = mark.end


def _line_starts(text: str, mark: Mark) -> Iterator[int]:
    """Yield the starts of the mark's lines; the first may lie before the mark."""
    yield text.rfind("\n", 0, mark.start) + 1
    place = text.find("\n", mark.start, mark.end) + 1
    while place:
        yield place
        place = text.find("\n", place, mark.end) + 1


def _mark_signs(text: str, mark: Mark, quotes: Ranges) -> tuple[str, str]:
    if mark.kind in STYLES:
        return _SIGNS[mark.kind], _SIGNS[mark.kind]
    if mark.kind == "address":
        return ("", "") if _is_address_rest(text, mark) else (mark.detail[:1], mark.detail[1:])
    if mark.kind == "text_link":
        return "[", f"]({mark.detail})"
    inner = text[mark.start : mark.end]
    if mark.kind == "code":
        if "`" not in inner:
            return "`", "`"
        pad = " " if inner.strip(" ")[0] == "`" else "", " " if inner.strip(" ")[-1] == "`" else ""
        return f"``{pad[0]}", f"{pad[1]}``"
    line = "\n> " if quotes.hold(mark.start) else "\n"
    before = line if text[mark.start - 1 : mark.start] not in ("", "\n") else ""
    after = "\n" if text[mark.end : mark.end + 1] not in ("", "\n") else ""
    language = _SHARP.get(mark.detail.lower(), mark.detail)
    language = language if _LANGUAGE.fullmatch(language) else ""
    return f"{before}```{language}{line}", f"{line}```{after}"


def _is_address_rest(text: str, mark: Mark) -> bool:
    """Return whether this is part of an address that was cut."""
    return mark.kind == "address" and not ADDRESS.fullmatch(text, mark.start, mark.end)


def _find_touching(paired: Sequence[Mark]) -> Iterator[int]:
    """Yield places where the signs of adjacent marks would merge."""
    ends: dict[int, set[str]] = {}
    for mark in paired:
        if mark.kind in STYLES or mark.kind == "code":
            ends.setdefault(mark.end, set()).add(_SIGNS.get(mark.kind, "`")[0])
    begins: dict[int, set[str]] = {}
    for mark in paired:
        if mark.start in ends:
            begins.setdefault(mark.start, set()).add(_SIGNS.get(mark.kind, "`")[0])
    for place, begun in begins.items():
        if begun & ends[place] or ("~" in ends[place] and "_" in begun):
            yield place


class Length:
    """Measures text in code points, as Discord counts, including all markup."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        """Prepare the sums; text and marks must come from `prepare`."""
        self._end = len(text)
        points = sorted(
            (place, len(inserted)) for place, _, _, inserted in _point_insertions(text, marks, worst=True)
        )
        self._places = [place for place, _ in points]
        self._sums = [0, *accumulate(length for _, length in points)]
        quotes = find_ranges(marks, ("blockquote",))
        paired = [
            (mark.start, mark.end, sum(map(len, _mark_signs(text, mark, quotes))) + 3)
            for mark in marks
            if mark.kind in _PAIRED
        ]
        self._starts = [start for start, _, _ in paired]
        self._begun = [0, *accumulate(length for _, _, length in paired)]
        ended = sorted((end, length) for _, end, length in paired)
        self._ends = [end for end, _ in ended]
        self._ended = [0, *accumulate(length for _, length in ended)]
        lines = [mark for mark in marks if mark.kind in (*OWN_LINES, "heading") and mark.start < mark.end]
        self._line_starts = sorted(mark.start for mark in lines)
        self._line_ends = sorted(mark.end for mark in lines)

    def size(self, start: int, end: int) -> int:
        """Return the maximum size of the text between two places."""
        points = self._sums[bisect_right(self._places, end)] - self._sums[bisect_left(self._places, start)]
        marks = self._begun[bisect_left(self._starts, end)] - self._ended[bisect_right(self._ends, start)]
        # Marks that began before and have not ended.
        lines = bisect_left(self._line_starts, start) - bisect_right(self._line_ends, start)
        return end - start + points + marks + 4 * lines + _SLACK

    def reach(self, start: int, limit: int) -> int:
        """Return the furthest place with at most `limit` from `start`; half of `limit` if there is none."""
        most = min(self._end, start + limit)
        end = start + bisect_right(range(start, most + 1), limit, key=lambda end: self.size(start, end)) - 1
        return end if end > start else min(self._end, start + max(1, limit // 2))
