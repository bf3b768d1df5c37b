"""Candidates straight from the notes, for when there is no index to ask: slow, and always there."""

from collections import Counter
from collections.abc import Sequence

from memory.chunker import split_passages
from memory.dates import note_date, passage_dates
from memory.errors import MemoryFault
from memory.notes import Notes
from memory.search import CandidatePassage, DayRange, PassageRun, SearchCandidates, count_frequencies
from memory.tokenizer import Term, tokenize


def scan_notes(
    notes: Notes, terms: Sequence[Term], *, most_tokens: int, days: Sequence[DayRange] = ()
) -> SearchCandidates:
    """Every passage of every note that can be read and holds one of the terms, or is the log of one of the days.

    `most_tokens` as when indexed.
    """
    runs: list[PassageRun] = []
    frequencies: Counter[Term] = Counter()
    read = 0
    for stat in notes.walk().notes:
        try:
            text = notes.load(stat.path).text
        except MemoryFault:
            continue
        read += 1
        split = split_passages(text, most_tokens=most_tokens)
        passages = tuple(
            CandidatePassage(
                p.line_start, p.line_end, p.heading, p.is_heading, p.text, " ".join(tokenize(p.text)), day=day
            )
            for p, day in zip(split, passage_dates(stat.path, split), strict=True)
        )
        run = PassageRun(stat.path, passages, stat.mtime_ns)
        found = count_frequencies(terms, [run])
        log = note_date(stat.path) if days else None
        if found or (log and any(first <= log <= last for first, last in days)):
            runs.append(run)
            frequencies.update(found)
    return SearchCandidates(tuple(runs), frequencies, read)
