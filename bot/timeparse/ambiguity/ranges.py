"""Detect a range, which cannot be the time of a reminder."""

from bot.timeparse.ambiguity.check import CLOCK_KINDS, Finding, MomentInLine, is_hour
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.moment import TimeParseError

_AGAIN = ("again", "then", "then again", "nochmal", "noch einmal", "wieder")


def check_range(grammar: Grammar, at: int) -> None:
    """Raise `TimeParseError` if two numbers stand for one: "in 3 to 4 hours", "between 3 and 4"."""
    line, words = grammar.line, grammar.words
    for place in range(at, min(at + 4, len(line.tokens))):
        after = line.skip(words.range_, place + 1)
        numbers = line.kind(place) == line.kind(after) == "number" and after > place + 1
        if numbers and line.find(words.units, after + 1):
            raise TimeParseError("range", number=line.folded(place))


def has_hour_range(moment: MomentInLine) -> Finding:
    """Detect "at 3 to 4" and "в 9-30". After 9:00-10:00 the text begins with the end of an event."""
    line, end = moment.line, moment.end
    if not moment.parsed.clocks:
        return False
    if moment.next_word in ("-", "–"):
        return (
            line.kind(end - 1) == line.kind(end + 1) == "number" and line.glued(end) and line.glued(end + 1)
        )
    if moment.next_word in ("到", "至", "から"):
        return bool(moment.grammar.read(end + 1)[0].clocks)
    # In words they may be minutes: "at ten to two" is not 10:00.
    is_another = is_hour(moment, end + 1) or line.folded(end + 1) == "one"
    return moment.next_word in ("to", "till") and is_another


def has_second_hour(moment: MomentInLine) -> Finding:
    """Detect two hours: "at 10 and at 15", "at 9 and again at 10", "a las 9 o 10"."""
    line, known = moment.line, moment.words
    joined = max(line.skip(known.and_, moment.end), line.skip(known.or_hour, moment.end))
    after = line.skip(known.at, line.skip(_AGAIN, joined))
    return bool(moment.parsed.clocks) and joined > moment.end and is_hour(moment, after)


def has_second_part_of_day(moment: MomentInLine) -> Finding:
    """Detect two parts of the day: "every morning and evening", 매일 아침 저녁."""
    line, known = moment.line, moment.words
    joined = line.skip(known.and_, moment.end)
    bare = moment.parsed.part is not None and not moment.parsed.clocks
    first = joined > moment.end and (bare or bool(moment.parsed.clocks))
    first = first or (bare and not moment.next_word.isascii())
    second = line.skip(known.every, joined)
    return first and any(line.find(table, second) for table in (known.parts, known.every_part))


def has_hours_of_range(moment: MomentInLine) -> Finding:
    """Detect hours of a range: "tomorrow 7-8 dinner"."""
    line, end = moment.line, moment.end
    if not moment.lacks_time or line.folded(end + 1) not in ("-", "–", "~"):
        return False
    hours = [line.folded(at) for at in (end, end + 2) if line.kind(at) == "number"]
    return len(hours) == 2 and all(hour.isdigit() and len(hour) <= 2 and int(hour) <= 24 for hour in hours)


def has_longer_span(moment: MomentInLine) -> Finding:
    """Detect a longer duration: "через час-полтора"."""
    line, end = moment.line, moment.end
    glued = moment.next_word in ("-", "–") and line.glued(end) and line.glued(end + 1)
    longer = line.folded(end + 1) == "полтора" or line.skip(moment.words.numbers, end + 1) > end + 1
    return moment.parsed.span is not None and glued and longer


def begins_range(moment: MomentInLine) -> Finding:
    """Detect the beginning of a range: "from 9 to 17", "between 9 and 10"."""
    line, end = moment.line, moment.end
    after = max(line.skip(moment.words.range_, end + 2), line.skip(moment.words.and_, end + 2))
    numbers = line.kind(end + 1) in CLOCK_KINDS and line.kind(after) in CLOCK_KINDS
    return moment.next_word in moment.words.from_ and numbers and after > end + 2


def ends_range(moment: MomentInLine) -> Finding:
    """Detect the end of a range: "9 or 10", "3 to 4", and "9 and 10" after `between`."""
    line, at = moment.line, moment.begin - 3
    if at < 0:
        return False
    joined = line.skip(moment.words.range_, at + 1) > at + 1 or line.folded(at - 1) in moment.words.from_
    return joined and line.kind(at) in CLOCK_KINDS and line.kind(at + 2) in CLOCK_KINDS


def continues_as_range(line: TokenLine, end: int) -> bool:
    """Return whether a range continues at a token: 9:00 to 17:00, 9:00-17:00."""
    return line.folded(end) in ("to", "-", "–", "bis") and line.kind(end + 1) in ("clock", "number", "iso")


def has_last_hour(moment: MomentInLine) -> Finding:
    """Detect a last hour: "every 2 hours 9:00-17:00"."""
    return moment.repeats and continues_as_range(moment.line, moment.end)


def repeats_in_range(moment: MomentInLine) -> Finding:
    """Detect a repetition within a range: "every 2 hours from 9:00 to 17:00"."""
    return moment.repeats and begins_range(moment)
