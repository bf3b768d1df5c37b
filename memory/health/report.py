"""The findings of an examination of the notes; pure."""

from dataclasses import dataclass
from typing import Literal

FindingKind = Literal[
    "duplicate", "near_duplicate", "superseded", "core_too_long", "not_found", "broken_link", "foreign_text"
]

MAX_FINDINGS = 10
"""Findings of each kind that are shown; of the others only their number."""

MAX_PLACES = 5
"""Places that one finding names."""

MAX_QUOTE = 160
"""Characters of a line that are quoted."""


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a note."""

    path: str
    line_start: int
    """1-based, inclusive, like `line_end`; 0 if the whole note is meant."""
    line_end: int
    text: str
    """The beginning of the lines, in one line."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person may want to fix."""

    kind: FindingKind
    places: tuple[Place, ...]
    """What to fix, the last lines of a note first."""
    about: Place | None = None
    """The lines that say the same, or the newer ones."""
    more: int = 0
    """Number of further places like these."""
    reason: str = ""
    """What is wrong with it, if the kind alone does not say that."""
    new_text: str | None = None
    """What `/correct` should put there: "" to remove the lines, None if only the person knows."""


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of one examination."""

    findings: tuple[Finding, ...]
    """By kind, at most `MAX_FINDINGS` of each."""
    left_out: dict[FindingKind, int]
    """Number of further findings, for the kinds that have more."""
    notes: int
    """Number of notes that were read."""
    unread: int
    """Number of notes for which there was no time."""
    seconds: float
    read_only: tuple[str, ...] = ()
    """Names of the folders of notes that may only be read."""

    def find_read_only_folder(self, place: Place) -> str:
        """Return the name of the folder of a place that may only be read; "" if the place can be fixed."""
        top, slash, _ = place.path.partition("/")
        return top if slash and top in self.read_only else ""

    @property
    def is_healthy(self) -> bool:
        """Return whether all notes were read and nothing needs fixing."""
        return not (self.findings or self.unread)


def shorten(text: str, most: int = MAX_QUOTE) -> str:
    """Return a text in one line of at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1].rstrip()}…"
