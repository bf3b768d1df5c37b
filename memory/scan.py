"""Search candidates straight from the note files, for when the index is unavailable: slow, but always possible."""

from collections import Counter
from collections.abc import Collection, Sequence

from memory.chunker import split_passages
from memory.dates import note_date, passage_dates
from memory.errors import MemoryFault
from memory.folder_scope import FolderScope
from memory.note_references import read_references
from memory.notes import Notes
from memory.ranking.candidates import CandidatePassage, DayRange, PassageRun, SearchCandidates
from memory.ranking.term_counter import count_frequencies
from memory.tokenizer import Term


def scan_notes(
    notes: Notes,
    terms: Sequence[Term],
    days: Sequence[DayRange] = (),
    within: Collection[str] | None = None,
    *,
    max_tokens: int,
) -> SearchCandidates:
    """Return every passage of the readable notes that contain a term, and of the logs of the given days.

    `within`: see `Index.candidates`. `max_tokens`: the maximum size of a chunk, as for the index.
    """
    runs: list[PassageRun] = []
    frequencies: Counter[Term] = Counter()
    read = 0
    folders = None if within is None else FolderScope.of(within)
    for stat in notes.walk().notes:
        if folders and not folders.contains(stat.path):
            continue
        try:
            text = notes.load(stat.path).text
        except MemoryFault:
            continue
        read += 1
        split = split_passages(text, max_tokens=max_tokens)
        references, told = read_references(text, split), passage_dates(stat.path, split)
        passages = tuple(
            CandidatePassage(p.line_start, p.line_end, p.heading, p.is_heading, p.text, words, day=day)
            for p, words, day in zip(split, references.words, told, strict=True)
        )
        run = PassageRun(stat.path, passages, stat.mtime_ns, references.own_words)
        found = count_frequencies(terms, [run])
        log = note_date(stat.path) if days else None
        if found or (log and any(first <= log <= last for first, last in days)):
            runs.append(run)
            frequencies.update(found)
    return SearchCandidates(tuple(runs), frequencies, read)
