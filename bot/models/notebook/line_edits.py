"""Pure: the passage by which `memory_edit` changes certain lines of a note, and no others that read the same."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MARK = r"[ \t]*(?:[-*+][ \t]+)?"
"""The indentation and the mark of a list that a line begins with."""
_AROUND = 100
"""So many lines above and below are looked at."""
_CONTEXT = 2
"""So many lines stand around the passage where not all of the note was looked at."""


class LineEdit(NamedTuple):
    """Lines that are to be replaced, removed or put back."""

    path: str
    line: int
    """The first one, counted from 1."""
    old: tuple[str, ...]
    """What they say, without marks; none where lines are put back."""
    new: tuple[str, ...]
    """What they are to say; of lines that are put back, all of the line. None where they are removed."""


class NotePassage(NamedTuple):
    """What `memory_edit` takes."""

    old: str
    new: str


class ChangedLines(NamedTuple):
    """Which lines an edit has changed: as they were, and as they are, with their marks."""

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


def lines_to_read(edit: LineEdit) -> tuple[int, int]:
    """Return the first line and the number of lines to read before such an edit."""
    first = max(1, edit.line - _AROUND)
    return first, edit.line - first + len(edit.old) + _AROUND


def passage_for(edit: LineEdit, note: Mapping[str, Any]) -> NotePassage | None:
    """Return the passage to replace; None where the lines do not stand there any more. `note`: from `memory_get`."""
    first, total, text = note.get("line_start"), note.get("total_lines"), note.get("text")
    if not (isinstance(first, int) and isinstance(text, str)):
        return None
    lines = text.split("\n")[: len(text.splitlines())]
    start = _place_of(edit, lines, first)
    if start is None:
        return None
    end = start + len(edit.old)
    context = 0 if total == len(lines) else _CONTEXT
    new = _with_marks(edit, lines[start:end])
    return _only_passage(lines, start, end, new, context)


def _place_of(edit: LineEdit, lines: Sequence[str], first: int) -> int | None:
    """Where the lines stand among these: at their place, or wherever they stand once."""
    at, size = edit.line - first, len(edit.old)
    if not size:
        return at if lines and 0 <= at <= len(lines) else None
    wanted = [bare(each) for each in edit.old]
    places = [
        place for place in range(len(lines)) if [bare(each) for each in lines[place : place + size]] == wanted
    ]
    if at in places:
        return at
    return places[0] if len(places) == 1 else None


def _with_marks(edit: LineEdit, old: Sequence[str]) -> list[str]:
    if not old:
        return list(edit.new)
    marks = [re.match(MARK, line) for line in old]
    return [
        f"{mark[0] if (mark := marks[min(number, len(marks) - 1)]) else ''}{bare(text)}"
        for number, text in enumerate(edit.new)
    ]


def _only_passage(
    lines: Sequence[str], start: int, end: int, new: Sequence[str], context: int
) -> NotePassage | None:
    """Take lines around it into the passage until it stands there once."""
    text = "\n".join(lines)
    above, below = max(0, start - context), min(len(lines), end + context)
    while True:
        old = "\n".join(lines[above:below])
        becomes = "\n".join([*lines[above:start], *new, *lines[end:below]])
        # An empty passage would remove the blank lines around it as well.
        whole = bool(becomes) or (above, below) == (start, end)
        if whole and old.strip() and text.find(old) == text.rfind(old):
            return NotePassage(old, becomes)
        if above == 0 and below == len(lines):
            return None
        if above > 0:
            above -= 1
        else:
            below += 1


def changed_lines(old: str, new: str, line: int) -> ChangedLines:
    """Return which lines an edit has changed whose new passage begins at `line`."""
    before, after = old.split("\n"), new.split("\n") if new else []
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    end = 0
    while end < min(len(before), len(after)) - same and before[-1 - end] == after[-1 - end]:
        end += 1
    return ChangedLines(
        line + same, tuple(before[same : len(before) - end]), tuple(after[same : len(after) - end])
    )


def bare(line: str) -> str:
    """Return what a line says, without indentation and the mark of a list."""
    return re.sub(f"^{MARK}", "", line).strip()
