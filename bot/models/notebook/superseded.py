"""Pure: find which of several statements about one thing is current, since when, and which were current before."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from bot.models.notebook.language import Language

MAX_DIFFERING_WORDS = 8
"""Maximum words that may differ (characters in scripts without spaces): else it is another statement."""


class Statement(NamedTuple):
    """A one-line passage, and when it was written."""

    line: str
    told: str
    """ISO date."""
    score: float


class DatedStatement(NamedTuple):
    """A statement, and the first day of the period in which it was current."""

    number: int
    """Index of the last statement that says so."""
    since: str


def find_superseded(statements: Sequence[Statement], query: str, language: Language) -> list[DatedStatement]:
    """Return current and former statements, the latest first; empty if nothing changed, or if that is uncertain.

    Only statements of different days that match the question about as well as the best are compared. They
    must be equal except in one place, which holds none of the words asked for, and describe a state: "lives
    in", "phone:".
    """
    from memory.ranking.ties import EXACT_TIE

    if len(statements) < 2:
        return []
    best = max(each.score for each in statements)
    near = [
        number for number, each in enumerate(statements) if each.told and each.score * (1 + EXACT_TIE) >= best
    ]
    near.sort(key=lambda number: statements[number].told)
    if not near:
        return []
    latest = statements[near[-1]]
    same = [
        number
        for number in near
        if statements[number].line == latest.line
        or _differ_in_value(latest.line, statements[number].line, query, language)
    ]
    days = [statements[number].told for number in same]
    runs = [list(run) for _, run in groupby(same, key=lambda number: statements[number].line)]
    if len(runs) < 2 or len(set(days)) < len(days):
        return []
    return [DatedStatement(run[-1], statements[run[0]].told) for run in reversed(runs)]


def _differ_in_value(one: str, other: str, query: str, language: Language) -> bool:
    from memory.tokenizer import parse_query, tokenize

    first, second = tokenize(one), tokenize(other)
    start = _common_prefix_length(first, second)
    end = _common_prefix_length(first[start:][::-1], second[start:][::-1])
    values = [words[start : len(words) - end] for words in (first, second)]
    if not all(0 < len(value) <= MAX_DIFFERING_WORDS for value in values):
        return False
    common = [*first[:start], "", *first[len(first) - end :]]
    asked = [term.tokens for term in parse_query(query)]
    if any(_contains(value, tokens) for value in values for tokens in asked):
        return False
    is_state = one[: _label_end(one)] == other[: _label_end(other)] != "" or any(
        _contains(common, tuple(tokenize(state))) for state in language.states
    )
    return is_state and any(_contains(common, tokens) for tokens in asked)


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many of the first words are equal."""
    return next(
        (at for at, (word, same) in enumerate(zip(one, other, strict=False)) if word != same),
        min(len(one), len(other)),
    )


def _label_end(line: str) -> int:
    """Return the end of a label such as "Phone:"; 0 if there is none."""
    return max((line.find(mark, 0, 40) + 1 for mark in (": ", "：", " = ")), default=0)


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return bool(wanted) and any(tuple(piece) == tuple(wanted) for piece in _windows(words, len(wanted)))


def _windows(words: Sequence[str], length: int) -> Iterator[Sequence[str]]:
    return (words[at : at + length] for at in range(len(words) - length + 1))
