"""Select the segments most similar to a query, once an index has compared the vectors of their texts; pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from memory.index.mean_centering import MeanVector, cosine
from memory.index.passage_spans import PassageSpan
from memory.index.protocol import VectorQuery
from memory.ranking.candidates import Similarity
from memory.ranking.ties import newest_first


class TextLocation(NamedTuple):
    """A place where a text occurs, and that note's date."""

    text: int
    path: str
    place: PassageSpan
    day: date | None
    mtime_ns: int


def most_similar_spans(
    search: Callable[[int], Sequence[tuple[int, float]]],
    standing: Callable[[Collection[int]], Iterable[TextLocation]],
    *,
    limit: int,
    minimum: float,
    today: date,
) -> list[PassageSpan]:
    """Return the ranges of the `limit` most similar segments, best first; ties by age, path and position.

    `search` returns that many (text id, cosine) pairs, best first; `standing` returns where texts occur.
    """
    if limit <= 0:
        return []
    asked = limit + 1
    texts = search(asked)
    # If omitted texts tie with the last one wanted, read more, so that age decides and not their order.
    while len(texts) >= asked and texts[limit - 1][1] <= texts[-1][1]:
        asked *= 2
        texts = search(asked)
    alike = {text: found for text, found in texts if found >= minimum}
    ordered = sorted(
        (-alike[text], newest_first(day, mtime_ns, today=today), path, first, note, last)
        for text, path, (note, first, last), day, mtime_ns in standing(alike)
    )
    return [(note, first, last) for _, _, _, first, note, last in ordered[:limit]]


def compute_similarities(
    vector_query: VectorQuery, common: MeanVector | None, cosines: Mapping[int, Sequence[float]]
) -> dict[int, Similarity]:
    """Return each text's similarity to the query after subtracting the mean.

    `cosines` holds, for each text, its cosine with the query and, if there is a mean, with the mean's
    direction.
    """
    if common is None:
        return {
            text: Similarity(found, found >= vector_query.min_similarity)
            for text, (found, *_) in cosines.items()
        }
    of_question = cosine(vector_query.vector, common.direction)
    return {
        text: Similarity(
            common.apart(found, of_first=to_common, of_second=of_question),
            is_enough=found >= vector_query.min_similarity,
        )
        for text, (found, to_common) in cosines.items()
    }
