"""The type of an ambiguity check, and the parsed time that it checks."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon
from bot.timeparse.moment import TimeParseReason
from bot.timeparse.parsed import ParsedTime

_NOON = 12
MAX_SEARCHED_TOKENS = 16
"""Tokens around a time that are searched for another one."""
CLOCK_KINDS = ("clock", "number")
COLONS = (":", "：")
"""The text begins after one of these, whatever it says."""
DAY_JOINS = frozenset((",", "、", "/", "&", "-", "–", "—"))
"""Signs between two days."""


@dataclass(frozen=True, slots=True)
class MomentInLine:
    """A time parsed from tokens `begin` to `end`, in a line that may change its meaning."""

    grammar: Grammar
    parsed: ParsedTime
    begin: int
    end: int

    @property
    def line(self) -> TokenLine:
        return self.grammar.line

    @property
    def words(self) -> TimeLexicon:
        return self.grammar.words

    @property
    def repeats(self) -> bool:
        return self.parsed.every is not None

    @property
    def next_word(self) -> str:
        """The token after it."""
        return self.line.folded(self.end)

    @property
    def lacks_time(self) -> bool:
        """Return whether it names a day, or repeats on days, without a time of day."""
        every = self.parsed.every
        return bool(self.parsed.day or (every and every.unit != "minute")) and not self.parsed.clocks

    def continues_with(self, phrases: Collection[str]) -> bool:
        return self.line.skip(phrases, self.end) > self.end

    def text(self, begin: int, end: int) -> str:
        return self.line.text[self.line.tokens[begin].start : self.line.tokens[end - 1].end]


Finding = Mapping[str, str] | bool
"""Whether the time is ambiguous; if the reason contains words, the fields to fill it in."""


class AmbiguityCheck(NamedTuple):
    """One way in which a time may be misunderstood."""

    name: str
    find: Callable[[MomentInLine], Finding]
    refusal: TimeParseReason


def is_hour(moment: MomentInLine, at: int) -> bool:
    """Return whether an hour stands there, as a number or as a word that is not an article."""
    number = moment.line.find(moment.words.numbers, at)
    return moment.line.kind(at) in CLOCK_KINDS or (number is not None and 1 < number[0] <= _NOON)
