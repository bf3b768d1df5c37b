"""Pure: build the passage by which `memory_edit` changes exactly the lines meant, not identical ones elsewhere."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MARK = r"[ \t]*(?:[-*+][ \t]+)?"
"""Indentation and list mark at the beginning of a line."""
_LINES_AROUND = 100
"""Lines read above and below."""
_CONTEXT_LINES = 2
"""Lines of context around the passage if only part of the note was read."""


class LineEdit(NamedTuple):
    """Lines to replace, remove or put back."""

    path: str
    line: int
    """Number of the first line, from 1."""
    old: tuple[str, ...]
    """Their current text without marks; empty if lines are put back."""
    new: tuple[str, ...]
    """Their new text; whole lines if they are put back. Empty if they are removed."""


class NotePassage(NamedTuple):
    """Arguments for `memory_edit`."""

    old: str
    new: str


class ChangedLines(NamedTuple):
    """The lines that an edit changed, before and after, with their marks."""

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


def line_range(edit: LineEdit) -> tuple[int, int]:
    """Return the first line and the number of lines to read before such an edit."""
    first = max(1, edit.line - _LINES_AROUND)
    return first, edit.line - first + len(edit.old) + _LINES_AROUND


def find_passage(edit: LineEdit, note: Mapping[str, Any]) -> NotePassage | None:
    """Return the passage to replace; None if the lines are no longer there. `note` is the result of `memory_get`."""
    first, total, text = note.get("line_start"), note.get("total_lines"), note.get("text")
    if not (isinstance(first, int) and isinstance(text, str)):
        return None
    lines = text.split("\n")[: len(text.splitlines())]
    start = _find_lines(edit, lines, first)
    if start is None:
        return None
    end = start + len(edit.old)
    context = 0 if total == len(lines) else _CONTEXT_LINES
    new = _copy_marks(edit, lines[start:end])
    return _unique_passage(lines, start, end, new, context)


def _find_lines(edit: LineEdit, lines: Sequence[str], first: int) -> int | None:
    """Return the index of the lines: at their old place, or wherever they occur exactly once."""
    at, size = edit.line - first, len(edit.old)
    if not size:
        return at if lines and 0 <= at <= len(lines) else None
    wanted = [strip_mark(each) for each in edit.old]
    places = [
        place
        for place in range(len(lines))
        if [strip_mark(each) for each in lines[place : place + size]] == wanted
    ]
    if at in places:
        return at
    return places[0] if len(places) == 1 else None


def _copy_marks(edit: LineEdit, old: Sequence[str]) -> list[str]:
    if not old:
        return list(edit.new)
    marks = [re.match(MARK, line) for line in old]
    return [
        f"{mark[0] if (mark := marks[min(number, len(marks) - 1)]) else ''}{strip_mark(text)}"
        for number, text in enumerate(edit.new)
    ]


def _unique_passage(
    lines: Sequence[str], start: int, end: int, new: Sequence[str], context: int
) -> NotePassage | None:
    """Extend the passage by lines around it until it is unique."""
    text = "\n".join(lines)
    above, below = max(0, start - context), min(len(lines), end + context)
    while True:
        old = "\n".join(lines[above:below])
        becomes = "\n".join([*lines[above:start], *new, *lines[end:below]])
        # An empty passage would also remove the blank lines around it.
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
    """Return which lines were changed by an edit whose new passage begins at `line`."""
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


def strip_mark(line: str) -> str:
    """Return a line without indentation and list mark."""
    return re.sub(f"^{MARK}", "", line).strip()
