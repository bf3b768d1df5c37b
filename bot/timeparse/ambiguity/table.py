"""All ambiguity checks, in the order in which they run."""

from collections.abc import Sequence

from bot.timeparse.ambiguity import days, exclusions, hours, ranges, references, text
from bot.timeparse.ambiguity.check import AmbiguityCheck, ReadMoment
from bot.timeparse.moment import TimeParseError

_ALWAYS = (
    AmbiguityCheck("an end", references.has_end, "until"),
    AmbiguityCheck("a last hour", ranges.has_last_hour, "until"),
    AmbiguityCheck("a second weekday", days.has_second_weekday, "two_days"),
    AmbiguityCheck("another day", days.names_another_day, "two_days"),
    AmbiguityCheck("a list of days", days.begins_day_list, "two_days"),
    AmbiguityCheck("a range of hours", ranges.goes_on_to_another_hour, "no_range"),
    AmbiguityCheck("a second hour", ranges.has_second_hour, "no_range"),
    AmbiguityCheck("a second part of the day", ranges.has_second_part_of_day, "no_range"),
    AmbiguityCheck("a range of spans", ranges.goes_on_to_longer_span, "no_range"),
)
_BEHIND_MARK = (
    AmbiguityCheck("a time behind a sign", text.has_time_behind_mark, "time_in_text"),
    AmbiguityCheck("days left out behind a sign", exclusions.leaves_days_out, "except"),
)
_BEHIND = (
    AmbiguityCheck("first and last hour", ranges.comes_again_in_range, "until"),
    AmbiguityCheck("a range", ranges.begins_range, "no_range"),
    AmbiguityCheck("hours of a range", ranges.has_hours_of_range, "no_range"),
    AmbiguityCheck("a span behind a day", references.begins_span, "unread"),
    AmbiguityCheck("a span that has passed", references.is_ago, "ago"),
    AmbiguityCheck("a span of something", references.is_span_of_something, "unread"),
    AmbiguityCheck("an event", references.has_event, "relative"),
    AmbiguityCheck("by then", references.is_by_then, "relative"),
    AmbiguityCheck("minutes in words", hours.goes_on_with_minutes, "vague"),
    AmbiguityCheck("a minute of each hour", hours.names_minute_of_hour, "unread"),
    AmbiguityCheck("a named month", days.is_in_named_month, "unread"),
    AmbiguityCheck("a quarter of an hour", hours.is_quarter_of_hour, "vague"),
    AmbiguityCheck("how often", hours.says_how_often, "unread"),
    AmbiguityCheck("minutes past noon", hours.has_minutes_past_part, "unread"),
    AmbiguityCheck("each behind a span", references.has_each_behind, "unread"),
    AmbiguityCheck("an hour or a span", hours.is_hour_or_span, "unread"),
    AmbiguityCheck("days left out", exclusions.leaves_days_out, "except"),
    AmbiguityCheck("an unread day of the month", days.has_unread_day_of_month, "unread"),
    AmbiguityCheck("a choice", days.has_choice, "two_days"),
    AmbiguityCheck("an hour beyond the day", hours.is_beyond_the_day, "no_clock"),
    AmbiguityCheck("a vague hour", hours.is_vague, "vague"),
    AmbiguityCheck("a time in the text", text.has_time_in_text, "time_in_text"),
    AmbiguityCheck("a day in the text", text.has_day_in_text, "day_in_text"),
)
AT_THE_BEGINNING = (*_ALWAYS, *_BEHIND_MARK, *_BEHIND)
AT_THE_END = (
    AmbiguityCheck("a list of days before it", days.ends_day_list, "two_days"),
    AmbiguityCheck("a range before it", ranges.ends_range, "no_range"),
    AmbiguityCheck("a time before it", text.has_time_before, "two_days"),
    AmbiguityCheck("a day of the text", text.is_day_of_text, "day_of_text"),
    AmbiguityCheck("a bound before it", references.is_bound, "relative"),
)


def check_at_the_beginning(moment: ReadMoment) -> None:
    """Raise `TimeParseError` if the text after a time changes its meaning.

    After a colon or similar mark the text may say anything.
    """
    _check(moment, _ALWAYS)
    _check(moment, _BEHIND_MARK if moment.behind in moment.words.punctuation else _BEHIND)


def check_at_the_end(moment: ReadMoment) -> None:
    """Raise `TimeParseError` if the time at the end of a line is only a limit, such as "before friday"."""
    _check(moment, AT_THE_END)


def _check(moment: ReadMoment, checks: Sequence[AmbiguityCheck]) -> None:
    for check in checks:
        if fields := check.find(moment):
            raise TimeParseError(check.refusal, **({} if fields is True else fields))
