"""Detect days excluded from a repetition."""

from bot.timeparse.ambiguity.check import COLONS, LOOKED_THROUGH, Finding, ReadMoment
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon
from bot.timeparse.moment import TimeParseError


def check_days_left_out(grammar: Grammar, at: int) -> None:
    """Raise `TimeParseError` if days are excluded before a repetition: 除了星期天每天8点."""
    line = grammar.line
    end = end_of_left_out(line, grammar.words, at)
    places = range(end, min(end + LOOKED_THROUGH, len(line.tokens)))
    if end > at and any(grammar.read(place)[0].every for place in places):
        raise TimeParseError("except")


def leaves_days_out(moment: ReadMoment) -> Finding:
    """Detect excluded days: "every day except sunday", "every day: run, not on Sundays", 每天8点吃药，星期天除外."""
    line, known = moment.line, moment.words
    if not moment.said.every or moment.behind in COLONS:
        return False
    places = range(moment.end, len(line.tokens))
    return moment.goes_on_with(known.except_) or any(end_of_left_out(line, known, at) > at for at in places)


def end_of_left_out(line: TokenLine, known: TimeLexicon, at: int) -> int:
    """Return the index after an excluded day and the words that exclude it, before or after it; else `at`."""
    excepting = line.skip(known.except_, at)
    day = line.skip(known.fillers, excepting)
    tables = (known.weekdays, known.all_such_days, known.weekend, known.workdays)
    end = max(line.skip(each, day) for each in tables)
    behind = line.skip(known.left_out, end)
    return behind if end > day and (excepting > at or behind > end) else at
