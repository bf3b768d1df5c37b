"""Split a query into words, numbers and signs, and match phrases in it."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import cache
from typing import NamedTuple, TypeVar

import memory.dates.vocabulary as words
from memory.dates.lexicon import load_lexicon, phrases
from memory.dates.periods import expand_year

_MAX_PHRASE_TOKENS = 4
_Meaning = TypeVar("_Meaning")


class DateToken(NamedTuple):
    kind: str
    """The group of `_token_pattern` that matched."""
    text: str
    start: int
    """Its position in the folded text."""
    end: int
    capital: bool


@cache
def _token_pattern() -> re.Pattern[str]:
    begin = r"(?<![0-9a-z])(?<![0-9][-/.:])"
    end = r"(?![0-9]|[-/.:][0-9])(?!(?!t[0-9])[a-z])"  # accept 2023-06-03T10:00
    apart = r"(?<![0-9a-z$€£#])(?<![0-9a-z][.,:/])(?<![a-z]-)"  # reject 2.50, 10:30, B-52
    ordinal = r"(?:-?(?:st|nd|rd|th|er|o|a|го|е)(?![^\W\d_])|[.°])?"
    return re.compile(
        rf"(?P<iso>{begin}[0-9]{{4}}([-/.])[0-9]{{1,2}}\2[0-9]{{1,2}}{end})"
        rf"|(?P<year_month>{begin}[0-9]{{4}}-[0-9]{{2}}{end})"
        rf"|(?P<numeric>{begin}[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\5(?:[0-9]{{4}}|[0-9]{{2}}){end})"
        rf"|(?P<day_month>{begin}[0-9]{{1,2}}\.[0-9]{{1,2}}\.(?![0-9]))"
        rf"|(?P<year>{apart}(?:19|20)[0-9]{{2}}(?![0-9a-z%€]|[:.,][0-9])|['’][0-9]{{2}}(?![0-9a-z]))"
        rf"|(?P<day>{apart}(?:[12][0-9]|3[01]|0?[1-9]){ordinal}(?![0-9a-z%€:/]|[.,][0-9]))"
        r"|(?P<number>[0-9]+)|(?P<word>[^\W\d_]+)|(?P<sign>\S)"
    )


def tokenize(query: str, text: str, places: Sequence[int]) -> list[DateToken]:
    tokens: list[DateToken] = []
    for match in _token_pattern().finditer(text):
        kind = match.lastgroup or ""
        start, end = match.span()
        if match[0] in "-'’‑" and text[max(0, start - 1)].isalpha() and text[end : end + 1].isalpha():
            continue  # split avant-hier, aujourd'hui into two words
        tokens.append(
            DateToken(kind, match[0], start, end, kind == "word" and query[places[start]].isupper())
        )
    return tokens


class TokenMatcher:
    """Tokens, and the lexicon's phrases that begin at a position or end before it.

    Matches are returned with the position after them.
    """

    def __init__(self, tokens: Sequence[DateToken], today: date) -> None:
        self.tokens = tokens
        self._words = [token.text if token.kind == "word" else "" for token in tokens]
        self._beginning: dict[int, list[tuple[str, int]]] = {}
        self.today = today
        self.lexicon = load_lexicon()

    def text(self, at: int, *kinds: str) -> str:
        """Return the token's text if it is of one of `kinds`, else ""."""
        if 0 <= at < len(self.tokens) and self.tokens[at].kind in kinds:
            return self.tokens[at].text
        return ""

    def word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def sign(self, at: int) -> str:
        return self.text(at, "sign")

    def match(self, table: Mapping[str, _Meaning], at: int) -> tuple[_Meaning, int] | None:
        """Return the longest phrase of `table` that begins there."""
        for phrase, after in self._list_beginning(at):
            if phrase in table:
                return table[phrase], after
        return None

    def skip(self, phrases: Collection[str], at: int) -> int:
        """Return the position after the longest of `phrases` that begins there, else `at`."""
        for phrase, after in self._list_beginning(at):
            if phrase in phrases:
                return after
        return at

    def before(self, phrases: Collection[str], at: int) -> int | None:
        """Return where the longest of `phrases` that ends just before `at` begins."""
        for begin in range(at - _MAX_PHRASE_TOKENS, at):
            if self.phrase(begin, at) in phrases:
                return begin
        return None

    def phrase(self, begin: int, end: int) -> str:
        return " ".join([self.word(at) for at in range(begin, end)])

    def _list_beginning(self, at: int) -> list[tuple[str, int]]:
        """Return the phrases that may begin there, with the positions after them, the longest first."""
        # Listed once for each position: every form of a date is looked for there.
        if (known := self._beginning.get(at)) is None:
            ends = range(at + _MAX_PHRASE_TOKENS, at, -1) if self.word(at) else ()
            known = self._beginning[at] = [(self.phrase(at, after), after) for after in ends]
        return known

    def near(self, table: Mapping[str, _Meaning], at: int) -> tuple[_Meaning, int, int] | None:
        """Match last, this or next before or after a phrase of `table`: its meaning, -1 to 1, the position after."""
        if near := self.match(self.lexicon.near, at):
            if found := self.match(table, near[1]):
                return found[0], near[0], found[1]
        elif (found := self.match(table, at)) and (near := self.match(self.lexicon.near_behind, found[1])):
            return found[0], near[0], near[1]
        return None

    def count(self, at: int) -> tuple[int, int] | None:
        if (digits := self.text(at, "day", "year", "number")) and digits.isdigit() and len(digits) <= 4:
            return int(digits), at + 1
        return self.match(self.lexicon.numbers, at)

    def days(self, at: int) -> tuple[tuple[int, int], int] | None:
        """Match a day of the month, or the first and last of several: 3rd, 3-5."""
        if not (day := self.text(at, "day")):
            return None
        first = last = _parse_leading_number(day)
        if self.sign(at + 1) in tuple("-–—") and (day := self.text(at + 2, "day")):
            last, at = _parse_leading_number(day), at + 2
        return (first, last), at + 1

    def year(self, at: int) -> tuple[int, int] | None:
        """Match 2023, or '23."""
        if not (year := self.text(at, "year")):
            return None
        return (int(year) if year.isdigit() else expand_year(int(year[1:]))), at + 1

    def year_after(self, at: int) -> tuple[int, int] | None:
        """Match the year that follows a month: 2023, of 2023, `, 2023`, last year."""
        for begin in (at, at + 1 if self.sign(at) in tuple(",.") else at, self.skip(phrases(words.OF), at)):
            if found := self.year(begin):
                return found
            if (near := self.near(self.lexicon.units, begin)) and near[0] == "year":
                return self.today.year + near[1], near[2]
        return None


def _parse_leading_number(text: str) -> int:
    return int(text[:2]) if text[:2].isdigit() else int(text[:1])
