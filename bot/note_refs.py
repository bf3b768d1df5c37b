"""Formats and parses references to lines of a note: `trips/oslo.md:3-9`."""

import re
from dataclasses import dataclass

from bot.visible_names import escape_path, unescape_path

_PLACE = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NoteRef:
    """A note and optionally a range of its lines (1-based, inclusive), which may not exist."""

    path: str
    line: int | None = None
    last_line: int | None = None


def format_note_ref(path: str, line_start: int, line_end: int) -> str:
    """Return `path:3` or `path:3-9`, with invisible characters of the path escaped."""
    lines = f"{line_start}" if line_start == line_end else f"{line_start}-{line_end}"
    return f"{escape_path(path)}:{lines}"


def parse_note_ref(text: str) -> NoteRef:
    """Parse a path as a search shows it, with or without lines; `.md` may be missing."""
    text = unescape_path(text)
    match = _PLACE.fullmatch(text)
    if match is None:
        return NoteRef(text)
    line, last = int(match[2]), int(match[3] or match[2])
    return NoteRef(match[1], line, last)
