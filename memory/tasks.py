"""Tasks in a note's lists, `- [ ] milk`: whether a line is one, and the same line checked or unchecked; pure."""

import re

from memory.note_edits import new_lines

_TASK = re.compile(r"((?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))+[ \t]*\[)([ xX])(?=\][ \t])")


def is_task(line: str) -> bool:
    """Return whether a line is a task."""
    return _TASK.match(line) is not None


def set_task(line: str, *, is_done: bool) -> str:
    """Return a task's line checked or unchecked; the line as it is if it is so already, or is no task."""
    found = _TASK.match(line)
    if found is None or (found[2] in "xX") == is_done:
        return line
    return f"{found[1]}{'x' if is_done else ' '}{line[found.end() :]}"


def task_mark(line: str) -> str:
    """Return a short mark by which a form tells that a line is still the one that it showed."""
    return new_lines(line).checksum
