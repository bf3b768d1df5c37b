"""Detect a second day in a time that may only have one."""

from bot.timeparse.ambiguity.check import DAY_JOINS, Finding, MomentInLine

SHORT_WEEKDAYS = ("sun", "sat", "wed", "mon")
"""Also other words: "sun cream", "mon ami"."""
_IN_MONTH = ("in", "im", "en", "a", "em", "в")
_ORDINAL_SIGNS = ("第", "最", "첫", "둘째", "셋째", "넷째", "마지막")
_HAN_WEEK = ("周", "週", "星期", "礼拜")
_HAN_WEEKDAYS = frozenset("一二三四五六日天")
_KOREAN_WEEKDAYS = tuple(f"{day}요일" for day in "월화수목금토일")


def has_second_weekday(moment: MomentInLine) -> Finding:
    """Detect a second weekday: "monday and tuesday"."""
    following = moment.line.skip(moment.words.and_, moment.end)
    once = moment.parsed.day is not None and moment.parsed.every is None
    return once and following > moment.end and moment.line.find(moment.words.weekdays, following) is not None


def has_another_day(moment: MomentInLine) -> Finding:
    """Detect a second day after the first: "mon-fri", "mon, wed", "next month on the 15th"."""
    if not moment.parsed.day:
        return False
    line, known, end = moment.line, moment.words, moment.end
    joined = end + (moment.next_word in DAY_JOINS)
    joined = max(joined, line.skip(known.until, joined), line.skip(known.range_, joined))
    joined = max(joined, line.skip(known.and_, joined))
    weekday = line.find(known.weekdays, joined)
    if weekday and not (joined == end and line.folded(joined) in SHORT_WEEKDAYS):
        return True
    if joined > end and moment.next_word in known.punctuation:
        return False
    while (after := line.skip(known.fillers, joined)) > joined:
        joined = after
    again, after = moment.grammar.read(joined)
    return bool(again.day and not again.every and after > joined + 1)


def begins_day_list(moment: MomentInLine) -> Finding:
    """Detect weekdays without a space after the first: 每周一三五, 매주 월요일과 목요일."""
    if not moment.parsed.every or moment.parsed.every.unit != "week":
        return False
    after = moment.next_word
    han = after in _HAN_WEEKDAYS and moment.line.folded(moment.end - 1).startswith(_HAN_WEEK)
    return han or after == "、" or after.startswith(_KOREAN_WEEKDAYS)


def ends_day_list(moment: MomentInLine) -> Finding:
    """Detect a list that ends with the day found: "mon, wed, fri", "friday or saturday", "monday to friday"."""
    line, known, at = moment.line, moment.words, moment.begin
    joins = (DAY_JOINS, known.and_, known.or_, known.until, known.range_)
    for join in range(max(1, at - 2), at + 1):
        if line.folded(at) == "," if join == at else any(line.skip(each, join) == at for each in joins):
            tables = known.weekdays, known.days
            days = [line.find(table, day) for table in tables for day in range(max(0, join - 4), join)]
            if any(each and each[1] == join for each in days):
                return True
    return False


def has_unread_day_of_month(moment: MomentInLine) -> Finding:
    """Detect a day of the month that is not understood: 毎月第1月曜日, 매월 첫째 월요일."""
    every = moment.parsed.every
    monthly = every is not None and every.unit == "month" and moment.parsed.day is None
    return monthly and moment.next_word.startswith(_ORDINAL_SIGNS)


def is_in_named_month(moment: MomentInLine) -> Finding:
    """Detect a month that would be ignored: "every year in march", "friday in march"."""
    named = moment.line.skip(_IN_MONTH, moment.end)
    on_days = moment.parsed.every is not None or moment.parsed.day is not None
    return on_days and named > moment.end and moment.line.find(moment.words.months, named) is not None


def has_choice(moment: MomentInLine) -> Finding:
    """Detect a choice: "friday or saturday"."""
    return moment.continues_with(moment.words.or_)
