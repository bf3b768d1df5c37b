"""Read the passages around the chunks and segments that were found."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from itertools import islice

from memory.folder_scope import FolderScope
from memory.index.passage_spans import (
    MAX_DAILY_LOGS,
    PassageSpan,
    merge_spans,
    parse_day,
    similarity_by_position,
)
from memory.index.sqlite_schema import POSITIONS, SqliteTables, check_integer, check_text
from memory.ranking.candidates import CandidatePassage, DayRange, PassageRun, Similarity

Similarities = Callable[[Sequence[int]], Mapping[int, Similarity]]
"""Returns the similarity of each text id that has a vector to the query."""


def read_chunk_spans(tables: SqliteTables, chunks: Sequence[int]) -> list[PassageSpan]:
    """Return the passage ranges of these chunk rows, in no order."""
    places = tables.run(
        "SELECT note, first, last FROM json_each(?) CROSS JOIN chunks@ ON chunks@.id = value",
        (json.dumps(chunks),),
    )
    return [(check_integer(note), check_integer(first), check_integer(last)) for note, first, last in places]


def read_day_spans(
    tables: SqliteTables, days: Iterable[DayRange], folders: FolderScope | None = None
) -> list[PassageSpan]:
    """Return the ranges of the daily logs of these days, whole; the latest ones if there are many.

    With `folders`, only logs in these folders.
    """
    return [
        (note, 0, POSITIONS - 1)
        for first, last in days
        for note in islice(_list_logs(tables, first, last, folders), MAX_DAILY_LOGS)
    ]


def _list_logs(tables: SqliteTables, first: date, last: date, folders: FolderScope | None) -> Iterator[int]:
    """Yield the daily logs of these days, the latest first."""
    rows = tables.run(
        "SELECT id, path FROM notes@ WHERE day BETWEEN ? AND ? ORDER BY day DESC, path",
        (first.toordinal(), last.toordinal()),
    )
    with closing(rows):
        for note, path in rows:
            if folders is None or folders.contains(check_text(path)):
                yield check_integer(note)


def read_runs(
    tables: SqliteTables, found: Iterable[PassageSpan], similarities: Similarities | None = None
) -> list[PassageRun]:
    """Return the passages at `found` with their neighbours, merged if they touch; by path and line.

    With `similarities`, each passage gets the similarity of its segment.
    """
    places = merge_spans(found)
    segments = [list(_read_segments(tables, place)) if similarities else [] for place in places]
    texts = dict.fromkeys(text_id for run in segments for _, _, text_id in run)
    similar = similarities(list(texts)) if similarities and texts else {}
    runs = [
        _read_run(tables, place, similarity_by_position(inside, similar))
        for place, inside in zip(places, segments, strict=True)
    ]
    return sorted(runs, key=lambda run: (run.path, run.passages[0].line_start if run.passages else 0))


def _read_segments(tables: SqliteTables, place: PassageSpan) -> Iterator[PassageSpan]:
    """Yield `(first, last, text)` of the segments that overlap the range."""
    note, first, last = place
    base = note * POSITIONS
    # The last segment that begins before the range may overlap it.
    rows = tables.run(
        "SELECT id, last, text FROM segments@ WHERE last >= ?1 AND id <= ?2"
        " AND id >= coalesce((SELECT max(id) FROM segments@ WHERE id BETWEEN ?3 AND ?4), ?4) ORDER BY id",
        (first, min(base + last, base + POSITIONS - 1), base, base + first),
    )
    for segment, end, text_id in rows:
        yield check_integer(segment) - base, check_integer(end), check_integer(text_id)


def _read_run(tables: SqliteTables, place: PassageSpan, similarity: Mapping[int, Similarity]) -> PassageRun:
    note, first, last = place
    base = note * POSITIONS
    named = tables.run("SELECT path, mtime_ns FROM notes@ WHERE id = ?", (note,)).fetchone()
    rows = tables.run(
        "SELECT id, line_start, line_end, heading, is_heading, text, words, day FROM passages@"
        " WHERE id BETWEEN ? AND ? ORDER BY id",
        (base + first, min(base + last, base + POSITIONS - 1)),
    )
    passages = tuple(
        CandidatePassage(
            check_integer(start),
            check_integer(end),
            check_text(heading),
            bool(is_heading),
            check_text(body),
            check_text(words),
            similarity.get(passage - base),
            parse_day(day),
        )
        for passage, start, end, heading, is_heading, body, words, day in rows
    )
    path, mtime_ns = named or (None, None)
    return PassageRun(check_text(path), passages, check_integer(mtime_ns))
