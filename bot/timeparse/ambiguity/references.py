"""Detect a time that is relative to something: an event, a limit, a past time."""

from bot.timeparse.ambiguity.check import Finding, MomentInLine

_BY_THEN = ("之前", "以前", "까지", "전에", "まで")
"""After a day: by then, or before it."""
_OF = ("of", "von", "de", "di")
_EACH = ("ごと", "おき", "마다")
"""After a duration: repeatedly."""


def is_ago(moment: MomentInLine) -> Finding:
    """Detect a past time: "5 minutes ago"."""
    after = moment.line.skip(moment.words.ago, moment.end)
    return bool(moment.parsed.span) and after > moment.end and {"ago": moment.text(moment.begin, after)}


def begins_span(moment: MomentInLine) -> Finding:
    """Detect a week added to a day: "monday in a week", "friday week"."""
    if not moment.parsed.day or moment.parsed.span:
        return False
    line, end = moment.line, moment.end
    unit = line.find(moment.words.units, end)
    if (unit and unit[0] == "week") or line.skip(("en huit", "en quinze", "fortnight"), end) > end:
        return True
    within = line.skip(moment.words.within, end)
    parsed, after = moment.grammar.read(end)
    return within > end and parsed.span is not None and after > within + 1


def is_limit(moment: MomentInLine) -> Finding:
    """Detect a limit: "call before friday"."""
    known, at = moment.words, moment.begin
    bounds = (known.before_or_after, known.until, known.except_)
    return any(
        moment.line.skip(each, before) == at for before in range(max(0, at - 3), at) for each in bounds
    )


def has_end(moment: MomentInLine) -> Finding:
    """Detect an end: "every day until friday", "every day for a week"."""
    line, known = moment.line, moment.words
    if not moment.repeats:
        return False
    number = line.skip(known.for_, moment.end)
    counted = line.skip(known.numbers, number) > number or line.kind(number) == "number"
    lasts = (
        number > moment.end
        and counted
        and line.find(known.units, max(number + 1, line.skip(known.numbers, number)))
    )
    return bool(lasts) or moment.continues_with(known.until)


def is_span_of_something(moment: MomentInLine) -> Finding:
    """Detect a duration of something: "2 minutes of silence"."""
    return (
        moment.parsed.span is not None
        and moment.line.kind(moment.begin) == "number"
        and moment.next_word in _OF
    )


def has_event(moment: MomentInLine) -> Finding:
    """Detect an event: "2 days before the exam"."""
    return moment.continues_with(moment.words.before_or_after)


def is_deadline(moment: MomentInLine) -> Finding:
    """Detect a deadline: 周五之前, 금요일까지, 8時10分前."""
    before_hour = bool(moment.parsed.clocks) and moment.next_word == "前"
    return before_hour or moment.next_word.startswith(_BY_THEN)


def has_repetition_suffix(moment: MomentInLine) -> Finding:
    """Detect a suffix for repetition: 30分ごと."""
    return moment.next_word.startswith(_EACH)
