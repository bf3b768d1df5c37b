"""Pure: how a passage's place is written and read, `trips/oslo.md:3-9`."""

import re
from dataclasses import dataclass

from bot.file_names import meant_path, shown_path

_PLACE = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """A note, and which of its lines (1-based, inclusive) where that is told; the lines may be impossible ones."""

    path: str
    line: int | None = None
    last_line: int | None = None


def written_place(path: str, line_start: int, line_end: int) -> str:
    """`path:3` or `path:3-9`, with nothing hidden in the path."""
    lines = f"{line_start}" if line_start == line_end else f"{line_start}-{line_end}"
    return f"{shown_path(path)}:{lines}"


def read_place(text: str) -> Place:
    """Read a path as a search shows it, with or without its lines; `.md` may be missing."""
    text = meant_path(text)
    match = _PLACE.fullmatch(text)
    if match is None:
        return Place(text)
    line, last = int(match[2]), int(match[3] or match[2])
    return Place(match[1], line, last)
