"""Detect a time or day in the text that may belong to the parsed time, and vice versa."""

from bot.timeparse.ambiguity.check import CLOCK_KINDS, COLONS, MAX_SEARCHED_TOKENS, Finding, MomentInLine

_OF = ("of", "von", "de", "di")
"""Before a day that belongs to the text: "plan of friday"."""


def has_time_after_mark(moment: MomentInLine) -> Finding:
    """Detect a time of day after a mark: "tomorrow, 15:00". A colon instead begins the text."""
    if not moment.lacks_time or moment.next_word in COLONS:
        return False
    return _time_at(moment, moment.end + 1)


def has_time_in_text(moment: MomentInLine) -> Finding:
    """Detect a time of day in the text: "tomorrow call Tom at 15:00" would become 9:00."""
    if not (moment.lacks_time or (moment.parsed.today and not moment.parsed.clocks)):
        return False
    for at in range(moment.end, min(moment.end + MAX_SEARCHED_TOKENS, len(moment.line.tokens))):
        if moment.line.folded(at) in moment.words.punctuation:
            return False
        if fields := _time_at(moment, at):
            return fields
    return False


def _time_at(moment: MomentInLine, at: int) -> Finding:
    """Return the time of day at a token as fields of a reason."""
    line, following = moment.line, moment.line.skip(moment.words.at, at)
    if following == at and line.kind(at) not in CLOCK_KINDS:
        return False
    parsed, after = moment.grammar.read(at)
    if not parsed.clocks or parsed.day or parsed.every or parsed.span:
        return False
    return {
        "time": moment.text(following if following < after else at, after),
        "begin": moment.text(moment.begin, moment.end),
    }


def has_day_in_text(moment: MomentInLine) -> Finding:
    """Detect a day in the text: "at 9 call Tom on friday" would become the next 9:00."""
    parsed, line, count = moment.parsed, moment.line, len(moment.line.tokens)
    if not parsed.clocks or parsed.day or parsed.every or parsed.span or parsed.today or not line.is_whole:
        return False
    for at in range(max(moment.end + 1, count - 4), count):
        day, after = moment.grammar.read(at)
        if after == count and (day.day or day.every) and not day.clocks:
            of_text = line.folded(at - 1) in (*moment.words.about, *_OF)
            return not of_text and {
                "day": line.text[line.tokens[at].start :].strip(),
                "begin": moment.text(moment.begin, moment.end),
            }
    return False


def has_time_before(moment: MomentInLine) -> Finding:
    """Detect an earlier time: "call Tom tomorrow at 3 and Eva at 4"."""
    for place in range(max(0, moment.begin - MAX_SEARCHED_TOKENS), moment.begin):
        parsed, end = moment.grammar.read(place)
        hour = moment.line.skip(moment.words.at, place)
        counts = moment.line.kind(hour) in CLOCK_KINDS or moment.line.folded(hour) in moment.words.numbers
        if parsed.clocks and (parsed.day or (hour > place and counts)) and end <= moment.begin:
            return True
    return False


def is_day_of_text(moment: MomentInLine) -> Finding:
    """Detect a day that belongs to the text: "tickets for friday"."""
    line, at = moment.line, moment.begin
    of_text = moment.parsed.span is None and at > 0 and line.folded(at - 1) in moment.words.about
    return of_text and {"day": line.text[line.tokens[at].start :].strip()}
