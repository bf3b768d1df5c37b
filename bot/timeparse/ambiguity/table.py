"""All ambiguity checks, in the order in which they run."""

from collections.abc import Sequence

from bot.timeparse.ambiguity import days, exclusions, hours, other_languages, ranges, references, text
from bot.timeparse.ambiguity.check import AmbiguityCheck, MomentInLine
from bot.timeparse.moment import TimeParseError

_ALWAYS = (
    AmbiguityCheck("an end", references.has_end, "until"),
    AmbiguityCheck("a last hour", ranges.has_last_hour, "until"),
    AmbiguityCheck("a second weekday", days.has_second_weekday, "two_days"),
    AmbiguityCheck("another day", days.has_another_day, "two_days"),
    AmbiguityCheck("a list of days", days.begins_day_list, "two_days"),
    AmbiguityCheck("a range of hours", ranges.has_hour_range, "no_range"),
    AmbiguityCheck("a second hour", ranges.has_second_hour, "no_range"),
    AmbiguityCheck("a second part of the day", ranges.has_second_part_of_day, "no_range"),
    AmbiguityCheck("a range of durations", ranges.has_longer_span, "no_range"),
)
_AFTER_MARK = (
    AmbiguityCheck("a time after a mark", text.has_time_after_mark, "time_in_text"),
    AmbiguityCheck("excluded days after a mark", exclusions.has_exclusions, "except"),
)
_AFTER = (
    AmbiguityCheck("another language", other_languages.follows, "unread"),
    AmbiguityCheck("first and last hour", ranges.repeats_in_range, "until"),
    AmbiguityCheck("a range", ranges.begins_range, "no_range"),
    AmbiguityCheck("hours of a range", ranges.has_hours_of_range, "no_range"),
    AmbiguityCheck("a duration after a day", references.begins_span, "unread"),
    AmbiguityCheck("a past time", references.is_ago, "ago"),
    AmbiguityCheck("a duration of something", references.is_span_of_something, "unread"),
    AmbiguityCheck("an event", references.has_event, "relative"),
    AmbiguityCheck("a deadline", references.is_deadline, "relative"),
    AmbiguityCheck("minutes in words", hours.has_minutes_in_words, "vague"),
    AmbiguityCheck("a minute of each hour", hours.has_minute_of_hour, "unread"),
    AmbiguityCheck("a named month", days.is_in_named_month, "unread"),
    AmbiguityCheck("a quarter of an hour", hours.is_quarter_of_hour, "vague"),
    AmbiguityCheck("a repeat count", hours.has_repeat_count, "unread"),
    AmbiguityCheck("minutes past noon", hours.has_minutes_past_part, "unread"),
    AmbiguityCheck("a suffix for repetition", references.has_repetition_suffix, "unread"),
    AmbiguityCheck("an hour or a duration", hours.is_hour_or_span, "unread"),
    AmbiguityCheck("excluded days", exclusions.has_exclusions, "except"),
    AmbiguityCheck("an unread day of the month", days.has_unread_day_of_month, "unread"),
    AmbiguityCheck("a choice", days.has_choice, "two_days"),
    AmbiguityCheck("an hour beyond the day", hours.is_beyond_the_day, "no_clock"),
    AmbiguityCheck("a vague hour", hours.is_vague, "vague"),
    AmbiguityCheck("a time in the text", text.has_time_in_text, "time_in_text"),
    AmbiguityCheck("a day in the text", text.has_day_in_text, "day_in_text"),
)
START_CHECKS = (*_ALWAYS, *_AFTER_MARK, *_AFTER)
END_CHECKS = (
    AmbiguityCheck("another language before it", other_languages.precedes, "unread"),
    AmbiguityCheck("a list of days before it", days.ends_day_list, "two_days"),
    AmbiguityCheck("a range before it", ranges.ends_range, "no_range"),
    AmbiguityCheck("a time before it", text.has_time_before, "two_days"),
    AmbiguityCheck("a day of the text", text.is_day_of_text, "day_of_text"),
    AmbiguityCheck("a limit before it", references.is_limit, "relative"),
)


def check_start(moment: MomentInLine) -> None:
    """Raise `TimeParseError` if the text after a time changes its meaning.

    After a colon or similar mark the text may say anything.
    """
    _check(moment, _ALWAYS)
    _check(moment, _AFTER_MARK if moment.next_word in moment.words.punctuation else _AFTER)


def check_end(moment: MomentInLine) -> None:
    """Raise `TimeParseError` if the time at the end of a line is only a limit, such as "before friday"."""
    _check(moment, END_CHECKS)


def _check(moment: MomentInLine, checks: Sequence[AmbiguityCheck]) -> None:
    for check in checks:
        if fields := check.find(moment):
            raise TimeParseError(check.refusal, **({} if fields is True else fields))
