"""Hide lines in what a shared index returns, since another instance, which hides other lines, may have indexed it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from memory.errors import NoteUnreadable
from memory.ranking.candidates import CandidatePassage, PassageRun, SearchCandidates
from memory.tokenizer import tokenize

BlankLines = Callable[[str, str], str]
"""Returns a text of the note at a path with its hidden lines empty. Raises `NoteUnreadable` if they are unknown."""

_BETWEEN_HEADINGS = " > "
_HEADING_LEVELS = range(1, 7)


def blank_passages(candidates: SearchCandidates, blank: BlankLines) -> SearchCandidates:
    """Return the candidates with hidden lines empty, also where they are headings.

    A part of a line that was too long for one passage is not recognised.
    """
    return replace(candidates, runs=tuple(_blank_runs(candidates.runs, blank)))


def _blank_runs(runs: tuple[PassageRun, ...], blank: BlankLines) -> Iterator[PassageRun]:
    for run in runs:
        try:
            passages = tuple(_blank_passage(run.path, passage, blank) for passage in run.passages)
        except NoteUnreadable:
            continue
        yield run if passages == run.passages else replace(run, passages=passages, names="", mentioned="")


def _blank_passage(path: str, passage: CandidatePassage, blank: BlankLines) -> CandidatePassage:
    text, heading = blank(path, passage.text), _blank_headings(path, passage.heading, blank)
    if (text, heading) == (passage.text, passage.heading):
        return passage
    return replace(passage, text=text, heading=heading, words=" ".join(tokenize(text)), similarity=None)


def _blank_headings(path: str, headings: str, blank: BlankLines) -> str:
    return _BETWEEN_HEADINGS.join(
        each
        for each in headings.split(_BETWEEN_HEADINGS)
        if all(blank(path, f"{'#' * level} {each}") for level in _HEADING_LEVELS)
    )
