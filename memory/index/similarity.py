"""Pure: which segments are like a question, and how much, once an index has compared the vectors of their texts."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from memory.index.mean_centering import MeanVector, cosine
from memory.index.passage_spans import PassageSpan
from memory.index.protocol import VectorQuery
from memory.search import Similarity, newest_first


class TextLocation(NamedTuple):
    """Where a text stands, and how new it is there."""

    text: int
    path: str
    place: PassageSpan
    day: date | None
    mtime_ns: int


def most_similar_spans(
    search: Callable[[int], Sequence[tuple[int, float]]],
    standing: Callable[[Collection[int]], Iterable[TextLocation]],
    *,
    most: int,
    least: float,
    today: date,
) -> list[PassageSpan]:
    """The places of the `most` segments that are most alike, best first; equals by age, path and place.

    `search` gives so many texts, (id, cosine), best first; `standing` where texts stand.
    """
    if most <= 0:
        return []
    asked = most + 1
    texts = search(asked)
    # Where those that were left out are as good as the last one wanted, their age decides, not their order.
    while len(texts) >= asked and texts[most - 1][1] <= texts[-1][1]:
        asked *= 2
        texts = search(asked)
    alike = {text: found for text, found in texts if found >= least}
    ordered = sorted(
        (-alike[text], newest_first(day, mtime_ns, today=today), path, first, note, last)
        for text, path, (note, first, last), day, mtime_ns in standing(alike)
    )
    return [(note, first, last) for _, _, _, first, note, last in ordered[:most]]


def compute_similarities(
    likeness: VectorQuery, common: MeanVector | None, cosines: Mapping[int, Sequence[float]]
) -> dict[int, Similarity]:
    """How like the question each text is, less what all have in common.

    `cosines` are of each text with the question and, where there is something common, with its direction.
    """
    if common is None:
        return {
            text: Similarity(found, found >= likeness.min_similarity) for text, (found, *_) in cosines.items()
        }
    of_question = cosine(likeness.vector, common.direction)
    return {
        text: Similarity(
            common.apart(found, of_first=to_common, of_second=of_question),
            is_enough=found >= likeness.min_similarity,
        )
        for text, (found, to_common) in cosines.items()
    }
