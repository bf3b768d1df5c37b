"""What an index finds for a query: passages, and the numbers needed to weigh the query's terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from memory.tokenizer import Term

DayRange = tuple[date, date]
"""First and last day, inclusive."""


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """One passage that may become a hit."""

    line_start: int
    line_end: int
    heading: str
    is_heading: bool
    text: str
    words: str
    """The passage's tokens, separated by single spaces."""
    similarity: "Similarity | None" = None
    """Similarity of the query and the passage's segment; None if there are no vectors to compare."""
    day: date | None = None
    """The day it was written about; None if the note does not say, and for MEMORY.md."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of two vectors."""

    cosine: float
    """Cosine after subtracting the mean of all notes' vectors."""
    is_enough: bool
    """True if the passage may be a hit by its meaning alone."""


@dataclass(frozen=True, slots=True)
class PassageRun:
    """Consecutive passages of one note, in the order of their lines."""

    path: str
    passages: tuple[CandidatePassage, ...]
    mtime_ns: int = 0
    """The file's modification time, in nanoseconds."""
    names: str = ""
    """The tokens of what the note is called besides its path, and of its tags, separated by single spaces."""
    mentioned: str = ""
    """The tokens of the names by which the query mentions the note, if the run begins with the note's first passage."""


@dataclass(frozen=True, slots=True)
class SearchCandidates:
    """An index's candidates for a query, and the numbers needed to weigh its terms."""

    runs: tuple[PassageRun, ...]
    frequencies: Mapping[Term, int]
    """Number of chunks that contain each term."""
    chunks: int
    """Number of all chunks."""
    links: frozenset[tuple[str, str]] = frozenset()
    """Pairs of notes among the runs of which the first links to the second."""
