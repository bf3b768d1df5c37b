"""Detect days excluded from a repetition."""

from bot.timeparse.ambiguity.check import COLONS, MAX_SEARCHED_TOKENS, Finding, MomentInLine
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon
from bot.timeparse.moment import TimeParseError


def check_exclusions(grammar: Grammar, at: int) -> None:
    """Raise `TimeParseError` if days are excluded before a repetition: 除了星期天每天8点."""
    line = grammar.line
    end = skip_exclusion(line, grammar.words, at)
    places = range(end, min(end + MAX_SEARCHED_TOKENS, len(line.tokens)))
    if end > at and any(grammar.read(place)[0].every for place in places):
        raise TimeParseError("except")


def has_exclusions(moment: MomentInLine) -> Finding:
    """Detect excluded days: "every day except sunday", "every day: run, not on Sundays", 每天8点吃药，星期天除外."""
    line, known = moment.line, moment.words
    if not moment.parsed.every or moment.next_word in COLONS:
        return False
    places = range(moment.end, len(line.tokens))
    return moment.continues_with(known.except_) or any(skip_exclusion(line, known, at) > at for at in places)


def skip_exclusion(line: TokenLine, known: TimeLexicon, at: int) -> int:
    """Return the index after an excluded day and the words that exclude it, before or after it; else `at`."""
    excepting = line.skip(known.except_, at)
    day = line.skip(known.fillers, excepting)
    tables = (known.weekdays, known.plural_weekdays, known.weekend, known.workdays)
    end = max(line.skip(each, day) for each in tables)
    following = line.skip(known.excluded_after, end)
    return following if end > day and (excepting > at or following > end) else at
