"""Facts that changed, among search results: which passage is current since when, and what was told before."""

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from bot import phrases
from bot.note_refs import format_note_ref
from bot.sanitize import one_line
from bot.timeparse import day_in_words

if TYPE_CHECKING:
    from memory.search import SearchHit

MAX_TOLD_BEFORE = 4
"""Maximum earlier statements in one line."""

MAX_STATEMENT_CHARS = 80
"""Maximum characters of each."""

EQUAL_SHARE = 0.9
"""Minimum share of the score of an earlier version for a result to match the question about as well."""

_MARKERS = " -*+•>"


class ToldPassage(NamedTuple):
    """What a search result says about its place, its day and whether the fact changed later."""

    path: str
    line_start: int
    line_end: int
    text: str
    told: date
    superseded_by: str
    """`path:line`; "" if no later passage is known."""
    score: float = 0.0


class FactVersion(NamedTuple):
    """What was told about a fact, once or several times in a row."""

    numbers: tuple[int, ...]
    """Indexes of the results that say so, the first told first."""
    since: date


class FactHistory(NamedTuple):
    """A fact that changed."""

    versions: tuple[FactVersion, ...]
    """The latest first."""
    is_current: bool
    """False if another result that matches as well was told since the first version: it may state the fact too."""


def find_histories(results: Sequence[ToldPassage | None]) -> list[FactHistory]:
    """Return the facts that changed, if their latest version is among the results.

    `results`: the best first; None stands for one without a day.
    """
    passages = {number: each for number, each in enumerate(results) if each}
    targets = dict.fromkeys(each.superseded_by for each in passages.values() if each.superseded_by)
    return [history for target in targets if (history := _find_history(passages, target))]


def describe_histories(hits: Sequence["SearchHit"]) -> list[str]:
    """Return for each hit what is known about its fact: "since …; before: …", or where it was changed; "" for most."""
    lines = [_describe_earlier(hit) for hit in hits]
    for history in find_histories([_read_hit(hit) for hit in hits]):
        current, *earlier = history.versions
        before = [
            phrases.FACT_TOLD.format(
                text=_shorten(hits[each.numbers[-1]].snippet), date=day_in_words(each.since)
            )
            for each in earlier
        ]
        more = ["…"] if len(before) > MAX_TOLD_BEFORE else []
        say = phrases.FACT_SINCE if history.is_current else phrases.FACT_FROM
        told = say.format(
            date=day_in_words(current.since),
            before=phrases.LIST_MARK.join([*before[:MAX_TOLD_BEFORE], *more]),
        )
        for number in current.numbers:
            lines[number] = told
    return lines


def _describe_earlier(hit: "SearchHit") -> str:
    if not hit.superseded_by or not hit.told:
        return ""
    path, _, line = hit.superseded_by.rpartition(":")
    place = format_note_ref(path, int(line), int(line))
    return phrases.FACT_CHANGED.format(date=day_in_words(hit.told), place=place)


def _read_hit(hit: "SearchHit") -> ToldPassage | None:
    if hit.told is None:
        return None
    return ToldPassage(
        hit.path, hit.line_start, hit.line_end, hit.snippet, hit.told, hit.superseded_by or "", hit.score
    )


def _find_history(passages: dict[int, ToldPassage], target: str) -> FactHistory | None:
    path, _, line = target.rpartition(":")
    now = next(
        (
            each
            for each in passages.values()
            if each.path == path and each.line_start == int(line) == each.line_end and not each.superseded_by
        ),
        None,
    )
    if now is None:
        return None
    of_fact = [
        number
        for number, each in passages.items()
        if each.superseded_by == target or (not each.superseded_by and _words(each.text) == _words(now.text))
    ]
    of_fact.sort(key=lambda number: passages[number].told)

    def statement(number: int) -> tuple[str, str]:
        return _words(passages[number].text), passages[number].superseded_by

    runs = [tuple(run) for _, run in groupby(of_fact, key=statement)]
    first = passages[runs[0][0]].told
    enough = EQUAL_SHARE * min(passages[number].score for number in of_fact)
    is_current = not any(
        each.told > first and (each.score >= enough or number < min(runs[-1]))
        for number, each in passages.items()
        if number not in of_fact
    )
    return FactHistory(
        tuple(FactVersion(run, passages[run[0]].told) for run in reversed(runs)), is_current=is_current
    )


def _words(text: str) -> str:
    return one_line(text).strip(_MARKERS).rstrip(". 。।").lower()


def _shorten(text: str) -> str:
    text = one_line(text).strip(_MARKERS).rstrip(". 。।")
    return one_line(text, limit=MAX_STATEMENT_CHARS)
