"""From chunks and segments that were found to the passages around them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from memory.index.places import MOST_LOGS, Place, by_position, day_of, joined
from memory.index.sqlite_schema import POSITIONS, Tables, number, text
from memory.search import Candidate, Days, Run, Similarity

Similarities = Callable[[Sequence[int]], Mapping[int, Similarity]]
"""Of texts to the question, as far as they have vectors."""


def chunk_places(tables: Tables, chunks: Sequence[int]) -> list[Place]:
    """Where these chunks stand, which are given by their rows; in no order."""
    places = tables.run(
        "SELECT note, first, last FROM json_each(?) CROSS JOIN chunks@ ON chunks@.id = value",
        (json.dumps(chunks),),
    )
    return [(number(note), number(first), number(last)) for note, first, last in places]


def places_of_days(tables: Tables, days: Iterable[Days]) -> list[Place]:
    """Daily logs of these days, whole; of many, the latest."""
    notes = (
        row
        for first, last in days
        for row in tables.run(
            "SELECT id FROM notes@ WHERE day BETWEEN ? AND ? ORDER BY day DESC, path LIMIT ?",
            (first.toordinal(), last.toordinal(), MOST_LOGS),
        )
    )
    return [(number(note), 0, POSITIONS - 1) for (note,) in notes]


def read_runs(tables: Tables, found: Iterable[Place], similarities: Similarities | None = None) -> list[Run]:
    """The passages at `found` with their neighbours, joined where they touch; by path and line.

    With `similarities`, each is told the one of its segment.
    """
    places = joined(found)
    segments = [list(_segments(tables, place)) if similarities else [] for place in places]
    texts = dict.fromkeys(text_id for run in segments for _, _, text_id in run)
    similar = similarities(list(texts)) if similarities and texts else {}
    runs = [
        _run(tables, place, by_position(inside, similar))
        for place, inside in zip(places, segments, strict=True)
    ]
    return sorted(runs, key=lambda run: (run.path, run.passages[0].line_start if run.passages else 0))


def _segments(tables: Tables, place: Place) -> Iterator[Place]:
    """`(first, last, text)` of the segments that reach into the place."""
    note, first, last = place
    base = note * POSITIONS
    # The one that begins before the place may reach into it.
    rows = tables.run(
        "SELECT id, last, text FROM segments@ WHERE last >= ?1 AND id <= ?2"
        " AND id >= coalesce((SELECT max(id) FROM segments@ WHERE id BETWEEN ?3 AND ?4), ?4) ORDER BY id",
        (first, min(base + last, base + POSITIONS - 1), base, base + first),
    )
    for segment, end, text_id in rows:
        yield number(segment) - base, number(end), number(text_id)


def _run(tables: Tables, place: Place, similarity: Mapping[int, Similarity]) -> Run:
    note, first, last = place
    base = note * POSITIONS
    named = tables.run("SELECT path, mtime_ns FROM notes@ WHERE id = ?", (note,)).fetchone()
    rows = tables.run(
        "SELECT id, line_start, line_end, heading, is_heading, text, words, day FROM passages@"
        " WHERE id BETWEEN ? AND ? ORDER BY id",
        (base + first, min(base + last, base + POSITIONS - 1)),
    )
    passages = tuple(
        Candidate(
            number(start),
            number(end),
            text(heading),
            bool(is_heading),
            text(body),
            text(words),
            similarity.get(passage - base),
            day_of(day),
        )
        for passage, start, end, heading, is_heading, body, words, day in rows
    )
    path, mtime_ns = named or (None, None)
    return Run(text(path), passages, number(mtime_ns))
