"""Read the passages around the chunks and segments that were found."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from memory.index.passage_spans import (
    MAX_DAILY_LOGS,
    PassageSpan,
    merge_spans,
    parse_day,
    similarity_by_position,
)
from memory.index.postgres.schema import PostgresTables
from memory.ranking.candidates import CandidatePassage, DayRange, PassageRun, Similarity

END = 2**31 - 8
"""A position beyond the last passage of any note."""

Similarities = Callable[[Sequence[int]], Mapping[int, Similarity]]
"""Returns the similarity of each text id that has a vector to the query."""

_PLACES = (
    "unnest(%s::bigint[], %s::integer[], %s::integer[]) WITH ORDINALITY AS place (note, first, last, number)"
)


def read_chunk_spans(tables: PostgresTables, chunks: Sequence[int]) -> list[PassageSpan]:
    """Return the passage ranges of these chunk ids, in no order."""
    if not chunks:
        return []
    return tables.run(
        "SELECT note, first, last FROM commonplace.chunks@ WHERE id = ANY(%s)", [list(chunks)]
    ).fetchall()


def read_day_spans(
    tables: PostgresTables, days: Iterable[DayRange], notes: Sequence[int] | None = None
) -> list[PassageSpan]:
    """Return the ranges of the daily logs of these days, whole; the latest ones if there are many.

    With `notes`, only logs among these.
    """
    among = "" if notes is None else " AND id = ANY(%(notes)s)"
    sql = (
        "SELECT id FROM commonplace.notes@ WHERE day BETWEEN %(first)s AND %(last)s"  # noqa: S608
        f"{among} ORDER BY day DESC, path LIMIT %(most)s"
    )
    return [
        (note, 0, END)
        for first, last in days
        for (note,) in tables.run(
            sql,
            {"first": first.toordinal(), "last": last.toordinal(), "most": MAX_DAILY_LOGS, "notes": notes},
        )
    ]


def read_runs(
    tables: PostgresTables, found: Iterable[PassageSpan], similarities: Similarities | None = None
) -> list[PassageRun]:
    """Return the passages at `found` with their neighbours, merged if they touch; by path and line.

    With `similarities`, each passage gets the similarity of its segment.
    """
    places = merge_spans(found)
    if not places:
        return []
    segments = _read_segments(tables, places) if similarities else {}
    texts = dict.fromkeys(text for run in segments.values() for _, _, text in run)
    similar = similarities(list(texts)) if similarities and texts else {}
    passages: defaultdict[int, list[CandidatePassage]] = defaultdict(list)
    known = {number: similarity_by_position(inside, similar) for number, inside in segments.items()}
    for number, position, start, end, heading, is_heading, body, words, day in tables.run(
        "SELECT number, position, line_start, line_end, heading, is_heading, text, words, day"  # noqa: S608
        f" FROM {_PLACES} JOIN commonplace.passages@ AS p ON p.note = place.note"
        " AND position BETWEEN place.first AND place.last ORDER BY number, position",
        _to_columns(places),
    ):
        similarity = known.get(number, {}).get(position)
        passages[number].append(
            CandidatePassage(start, end, heading, is_heading, body, words, similarity, parse_day(day))
        )
    notes: dict[int, tuple[str, int]] = {
        note: (path, mtime_ns)
        for note, path, mtime_ns in tables.run(
            "SELECT id, path, mtime_ns FROM commonplace.notes@ WHERE id = ANY(%s)",
            [[note for note, _, _ in places]],
        )
    }
    runs = [
        PassageRun(notes[note][0], tuple(passages.get(number, ())), notes[note][1])
        for number, (note, _, _) in enumerate(places, 1)
        if note in notes
    ]
    return sorted(runs, key=lambda run: (run.path, run.passages[0].line_start if run.passages else 0))


def _read_segments(tables: PostgresTables, places: Sequence[PassageSpan]) -> dict[int, list[PassageSpan]]:
    """Return `(first, last, text)` of the segments that overlap each range, by the range's number from 1."""
    found: defaultdict[int, list[PassageSpan]] = defaultdict(list)
    # The last segment that begins before the range may overlap it.
    for number, first, last, text in tables.run(
        f"SELECT number, s.first, s.last, s.text FROM {_PLACES}"  # noqa: S608
        " JOIN commonplace.segments@ AS s ON s.note = place.note AND s.first <= place.last"
        " AND s.last >= place.first AND s.first >= coalesce((SELECT max(b.first) FROM commonplace.segments@ AS b"
        " WHERE b.note = place.note AND b.first <= place.first), place.first) ORDER BY number, s.first",
        _to_columns(places),
    ):
        found[number].append((first, last, text))
    return found


def _to_columns(places: Sequence[PassageSpan]) -> list[list[int]]:
    return [list(column) for column in zip(*places, strict=True)]
