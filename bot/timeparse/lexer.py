"""Split a line into words, numbers and signs, and look up phrases in it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bot.timeparse.lexicon import words
from memory.dates.folding import fold_letters

_Meaning = TypeVar("_Meaning")

_MAX_PHRASE_TOKENS = 5
_MAX_DIGITS = 9
MAX_TOKENS = 400
"""Maximum tokens of a line: a time stands early, or at the end of a short line, so longer text is ignored."""

_HAN = "\u3400-\u9fff"
_TOKEN = re.compile(
    r"(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:(?:[Tt]| (?=[0-9]{2}:))[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
    r"(?![0-9]|:[0-9]))"
    r"|(?P<clock>[0-9]{1,2}[:：][0-9]{2}(?::[0-9]{2})?(?![0-9]|:[0-9]))"
    r"|(?P<dotted>[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2}(?![0-9]))?)"
    r"|(?P<slashed>[0-9]{1,4}/[0-9]{1,2}(?:/[0-9]{2,4})?(?![0-9/]))"
    r"|(?P<number>[0-9]+(?:[.,][0-9]+)?)"
    r"|(?P<halfday>[AaPp]\.[Mm]\.?(?!\w))"
    rf"|(?P<word>(?:(?![{_HAN}])[^\W\d_][\u0300-\u036f]*+)++(?:['’](?:(?![{_HAN}])[^\W\d_][\u0300-\u036f]*+)++)*+)"
    r"|(?P<sign>[^\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff])"
)


@dataclass(frozen=True, slots=True)
class LineToken:
    """A token of a line; `text` is folded."""

    kind: str
    text: str
    start: int
    end: int
    glued: bool
    """Whether no space precedes it."""


def tokenize(line: str) -> list[LineToken]:
    """Split the beginning of a line into tokens; Chinese into the longest known words."""
    found: list[LineToken] = []
    place = 0
    while len(found) < MAX_TOKENS and (match := _TOKEN.search(line, place)):
        kind, start, end = match.lastgroup or "", *match.span()
        if kind == "sign" and "\u3400" <= match[0] <= "\u9fff":
            kind, end = "word", start + _han_length(line, start)
        text = fold_letters(line[start:end]).replace("'", " ").replace("’", " ")
        if kind in ("clock", "slashed"):
            text = text.replace("：", ":")
        found.append(LineToken("word" if kind == "halfday" else kind, text, start, end, start == place > 0))
        place = end
    return found


def _han_length(line: str, start: int) -> int:
    known = words().han
    for length in range(min(words().longest_han, len(line) - start), 1, -1):
        if line[start : start + length] in known:
            return length
    return 1


class TokenLine:
    """The tokens of a line; lookups return what was found and the index after it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)

    @property
    def is_whole(self) -> bool:
        """Return whether the whole text was split, and has tokens."""
        return bool(self.tokens) and self.tokens[-1].end == len(self.text.rstrip())

    def kind(self, at: int) -> str:
        """Return `iso`, `clock`, `dotted`, `slashed`, `number`, `word` or `sign`; "" after the last token."""
        return self.tokens[at].kind if at < len(self.tokens) else ""

    def folded(self, at: int) -> str:
        """Return the token's folded text; "" after the last token."""
        return self.tokens[at].text if at < len(self.tokens) else ""

    def glued(self, at: int) -> bool:
        """Return whether no space precedes the token."""
        return at < len(self.tokens) and self.tokens[at].glued

    def integer(self, at: int) -> int | None:
        """Return the token as an integer of at most nine digits; None for anything else."""
        text = self.folded(at)
        return (
            int(text) if self.kind(at) == "number" and text.isdigit() and len(text) <= _MAX_DIGITS else None
        )

    def find(self, table: Mapping[str, _Meaning], at: int) -> tuple[_Meaning, int] | None:
        """Return the meaning of the longest phrase of a table that begins at `at`, and the index after it."""
        after = self.skip(table, at)
        return (table[self._phrase(at, after)], after) if after > at else None

    def skip(self, phrases: Collection[str], at: int) -> int:
        """Return the index after the longest of the phrases that begins at `at`; else `at`."""
        for after in range(min(at + _MAX_PHRASE_TOKENS, len(self.tokens)), at, -1):
            if self._phrase(at, after) in phrases:
                return after
        return at

    def _phrase(self, begin: int, end: int) -> str:
        return " ".join(token.text for token in self.tokens[begin:end])
