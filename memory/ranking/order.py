"""Order scored passages: by score and age first, with passages told on named days, and then by how well they match."""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import date
from itertools import groupby

from memory.ranking.fusion import PassageKey, ScoredPassage
from memory.ranking.query import NamedTime
from memory.ranking.ties import EXACT_TIE, LINKED_TIE, newest_first, score_band


def sort_passages(
    found: Sequence[ScoredPassage], times: Sequence[NamedTime], *, today: date
) -> list[ScoredPassage]:
    """Return the passages best first, and the newest as of the named times first among nearly equal scores."""
    as_of = _last_day(times, today)

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
    return ordered


def prefer_linked(
    found: Sequence[ScoredPassage], links: Container[tuple[str, str]], *, limit: int
) -> list[ScoredPassage]:
    """Return the passages with those first among near ties whose notes are tied by a link to notes of better passages.

    Exact ones stay before others. `links`: pairs of notes, linking and linked. Only the `limit` best passages count
    as better.
    """
    ordered: list[ScoredPassage] = []
    better: dict[str, None] = {}
    for _, group in groupby(found, key=lambda one: (score_band(one.score, LINKED_TIE), one.is_exact)):
        tied = list(group)
        if better and len(tied) > 1:
            tied.sort(key=lambda one: not _is_linked(one.path, better, links))
        ordered += tied
        better |= dict.fromkeys(one.path for one in tied[: max(0, limit - len(better))])
    return ordered


def _is_linked(path: str, better: Iterable[str], links: Container[tuple[str, str]]) -> bool:
    return any((path, other) in links or (other, path) in links for other in better)


def order_versions(
    found: Sequence[ScoredPassage],
    latest: Mapping[PassageKey, PassageKey],
    times: Sequence[NamedTime],
    *,
    today: date,
) -> list[ScoredPassage]:
    """Return the passages with the versions of each fact exchanged, so that the newest as of the named times is first.

    `latest`: the current version of each passage that probably has a later one.
    """
    current = set(latest.values())
    places: dict[PassageKey, list[int]] = {}
    for place, one in enumerate(found):
        if fact := latest.get(one.key, one.key if one.key in current else None):
            places.setdefault(fact, []).append(place)
    ordered = list(found)
    as_of = _last_day(times, today)
    for of_fact in places.values():
        versions = [found[place] for place in of_fact]
        versions.sort(key=lambda one: newest_first(one.passage.day, one.mtime_ns, today=today, as_of=as_of))
        for place, one in zip(of_fact, versions, strict=True):
            ordered[place] = one
    return ordered


def promote_best(found: Sequence[ScoredPassage], superseded: Container[PassageKey]) -> list[ScoredPassage]:
    """Return the passages with the best match first or second, so that newer ones cannot hide it.

    Unless it is superseded: then its newer version has its place.
    """
    best = max(range(len(found)), key=lambda place: found[place].match, default=0)
    ordered = list(found)
    is_better = best > 1 and score_band(found[best].match) > score_band(found[0].match)
    if is_better and found[best].key not in superseded:
        ordered.insert(1, ordered.pop(best))
    return ordered


def include_named_days(
    found: Sequence[ScoredPassage], times: Sequence[NamedTime], *, asked_words: int, places: int
) -> list[ScoredPassage]:
    """Return the passages with at least every second of the first `places` told at the named times, if so many are.

    What happened on a day was often told that day; what was true on it was often told before. `asked_words` is
    the number of words besides the time; if it is at most 1, a passage of the day also comes first.
    """
    of_day = [any(not time.is_open and _was_told_at(one, time) for time in times) for one in found]
    if not any(of_day):
        return list(found)
    left = list(range(len(found)))
    chosen: list[int] = []
    days = 0
    head_start = 1 if asked_words <= 1 else 0
    while left and len(chosen) < places:
        is_due = days < (len(chosen) + 1 + head_start) // 2
        taken = next((place for place in left if of_day[place]), left[0]) if is_due else left[0]
        left.remove(taken)
        chosen.append(taken)
        days += of_day[taken]
    return [found[place] for place in (*chosen, *left)]


def _was_told_at(one: ScoredPassage, time: NamedTime) -> bool:
    return one.passage.day is not None and time.contains(one.passage.day)


def fill_by_match(
    found: Sequence[ScoredPassage], times: Sequence[NamedTime], *, today: date, places: int
) -> list[ScoredPassage]:
    """Return the passages with all but the first `places` ordered by how well they match.

    Age decides what comes first; further down it would drop old passages that match well.
    """
    as_of = _last_day(times, today)

    def by_match(one: ScoredPassage) -> tuple[object, ...]:
        age = newest_first(one.passage.day, one.mtime_ns, today=today, as_of=as_of)
        return -score_band(one.match), age, one.path, one.passage.line_start

    return [*found[:places], *sorted(found[places:], key=by_match)]


def _last_day(times: Sequence[NamedTime], today: date) -> date:
    return min([today, max((time.last for time in times), default=today)])
