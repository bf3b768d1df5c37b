"""Compares two versions of a note: whole lines, and the lines that replace them; pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from memory.note_edits import count_common, make_anchor


@dataclass(frozen=True, slots=True)
class LineDiff:
    """Lines of a note and their replacement, without line ends."""

    line: int
    """The first line that changes; 1-based."""
    above: str
    """A checksum of the two lines above, in hexadecimal; "top" if there are none."""
    old: tuple[str, ...]
    """The lines that are replaced; () if lines are only added."""
    new: tuple[str, ...]
    """The lines that replace them; () if lines are only removed."""
    lead: int = 0
    """How many lines at the beginning of `new` only introduce what was added: a title, blank lines."""


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with LF line ends; a newline at its end begins no further line."""
    return text.removesuffix("\n").split("\n") if text else []


def compare_lines(before: str, after: str, *, starts_at: int = 0) -> LineDiff:
    """Return the one run of lines that differs between two versions of a note.

    `starts_at`: the first line (1-based) of the text that was added, behind a title or blank lines.
    """
    old, new = split_lines(before), split_lines(after)
    same = count_common(old, new)
    rest_old, rest_new = old[same:], new[same:]
    tail = count_common(rest_old[::-1], rest_new[::-1])
    gone, added = rest_old[: len(rest_old) - tail], rest_new[: len(rest_new) - tail]
    lead = max(starts_at - same - 1, 0) if not gone else 0
    return LineDiff(
        same + 1, make_anchor(old[:same], same + 1).above, tuple(gone), tuple(added), min(lead, len(added))
    )


def find_runs(numbers: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive numbers, in order."""
    for number in sorted(numbers):
        if number - 1 not in numbers:
            first = number
        if number + 1 not in numbers:
            yield first, number
