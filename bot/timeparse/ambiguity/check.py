"""A way in which a moment may be misunderstood, and the moment that is checked for it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon
from bot.timeparse.moment import TimeParseReason
from bot.timeparse.parsed import ParsedTime

_NOON = 12
LOOKED_THROUGH = 16
"""How many tokens around a moment are searched for another one."""
CLOCK_KINDS = ("clock", "number")
COLONS = (":", "：")
"""Behind one of them stands the text, whatever it says."""
DAY_JOINS = frozenset((",", "、", "/", "&", "-", "–", "—"))
"""Signs between two days."""


@dataclass(frozen=True, slots=True)
class ReadMoment:
    """A moment that was read from `begin` up to `end`, in a line that may change what it means."""

    grammar: Grammar
    said: ParsedTime
    begin: int
    end: int

    @property
    def line(self) -> TokenLine:
        return self.grammar.line

    @property
    def words(self) -> TimeLexicon:
        return self.grammar.words

    @property
    def comes_again(self) -> bool:
        return self.said.every is not None

    @property
    def behind(self) -> str:
        """The token right behind it."""
        return self.line.folded(self.end)

    @property
    def lacks_time(self) -> bool:
        """Whether it names a day, or comes again on days, without a time of day."""
        every = self.said.every
        return bool(self.said.day or (every and every.unit != "minute")) and not self.said.clocks

    def goes_on_with(self, phrases: Collection[str]) -> bool:
        return self.line.skip(phrases, self.end) > self.end

    def text(self, begin: int, end: int) -> str:
        return self.line.text[self.line.tokens[begin].start : self.line.tokens[end - 1].end]


Finding = Mapping[str, str] | bool
"""Whether the moment is ambiguous; where the reason names words, the fields that fill it in."""


class AmbiguityCheck(NamedTuple):
    """One way in which a moment may be misunderstood."""

    name: str
    find: Callable[[ReadMoment], Finding]
    refusal: TimeParseReason


def is_hour(moment: ReadMoment, at: int) -> bool:
    """Return whether an hour stands there, as a number or as a word that is no article."""
    number = moment.line.find(moment.words.numbers, at)
    return moment.line.kind(at) in CLOCK_KINDS or (number is not None and 1 < number[0] <= _NOON)
