"""Detect an hour that may mean another hour, or no hour."""

import re

from bot.timeparse.ambiguity.check import Finding, MomentInLine, is_hour

_AT_ELSEWHERE = ("om", "ab")
"""Words for "at" with other meanings too."""
_AND_A_HALF = ("and a half", "einhalb", "et demi", "et demie", "y medio", "y media", "e mezzo", "e meio")
_MINUTES_OF_HOUR = ("quarter past", "quarter to", "half past", "the top of the hour", "the full hour")
_TIMES = ("回", "次", "번")
"""Counters after a number: "times"."""
_NOON = 12
_LAST_HOUR = 24
_FOUR_DIGITS = re.compile("(?:[01][0-9]|2[0-3])(?:[0-5][0-9]|[.][0-5][0-9])|[1-9][.][0-5][0-9]")


def has_minutes_past_part(moment: MomentInLine) -> Finding:
    """Detect minutes after a part of the day: "noon and a half"."""
    only_part = moment.parsed.part is not None and not moment.parsed.clocks
    return only_part and moment.line.find(moment.words.past_the_hour, moment.end) is not None


def is_hour_or_span(moment: MomentInLine) -> Finding:
    """Detect `16h` and `20h30` alone: a time of day in French, a duration in English."""
    line, begin = moment.line, moment.begin
    hour = line.folded(begin)
    if not moment.parsed.span or line.kind(begin) != "number" or line.folded(begin + 1) != "h":
        return False
    return moment.end <= begin + 3 and hour.isdigit() and len(hour) == 2 and _NOON < int(hour) < _LAST_HOUR


def is_quarter_of_hour(moment: MomentInLine) -> Finding:
    """Detect "um drei viertel neun", which is 8:45 and not 3:00."""
    end = moment.end
    if not moment.parsed.clocks or moment.next_word != "viertel" or not is_hour(moment, end + 1):
        return False
    return {"time": moment.text(moment.begin, end + 2), "begin": moment.text(moment.begin, moment.begin + 1)}


def has_repeat_count(moment: MomentInLine) -> Finding:
    """Detect a count: "every day twice", 每天两次, 1日2回."""
    line, end = moment.line, moment.end
    if not (moment.parsed.every or moment.parsed.day):
        return False
    counted = line.kind(end) == "number" and line.folded(end + 1).startswith(_TIMES)
    often = moment.continues_with(moment.words.how_often) or moment.continues_with(_AND_A_HALF)
    return counted or (moment.repeats and often)


def is_beyond_the_day(moment: MomentInLine) -> Finding:
    """Detect an hour beyond 24: "every day at 25"."""
    if moment.parsed.clocks or moment.parsed.part or moment.parsed.span:
        return False
    line, after = moment.line, moment.line.skip(moment.words.at, moment.end)
    hour = line.folded(after)
    if after == moment.end or line.kind(after) != "number" or not hour.isdigit():
        return False
    counts = line.find(moment.words.units, after + 1) or line.glued(after + 1)
    return (len(hour) > 9 or int(hour) > _LAST_HOUR) and not counts and {"time": hour}


def is_vague(moment: MomentInLine) -> Finding:
    """Detect a vague time that would become 9:00: "tomorrow at half 7", "friday 9.30", "friday at lunch"."""
    line, end = moment.line, moment.end
    if not (moment.lacks_time or (moment.parsed.today and not moment.parsed.clocks)):
        return False
    following = line.skip((*moment.words.at, *_AT_ELSEWHERE), end)
    after = line.skip(moment.words.vague, following)
    vague = after > following and (following > end or is_hour(moment, after))
    vague = vague or (following > line.skip(moment.words.at, end) and is_hour(moment, following))
    # Not read as an hour, since a unit follows: "tomorrow at 8 week review", "domani alle 20 ora di cena".
    unread = following > end and is_hour(moment, following) and line.find(moment.words.units, following + 1)
    vague = vague or bool(unread)
    if not vague and not (_FOUR_DIGITS.fullmatch(moment.next_word) and not line.glued(end + 1)):
        return False
    last = after if vague and is_hour(moment, after) else max(after, end + 1) - 1
    return {"time": moment.text(end, last + 1), "begin": moment.text(moment.begin, moment.end)}


def has_minutes_in_words(moment: MomentInLine) -> Finding:
    """Detect minutes that are not understood: "at eight ten" is not 8:00 and 10:00."""
    line, end = moment.line, moment.end
    if not moment.parsed.clocks:
        return False
    in_word = line.kind(end - 1) == "word" and line.find(moment.words.numbers, end - 1) is not None
    minutes = moment.next_word == "past" or (in_word and (moment.next_word == "oh" or is_hour(moment, end)))
    return minutes and {"time": moment.text(end - 1, end + 1), "begin": "tomorrow"}


def has_minute_of_hour(moment: MomentInLine) -> Finding:
    """Detect a minute of every hour: "every hour at quarter past", "on the hour", "at :15"."""
    every = moment.parsed.every
    if every is None or every.unit != "minute" or moment.parsed.clocks:
        return False
    line = moment.line
    after = line.skip(moment.words.at, moment.end)
    minute = after > moment.end and (line.folded(after) == ":" or line.skip(_MINUTES_OF_HOUR, after) > after)
    return minute or moment.continues_with(("on the hour", "on the half hour", "zur vollen stunde"))
