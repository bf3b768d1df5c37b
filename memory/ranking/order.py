"""Order scored passages: the best first, and among nearly equal ones the most exact and the newest."""

from collections.abc import Sequence
from datetime import date

from memory.ranking.fusion import ScoredPassage
from memory.ranking.query import NamedTime
from memory.ranking.ties import EXACT_TIE, newest_first, score_band


def sort_passages(
    found: Sequence[ScoredPassage], times: Sequence[NamedTime], *, today: date
) -> list[ScoredPassage]:
    """Return the passages best first, and the newest as of the named times first among nearly equal scores."""
    as_of = min([today, max((time.last for time in times), default=today)])

    def age_order(one: ScoredPassage) -> tuple[object, ...]:
        age = newest_first(one.passage.day, one.mtime_ns, today=today, as_of=as_of)
        return age, -one.score, one.path, one.passage.line_start, one.passage.text

    def by_words(one: ScoredPassage) -> tuple[object, ...]:
        return -score_band(one.score), -one.own, age_order(one)

    ordered = sorted(found, key=by_words)
    # Passages found by meaning keep their place; among the others, exact matches go before their neighbours.
    places = [place for place, one in enumerate(ordered) if one.is_exact or not one.is_similar]
    settled = sorted(
        (ordered[place] for place in places),
        key=lambda one: (
            -score_band(one.score, EXACT_TIE),
            not one.is_exact,
            age_order(one) if one.is_exact else by_words(one),
        ),
    )
    for place, one in zip(places, settled, strict=True):
        ordered[place] = one
    return ordered if times else _promote_best(ordered)


def _promote_best(ordered: list[ScoredPassage]) -> list[ScoredPassage]:
    """Move the best match to the second place if newer passages precede it, so that age cannot hide it."""
    best = max(range(len(ordered)), key=lambda place: ordered[place].match, default=0)
    if best > 1 and score_band(ordered[best].match) > score_band(ordered[0].match):
        ordered.insert(1, ordered.pop(best))
    return ordered
