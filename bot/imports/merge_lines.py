"""Merges a note into another one line by line; pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|$)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_WORD = re.compile(r"[^\W_]")
_FIRST_LEVEL = -6
"""Headings contain all that follows, so that they count as lines with a negative indentation: -6 to -1."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A line, or a whole block of code."""

    text: str
    level: int
    """Its indentation; for a heading as in _FIRST_LEVEL."""

    @property
    def is_heading(self) -> bool:
        return self.level < 0


def missing_lines(existing: str, incoming: str) -> str:
    """Return the lines of `incoming` that `existing` does not have, "" if there are none; both with LF line ends.

    A line that occurs twice has to be there twice. A heading, or a bullet above an indented line, comes along only if
    something below it is missing. Blocks of code are compared as a whole.
    """
    have = Counter(unit.text for unit in _split_units(existing))
    titles = {unit.text for unit in _split_units(existing) if unit.level == _FIRST_LEVEL}
    above: list[
        tuple[_Unit, bool]
    ] = []  # the headings and bullets around a line, and whether they came along
    lines: list[str] = []
    blank = False
    for unit in _split_units(incoming):
        if not unit.text:
            blank = True
            continue
        while above and above[-1][0].level >= unit.level:
            above.pop()
        is_known = have[unit.text] > 0
        have[unit.text] -= is_known
        if unit.is_heading or is_known:
            above.append((unit, unit.text in titles))
            continue
        around = [each for each, came in above if not came]
        if lines and (blank or any(each.is_heading for each in around)):
            lines.append("")
        for each in (*around, unit):
            lines.append(each.text)
            if each.is_heading:
                lines.append("")
        above = [(each, True) for each, _ in above] + [(unit, True)]
        blank = False
    return "\n".join(lines)


def _split_units(text: str) -> Iterator[_Unit]:
    lines = iter(text.split("\n"))
    for line in lines:
        line = line.rstrip()
        if fence := _FENCE.match(line):
            block = [line]
            for inner in lines:
                block.append(inner.rstrip())
                closing = inner.strip()
                if len(closing) >= len(fence[1]) and set(closing) == {fence[1][0]}:
                    break
            yield _Unit("\n".join(block), len(line) - len(line.lstrip()))
        elif heading := _HEADING.match(line):
            yield _Unit(line, _FIRST_LEVEL + len(heading[1]) - 1)
        else:
            yield _Unit(line, len(line) - len(line.lstrip()))


# -- taking lines back ------------------------------------------------------------------------------------------


def hash_lines(text: str) -> tuple[str, ...]:
    """Return a digest for each line, by which it is found again without storing what it says."""
    return tuple(_hash(line) for line in text.split("\n"))


def find_lines(text: str, digests: Sequence[str]) -> tuple[frozenset[int], int]:
    """Return the numbers (from 0) of the lines that were added, and how many of them have been changed since.

    They are mostly together. If not, each is looked for from the end, and headings and blank lines stay. A block of
    code is there as a whole or not at all: a fence without its other end would make code of all that follows.
    """
    lines = text.split("\n")
    hashed = [_hash(line) for line in lines]
    wanted = list(digests)
    for start in range(len(hashed) - len(wanted), -1, -1):
        if hashed[start : start + len(wanted)] == wanted:
            first, end = start, start + len(wanted)
            while first and not lines[first - 1].strip() and not any(map(str.strip, lines[end:])):
                first -= 1  # at the end of the note, the blank line above goes too
            return frozenset(range(first, end)), 0
    left = Counter(wanted)
    left.pop(_hash(""), None)
    found = set[int]()
    end = len(lines)
    for unit in reversed(list(_split_units(text))):
        start = end - unit.text.count("\n") - 1
        needed = Counter(
            each for each, line in zip(hashed[start:end], lines[start:end], strict=True) if line.strip()
        )
        if needed and needed <= left:
            left -= needed
            # A line such as `---` may be a person's own, and without it other lines would become something else.
            if not unit.is_heading and _WORD.search(unit.text):
                found.update(range(start, end))
        end = start
    return frozenset(found), sum(left.values())


def _hash(line: str) -> str:
    return hashlib.sha256(line.rstrip().encode("utf-8", "replace")).hexdigest()[:16]
