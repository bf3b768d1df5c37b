"""The lines of a note without its code, since nothing in code is a link or a tag; pure, in linear time."""

import re
from collections.abc import Iterator
from itertools import islice

from memory.chunker import FENCE

_TICKS = re.compile("`+")


def iterate_lines_outside_code(text: str, *, mark: str, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the lines with `mark` in them, each with its number, from `first_line` on (1-based).

    Code in a line is replaced by as many spaces; lines of code blocks are left out.
    """
    fence = ""
    for number, line in enumerate(islice(text.split("\n"), first_line - 1, None), first_line):
        if ("```" in line or "~~~" in line) and (found := FENCE.match(line)):
            if not fence:
                fence = found[1]
                continue
            if found[1].startswith(fence) and not found[2].strip():
                fence = ""
                continue
        if not fence and mark in line:
            yield number, _blank_code(line) if "`" in line else line


def _blank_code(line: str) -> str:
    """Replace code between two equally long rows of backticks."""
    rows = [found.span() for found in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}
    for place in range(len(rows) - 1, -1, -1):
        start, end = rows[place]
        later.setdefault(end - start, []).append(place)
    pieces: list[str] = []
    shown_from = place = 0
    while place < len(rows):
        start, end = rows[place]
        same = later[end - start]
        while same and same[-1] <= place:
            same.pop()
        if (start and line[start - 1] == "\\") or not same:
            place += 1
            continue
        close = same[-1]
        pieces += [line[shown_from:start], " " * (rows[close][1] - start)]
        shown_from, place = rows[close][1], close + 1
    return "".join([*pieces, line[shown_from:]])
