"""Lookup tables for date words, all languages together, since the query's language is unknown."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import memory.dates.vocabulary as words
from memory.dates.folding import fold_letters

_Meaning = TypeVar("_Meaning")


class Lexicon:
    """Folded phrases and their meanings: the tables of `vocabulary.py`, inverted."""

    def __init__(self) -> None:
        self.months = _invert(words.MONTHS)
        self.weekdays = _invert(words.WEEKDAYS)
        self.days = _invert(words.DAYS)
        self.units = _invert(words.UNITS)
        self.numbers = _invert(words.NUMBERS)
        self.near = _invert(words.NEAR)
        self.near_behind = _invert(words.NEAR_AFTER)
        self.openings = _invert(words.OPENINGS)
        self.ambiguous: dict[str, frozenset[str]] = {}
        for alike, before in words.AMBIGUOUS.items():
            for word in phrases(alike):
                others = self.ambiguous.get(word, frozenset())
                self.ambiguous[word] = phrases(before).union(self.openings, others)
        self.before_year = phrases(words.BEFORE_YEAR).union(self.openings, *self.ambiguous.values())


@cache
def load_lexicon() -> Lexicon:
    return Lexicon()


@cache
def phrases(alike: str) -> frozenset[str]:
    return frozenset(fold_letters(alike).split("/"))


def _invert(rows: Mapping[_Meaning, str]) -> dict[str, _Meaning]:
    return {phrase: meaning for meaning, alike in rows.items() for phrase in phrases(alike)}


def may_contain_dates(text: str) -> bool:
    """Return whether folded text has a digit or a word that every date contains; most queries have none."""
    return not _trigger_words().isdisjoint(_digit_or_word_pattern().findall(text))


@cache
def _trigger_words() -> frozenset[str]:
    """Return the last words of phrases, which are rarer than the first: this morning, last week."""
    tables = (words.MONTHS, words.WEEKDAYS, words.DAYS, words.UNITS)
    last_words = (
        phrase.rpartition(" ")[2] for rows in tables for alike in rows.values() for phrase in phrases(alike)
    )
    return frozenset(last_words).union("0123456789")


@cache
def _digit_or_word_pattern() -> re.Pattern[str]:
    return re.compile(r"[0-9]|[^\W\d_]+")
