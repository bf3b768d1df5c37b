"""The words as they are looked up: all languages together, since nobody says in which one a question is."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import memory.dates.words as words
from memory.dates.text import fold_letters

_Meaning = TypeVar("_Meaning")


class Lexicon:
    """Folded phrases and their meanings: the tables of `words.py` turned round."""

    def __init__(self) -> None:
        self.months = _table(words.MONTHS)
        self.weekdays = _table(words.WEEKDAYS)
        self.days = _table(words.DAYS)
        self.units = _table(words.UNITS)
        self.numbers = _table(words.NUMBERS)
        self.near = _table(words.NEAR)
        self.near_behind = _table(words.NEAR_BEHIND)
        self.openings = _table(words.OPENINGS)
        self.ambiguous: dict[str, frozenset[str]] = {}
        for alike, before in words.AMBIGUOUS.items():
            for word in phrases(alike):
                others = self.ambiguous.get(word, frozenset())
                self.ambiguous[word] = phrases(before).union(self.openings, others)
        self.before_year = phrases(words.BEFORE_YEAR).union(self.openings, *self.ambiguous.values())


@cache
def lexicon() -> Lexicon:
    return Lexicon()


@cache
def phrases(alike: str) -> frozenset[str]:
    return frozenset(fold_letters(alike).split("/"))


def _table(rows: Mapping[_Meaning, str]) -> dict[str, _Meaning]:
    return {phrase: meaning for meaning, alike in rows.items() for phrase in phrases(alike)}


def may_name_dates(text: str) -> bool:
    """Whether folded text has a digit or a word without which there is no date; most questions have none."""
    return not _triggers().isdisjoint(_digit_or_word().findall(text))


@cache
def _triggers() -> frozenset[str]:
    """The last words of phrases, which say more than their first: this morning, last week."""
    tables = (words.MONTHS, words.WEEKDAYS, words.DAYS, words.UNITS)
    last_words = (
        phrase.rpartition(" ")[2] for rows in tables for alike in rows.values() for phrase in phrases(alike)
    )
    return frozenset(last_words).union("0123456789")


@cache
def _digit_or_word() -> re.Pattern[str]:
    return re.compile(r"[0-9]|[^\W\d_]+")
