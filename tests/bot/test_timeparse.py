from datetime import UTC, date, datetime, time, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.timeparse import (
    Recurrence,
    TimeParseError,
    due_before,
    moment_in_full,
    moment_in_short,
    read_when,
    rule_in_words,
)
from bot.timeparse.recurrence import LAST, RecurrenceUnit, months_later, nth_weekday, on_wall
from tests.fakes.table_test import table_test

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 10, 15, 20, tzinfo=BERLIN)  # a Wednesday

ONCE = """\
3s | 2026-11-18 10:15:23
2h | 2026-11-18 12:15:20
1h30m | 2026-11-18 11:45:20
2h30 | 2026-11-18 12:45:20
1d | 2026-11-19 10:15:20
monday 8:00 | 2026-11-23 08:00
wednesday 8:00 | 2026-11-25 08:00
wednesday 18:00 | 2026-11-18 18:00
2026-12-03 | 2026-12-03 09:00
2026-12-03 14:00 | 2026-12-03 14:00
2026-12-03T14:00 | 2026-12-03 14:00
2026-12-03T14:00:00Z | 2026-12-03 15:00
2026-12-03T14:00+05:30 | 2026-12-03 09:30
on 3 December at 14:00 | 2026-12-03 14:00
at 18:30 | 2026-11-18 18:30
at 8:00 | 2026-11-19 08:00
tonight | 2026-11-18 20:00
tonight at 8 | 2026-11-18 20:00
tonight at 2 | 2026-11-19 02:00
next friday 10am | 2026-11-27 10:00
friday 10am | 2026-11-20 10:00
this friday 10am | 2026-11-20 10:00
in half an hour | 2026-11-18 10:45:20
in an hour and a half | 2026-11-18 11:45:20
in 2 and a half hours | 2026-11-18 12:45:20
in a quarter of an hour | 2026-11-18 10:30:20
in 3 days | 2026-11-21 10:15:20
in 3 days at 9 | 2026-11-21 09:00
in two weeks | 2026-12-02 10:15:20
in a month | 2026-12-18 10:15:20
on the 15th at 10:00 | 2026-12-15 10:00
tomorrow morning | 2026-11-19 09:00
tomorrow morning at 7 | 2026-11-19 07:00
tomorrow evening at 7 | 2026-11-19 19:00
monday morning | 2026-11-23 09:00
at 7 in the evening | 2026-11-18 19:00
at 9pm | 2026-11-18 21:00
9am | 2026-11-19 09:00
9 a.m. | 2026-11-19 09:00
9:30 pm | 2026-11-18 21:30
noon | 2026-11-18 12:00
at noon | 2026-11-18 12:00
midnight | 2026-11-19 00:00
tomorrow noon | 2026-11-19 12:00
half past 9 | 2026-11-19 09:30
at quarter to ten | 2026-11-19 09:45
3rd of December 2027 14:00 | 2027-12-03 14:00
December 3, 2027 at 2pm | 2027-12-03 14:00
Dec 3 14:00 | 2026-12-03 14:00
3.12. 14:00 | 2026-12-03 14:00
3.12.2027 um 14 Uhr | 2027-12-03 14:00
24/12 | 2026-12-24 09:00
next week | 2026-11-23 09:00
next month | 2026-12-01 09:00
monday next week 9:00 | 2026-11-23 09:00
the day after tomorrow at 9 | 2026-11-20 09:00
9:00 tomorrow | 2026-11-19 09:00
at 9:00 on monday | 2026-11-23 09:00
in 20 min | 2026-11-18 10:35:20
20 minutes from now | 2026-11-18 10:35:20
in 2 hours and 15 minutes | 2026-11-18 12:30:20
today 18:00 | 2026-11-18 18:00
morgen früh um 7 | 2026-11-19 07:00
heute Abend um 8 | 2026-11-18 20:00
heute Abend | 2026-11-18 20:00
am 3. Dezember um 14 Uhr | 2026-12-03 14:00
am 3. Dezember um 14.30 Uhr | 2026-12-03 14:30
um halb 10 | 2026-11-19 09:30
Montag 8 Uhr | 2026-11-23 08:00
übermorgen um 18 Uhr | 2026-11-20 18:00
in einer Woche | 2026-11-25 10:15:20
in einer halben Stunde | 2026-11-18 10:45:20
nächsten Freitag um 10 | 2026-11-27 10:00
um viertel nach 9 | 2026-11-19 09:15
in 3 Tagen um 9 | 2026-11-21 09:00
am Freitag abend | 2026-11-20 19:00
am Montag | 2026-11-23 09:00
半小时后 | 2026-11-18 10:45:20
明天下午3点半 | 2026-11-19 15:30
后天早上9点 | 2026-11-20 09:00
今晚8点 | 2026-11-18 20:00
周五10点 | 2026-11-20 10:00
12月3日14点 | 2026-12-03 14:00
下周一9点 | 2026-11-23 09:00
3天后 | 2026-11-21 10:15:20
demain à 9h | 2026-11-19 09:00
lundi 8:00 | 2026-11-23 08:00
sat 10:00 | 2026-11-21 10:00
on Sunday | 2026-11-22 09:00
in 5 years | 2031-11-18 10:15:20
at 1430 | 2026-11-18 14:30
noon tomorrow | 2026-11-19 12:00
24 December | 2026-12-24 09:00
Friday the 4th at 9:00 | 2026-12-04 09:00
in the morning | 2026-11-19 09:00
this evening | 2026-11-18 19:00
this afternoon at 3 | 2026-11-18 15:00
tomorrow at nine | 2026-11-19 09:00
in ten minutes | 2026-11-18 10:25:20
at 12:30 pm | 2026-11-18 12:30
12am | 2026-11-19 00:00
Friday, 4 December at 9:00 | 2026-12-04 09:00
in 2 weeks on monday | 2026-11-30 09:00
tonight 8pm | 2026-11-18 20:00
2h 30m | 2026-11-18 12:45:20
1.5h | 2026-11-18 11:45:20
in 1,5 Stunden | 2026-11-18 11:45:20
last day of the month at 12:00 | 2026-11-30 12:00
tomorrow 5pm | 2026-11-19 17:00
9h | 2026-11-18 19:15:20
um 20h | 2026-11-18 20:00
ten past eight | 2026-11-19 08:10
TOMORROW 9:00 | 2026-11-19 09:00
明晚8点 | 2026-11-19 20:00
下午3点 | 2026-11-18 15:00
两小时后 | 2026-11-18 12:15:20
十点 | 2026-11-19 10:00
明天十点半 | 2026-11-19 10:30
2026/12/03 14:00 | 2026-12-03 14:00
monday at midnight | 2026-11-23 00:00
13:00 | 2026-11-18 13:00
on friday night | 2026-11-20 21:00
in 2 weeks | 2026-12-02 10:15:20
in 2 weeks at 9 | 2026-12-02 09:00
in 2 Wochen am Montag um 9 | 2026-11-30 09:00
um 9 | 2026-11-19 09:00
15 min | 2026-11-18 10:30:20
in 45 minutes | 2026-11-18 11:00:20
in 3 hours | 2026-11-18 13:15:20
90m | 2026-11-18 11:45:20
in four days | 2026-11-22 10:15:20
in six weeks | 2026-12-30 10:15:20
in two months | 2027-01-18 10:15:20
in one year | 2027-11-18 10:15:20
in 10 days at 17:00 | 2026-11-28 17:00
an hour from now | 2026-11-18 11:15:20
tomorrow 7am | 2026-11-19 07:00
tomorrow at 7:45 pm | 2026-11-19 19:45
tomorrow afternoon at 4 | 2026-11-19 16:00
tomorrow night at 10 | 2026-11-19 22:00
7pm today | 2026-11-18 19:00
tonight at 11:30 | 2026-11-18 23:30
thursday at 16:00 | 2026-11-19 16:00
on saturday at 11am | 2026-11-21 11:00
Sunday 20:15 | 2026-11-22 20:15
thu 3pm | 2026-11-19 15:00
fri 12:00 | 2026-11-20 12:00
friday evening at 8 | 2026-11-20 20:00
tuesday at noon | 2026-11-24 12:00
25 December at 8:00 | 2026-12-25 08:00
January 5 at 10:30 | 2027-01-05 10:30
5 Jan 2027 16:45 | 2027-01-05 16:45
Feb 14, 2027 7pm | 2027-02-14 19:00
the 20th of november at 9pm | 2026-11-20 21:00
on the 1st of March 2027 at 6:00 | 2027-03-01 06:00
on the 30th at 14:00 | 2026-11-30 14:00
2027-01-31 23:59 | 2027-01-31 23:59
2026-11-18T22:05:00 | 2026-11-18 22:05
6:30am | 2026-11-19 06:30
at 4pm | 2026-11-18 16:00
22:45 | 2026-11-18 22:45
5 o'clock tomorrow | 2026-11-19 05:00
quarter past 11 | 2026-11-18 11:15
half past 3 tomorrow | 2026-11-19 15:30
day after tomorrow 13:00 | 2026-11-20 13:00
wednesday next week at 10:00 | 2026-11-25 10:00
tomorrow at midday | 2026-11-19 12:00
the first of december at 8am | 2026-12-01 08:00
in an hour | 2026-11-18 11:15:20
in a couple of hours | 2026-11-18 12:15:20
"""
AGAIN = """\
every monday 8:00 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00
every Monday 8:00 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00
every day at 7:30 | 2026-11-19 07:30 | every 1 days from 2026-11-18 at 07:30
every weekday 8:00 | 2026-11-19 08:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 08:00
every year on 24 December | 2026-12-24 09:00 | every 1 years from 2026-12-24 at 09:00
every 24 december | 2026-12-24 09:00 | every 1 years from 2026-12-24 at 09:00
every 15th at 10:00 | 2026-12-15 10:00 | every 1 months from 2026-11-18 on 15 at 10:00
every first monday of the month at 9:00 | 2026-12-07 09:00 | every 1 months from 2026-11-18 on 1mon at 09:00
every month on the first monday at 9 | 2026-12-07 09:00 | every 1 months from 2026-11-18 on 1mon at 09:00
every last friday of the month at 16:00 | 2026-11-27 16:00 | every 1 months from 2026-11-18 on -1fri at 16:00
every other tuesday 19:00 | 2026-11-24 19:00 | every 2 weeks from 2026-11-24 on tue at 19:00
every second week on monday 9:00 | 2026-11-23 09:00 | every 2 weeks from 2026-11-23 on mon at 09:00
every 2 weeks on monday and thursday at 9:00 | 2026-11-19 09:00 | every 2 weeks from 2026-11-19 on mon,thu at 09:00
daily 7:30 | 2026-11-19 07:30 | every 1 days from 2026-11-18 at 07:30
weekly | 2026-11-25 09:00 | every 1 weeks from 2026-11-18 on wed at 09:00
hourly | 2026-11-18 11:15:20 | every 60 minutes from 2026-11-18T10:15:20+00:00
mondays at 8 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00
on mondays and thursdays at 8 | 2026-11-19 08:00 | every 1 weeks from 2026-11-18 on mon,thu at 08:00
weekdays at 7:15 | 2026-11-19 07:15 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 07:15
every weekend 10:00 | 2026-11-21 10:00 | every 1 weeks from 2026-11-18 on sat,sun at 10:00
every morning | 2026-11-19 09:00 | every 1 days from 2026-11-18 at 09:00
every evening at 7 | 2026-11-18 19:00 | every 1 days from 2026-11-18 at 19:00
every 90 minutes | 2026-11-18 11:45:20 | every 90 minutes from 2026-11-18T10:45:20+00:00
every half hour | 2026-11-18 10:45:20 | every 30 minutes from 2026-11-18T09:45:20+00:00
every 3 days at 9:00 starting tomorrow | 2026-11-19 09:00 | every 3 days from 2026-11-19 at 09:00
every 2 days at 9 | 2026-11-20 09:00 | every 2 days from 2026-11-18 at 09:00
every tuesday, thursday and saturday at 6:45 | 2026-11-19 06:45 | every 1 weeks from 2026-11-18 on tue,thu,sat at 06:45
jeden Montag um 8 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00
jeden zweiten Montag um 8 | 2026-11-23 08:00 | every 2 weeks from 2026-11-23 on mon at 08:00
alle 2 Stunden | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00
täglich um 7:30 | 2026-11-19 07:30 | every 1 days from 2026-11-18 at 07:30
montags um 8 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00
jeden Morgen | 2026-11-19 09:00 | every 1 days from 2026-11-18 at 09:00
jeden Morgen um 7 | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00
werktags um 8 | 2026-11-19 08:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 08:00
jeden 1. um 9:00 | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00
每天8点 | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00
每周一8点 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00
每20分钟 | 2026-11-18 10:35:20 | every 20 minutes from 2026-11-18T09:35:20+00:00
every day | 2026-11-19 09:00 | every 1 days from 2026-11-18 at 09:00
every minute | 2026-11-18 10:16:20 | every 1 minutes from 2026-11-18T09:16:20+00:00
every year | 2027-11-18 09:00 | every 1 years from 2026-11-18 at 09:00
every month | 2026-12-18 09:00 | every 1 months from 2026-11-18 on 18 at 09:00
every 29 february | 2027-02-28 09:00 | every 1 years from 2024-02-29 at 09:00
every 2 years on 24 december at 10:00 | 2026-12-24 10:00 | every 2 years from 2026-12-24 at 10:00
every month on the last day at 18:00 | 2026-11-30 18:00 | every 1 months from 2026-11-18 on -1 at 18:00
every last day of the month | 2026-11-30 09:00 | every 1 months from 2026-11-18 on -1 at 09:00
every second day at 9 | 2026-11-20 09:00 | every 2 days from 2026-11-18 at 09:00
every 3rd day | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00
every wednesday | 2026-11-25 09:00 | every 1 weeks from 2026-11-18 on wed at 09:00
every monday morning | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00
每月1号9点 | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00
every 2 days | 2026-11-20 09:00 | every 2 days from 2026-11-18 at 09:00
every january 1 | 2027-01-01 09:00 | every 1 years from 2026-01-01 at 09:00
every morning at 6 | 2026-11-19 06:00 | every 1 days from 2026-11-18 at 06:00
each monday | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00
every night at 11 | 2026-11-18 23:00 | every 1 days from 2026-11-18 at 23:00
every third day at 9 | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00
jeden dritten Tag um 9 | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00
every 2nd monday of the month at 9 | 2026-12-14 09:00 | every 1 months from 2026-11-18 on 2mon at 09:00
"""
REFUSED = """\
in a while | understand the time
call mum | understand the time
sun cream | understand the time
second opinion | understand the time
a week from monday | understand the time
yesterday | past
yesterday 9:00 call mum | past
the day before yesterday | past
gestern 18:00 | past
5 eggs | understand the time
-5m | understand the time
today | Today at what time
today 8:00 | in the past: Wednesday, 18 November 2026 at 08:00 (Europe/Berlin)
this morning | in the past
2020-01-01 | in the past
0m | in the past
every 30 seconds | Once a minute
every 0 days | 0 × day
99999999999999999999m | smaller whole number
in 99999999 years | in the calendar
tomorrow 25:00 | 25:00 isn't a valid time
at 24:00 | 24:00 isn't a valid time
February 30 | There is no 30 February.
am 30. Februar | There is no 30 February.
30 février | There is no 30 February.
el 30 de febrero | There is no 30 February.
30 февраля | There is no 30 February.
2月30日 | There is no 30 February.
every 30 February | There is no 30 February.
31 April | There is no 31 April.
31.4. | There is no 31 April.
31/6 | There is no 31 June.
31.11.2026 | There is no 31 November 2026.
29 Feb 2027 | There is no 29 February 2027.
30 february 2027 | There is no 30 February 2027.
2026-02-30 | There is no 2026-02-30.
3.13. | There is no 3.13.
0.5. | There is no 0 May.
3/12 | two different dates
tomorrow 9 | `tomorrow at 9`
every day 2 | `every day: 2
in 3 days 9 | `in 3 days at 9`
Monday, 4 December 9:00 | is a Friday, not a Monday
every monday at 9 until friday | /reminders cancel
every 2 hours from 9:00 to 17:00 | /reminders cancel
monday and tuesday at 9 | every monday and tuesday
every year on the 1st | combine these
"""
SPLIT = """\
20m tea | tea
in 20 minutes to call mum | call mum
me to call mum tomorrow at 9 | call mum
call mum tomorrow at 9 | call mum
Tomorrow At 9AM Call Mum | Call Mum
tomorrow: 9 eggs | 9 eggs
tomorrow 14:00: 3 things | 3 things
tomorrow 14:00 - 3 things | 3 things
tomorrow 9:00-10:00 meeting | -10:00 meeting
tomorrow at the dentist | at the dentist
in 20 minutes 9:00 meeting | 9:00 meeting
9:00 morning run | morning run
friday at noon lunch with Bo | lunch with Bo
every 5 minutes check the oven | check the oven
morgen um 9 Mama anrufen | Mama anrufen
明天9点开会 | 开会
20分钟后提醒我喝茶 | 喝茶
tomorrow |
20m |
"""


TIME_WORDS = tuple(
    """\
every in at on the next monday friday tomorrow today tonight 9 9:00 20 2026-12-03 3 december 31 hours minutes days
week month morning evening noon half past quarter to and , . : am pm st last first other 14.30 24/12 until um jeden
zweiten 明天 每 点 半 后 1e9 0 99999
""".split()  # noqa: SIM905
)


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.splitlines()]


@table_test(("phrase", "due"), rows(ONCE))
def test_a_moment_is_read(phrase: str, due: str) -> None:
    when, rest = read_when(f"{phrase} x", NOW, BERLIN)
    assert (when.due.replace(tzinfo=None), when.rule, rest) == (datetime.fromisoformat(due), "", "x")
    assert when.due.tzinfo is BERLIN


@table_test(("phrase", "due", "rule"), rows(AGAIN))
def test_what_comes_again_is_read(phrase: str, due: str, rule: str) -> None:
    when, rest = read_when(f"{phrase} x", NOW, BERLIN)
    assert (when.due.replace(tzinfo=None), when.rule, rest) == (datetime.fromisoformat(due), rule, "x")
    assert str(Recurrence.parse(rule)) == rule


@table_test(("phrase", "why"), rows(REFUSED))
def test_what_cannot_be_meant_is_refused_with_the_mend(phrase: str, why: str) -> None:
    with pytest.raises(TimeParseError) as refused:
        read_when(f"{phrase} x", NOW, BERLIN)
    assert why in str(refused.value)


@table_test(("line", "rest"), rows(SPLIT))
def test_what_is_behind_the_moment_is_the_text(line: str, rest: str) -> None:
    assert read_when(line, NOW, BERLIN)[1] == rest


def test_what_cannot_be_read_is_answered_with_examples() -> None:
    with pytest.raises(TimeParseError) as refused:
        read_when("whenever you like", NOW, BERLIN)
    for example in ("20m", "tomorrow 9:00", "every monday 8:00"):
        assert f"`{example}`" in str(refused.value)
        read_when(example, NOW, BERLIN)


@table_test(
    "line", ["in 999999999.5 weeks x", "in 999999999.5 days 999999999.5 days x", "x in 999999999.5 weeks"]
)
def test_what_is_farther_away_than_any_calendar_goes_is_refused(line: str) -> None:
    with pytest.raises(TimeParseError):
        read_when(line, NOW, BERLIN)


def test_an_hour_with_thousands_of_digits_is_refused() -> None:
    with pytest.raises(TimeParseError):
        read_when(f"every day at {'9' * 5000} x", NOW, BERLIN)


def test_the_text_keeps_its_lines_and_spaces() -> None:
    assert read_when("20m one\n  two   three\n", NOW, BERLIN)[1] == "one\n  two   three"


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        when, rest = read_when(text, NOW, BERLIN)
    except TimeParseError:
        return
    assert when.due > NOW
    assert rest in text


@given(
    st.lists(
        st.sampled_from(TIME_WORDS),
        max_size=9,
    )
)
def test_any_words_of_time_are_read_or_refused(words: list[str]) -> None:
    try:
        when, _ = read_when(" ".join(words), NOW, BERLIN)
    except TimeParseError:
        return
    assert when.due > NOW
    if when.rule:
        following = Recurrence.parse(when.rule).next_after(NOW, BERLIN)
        assert following == when.due
        assert rule_in_words(Recurrence.parse(when.rule))


def test_a_long_text_is_read_quickly() -> None:
    began = datetime.now(UTC)
    with pytest.raises(TimeParseError):
        read_when("every 9 at 9 monday and " * 20_000, NOW, BERLIN)
    read_when("20m " + "at 9 and " * 20_000, NOW, BERLIN)
    assert datetime.now(UTC) - began < timedelta(seconds=1)


def test_a_time_that_the_clock_jumps_over_is_later_by_the_jump() -> None:
    before = datetime(2027, 3, 27, 12, 0, tzinfo=BERLIN)
    assert read_when("tomorrow 2:30", before, BERLIN)[0].due == datetime(2027, 3, 28, 3, 30, tzinfo=BERLIN)


def test_hours_elapse_also_across_a_change_of_the_clock() -> None:
    before = datetime(2027, 3, 28, 1, 30, tzinfo=BERLIN)
    assert read_when("1h", before, BERLIN)[0].due == datetime(2027, 3, 28, 3, 30, tzinfo=BERLIN)
    assert read_when("in 1 day", before, BERLIN)[0].due == datetime(2027, 3, 29, 1, 30, tzinfo=BERLIN)


# -- rules --------------------------------------------------------------------------------------------------

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Pacific/Apia", "UTC")
"""With jumps of an hour and of half an hour, at night, at midnight, and of a whole day (2011)."""


@st.composite
def rules(draw: st.DrawFn) -> Recurrence:
    unit: RecurrenceUnit = draw(st.sampled_from(get_args(RecurrenceUnit)))
    count = draw(st.integers(1, 5))
    start = draw(st.datetimes(datetime(2009, 1, 1), datetime(2012, 6, 1)))  # noqa: DTZ001
    if unit == "minutes":
        return Recurrence("minutes", draw(st.integers(1, 3000)), start.replace(microsecond=0, tzinfo=UTC))
    times = draw(
        st.sets(
            st.times(time(0), time(23, 59)).map(lambda at: at.replace(second=0, microsecond=0)),
            min_size=1,
            max_size=3,
        )
    )
    weekdays = draw(st.sets(st.integers(0, 6), min_size=1, max_size=4))
    day = 0
    if unit == "months":
        nth = draw(st.booleans())
        day = draw(st.sampled_from((LAST, 1, 2, 3, 4, 5) if nth else (LAST, 1, 15, 28, 29, 30, 31)))
        weekdays = {min(weekdays)} if nth else set()
    kept = tuple(sorted(weekdays)) if unit in ("weeks", "months") else ()
    midnight = datetime.combine(start.date(), time())
    return Recurrence(unit, count, midnight, tuple(sorted(times)), kept, day)


def every_moment(rule: Recurrence, zone: ZoneInfo, last: datetime) -> list[datetime]:
    """All moments of a rule up to one, by walking over each day: slow, and simple enough to be believed."""
    if rule.unit == "minutes":
        count = int((last - rule.start) / timedelta(minutes=rule.count)) + 1
        return [rule.start + each * timedelta(minutes=rule.count) for each in range(max(count, 0))]
    start = rule.start.date()
    found: set[datetime] = set()
    for ahead in range((last.date() - start).days + 2):
        day = start + timedelta(days=ahead)
        end_of_month = months_later(day.replace(day=1), 1) - timedelta(days=1)
        months = (day.year - start.year) * 12 + day.month - start.month
        monday = start - timedelta(days=start.weekday())
        if rule.unit == "days":
            fits = ahead % rule.count == 0
        elif rule.unit == "weeks":
            fits = day.weekday() in rule.weekdays and (day - monday).days // 7 % rule.count == 0
        elif rule.unit == "years":
            wanted = min(start.day, end_of_month.day) if day.month == start.month else 0
            fits = day.day == wanted and (day.year - start.year) % rule.count == 0
        elif rule.weekdays:
            fits = (
                day == nth_weekday(day.year, day.month, rule.day, rule.weekdays[0])
                and months % rule.count == 0
            )
        else:
            wanted = end_of_month.day if rule.day == LAST else min(rule.day, end_of_month.day)
            fits = day.day == wanted and months % rule.count == 0
        if fits:
            found.update(on_wall(datetime.combine(day, at), zone).astimezone(UTC) for at in rule.times)
    return sorted(each for each in found if each <= last)


@settings(deadline=None)
@given(rules(), st.sampled_from(ZONES), st.integers(0, 400 * 24 * 60))
def test_the_next_moment_is_later_and_none_is_skipped(rule: Recurrence, name: str, minutes: int) -> None:
    zone = ZoneInfo(name)
    moment = rule.start.replace(tzinfo=UTC) + timedelta(minutes=minutes)
    last = moment + timedelta(days=3 if rule.unit == "minutes" else 800)
    expected = [each for each in every_moment(rule, zone, last) if each > moment][:40]
    assume(expected)
    for each in expected:
        following = rule.next_after(moment, zone)
        assert following is not None
        assert following.astimezone(UTC) > moment.astimezone(UTC)
        assert following.astimezone(UTC) == each
        moment = following
    assert Recurrence.parse(str(rule)) == rule


def test_what_the_clock_shows_twice_comes_once() -> None:
    rule = Recurrence.parse("every 1 days from 2026-10-24 at 02:30")
    first = rule.next_after(datetime(2026, 10, 24, 12, tzinfo=UTC), BERLIN)
    assert first is not None
    assert first.astimezone(UTC) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert rule.next_after(first, BERLIN) == datetime(2026, 10, 26, 2, 30, tzinfo=BERLIN)


def test_a_moment_that_is_jumped_over_midnight_comes_behind_one_of_the_next_day() -> None:
    greenland = ZoneInfo("America/Scoresbysund")  # on 27 March 2027 its clocks go from 23:00 to 0:00
    rule = Recurrence.parse("every 1 days from 2027-03-20 at 00:10,23:50")
    first = rule.next_after(datetime(2027, 3, 27, 12, tzinfo=greenland), greenland)
    assert first == datetime(2027, 3, 28, 0, 10, tzinfo=greenland)
    assert rule.next_after(first, greenland) == datetime(2027, 3, 28, 0, 50, tzinfo=greenland)


def test_the_31st_is_the_last_day_of_a_shorter_month() -> None:
    rule = Recurrence.parse("every 1 months from 2027-01-01 on 31 at 09:00")
    moment: datetime | None = datetime(2027, 1, 1, tzinfo=UTC)
    days = []
    for _ in range(4):
        assert moment
        moment = rule.next_after(moment, BERLIN)
        assert moment
        days.append(moment.date())
    assert days == [date(2027, 1, 31), date(2027, 2, 28), date(2027, 3, 31), date(2027, 4, 30)]


def test_a_rule_ends_with_the_calendar() -> None:
    rule = Recurrence.parse("every 5 years from 9990-01-01 at 09:00")
    assert rule.next_after(datetime(9996, 1, 1, tzinfo=UTC), BERLIN) is None


@table_test(
    "text",
    [
        "",
        "every monday",
        "every 0 days from 2026-11-22 at 07:30",
        "every 1 days from 2026-11-22",
        "every 1 days from 2026-11-22 on mon at 07:30",
        "every 1 weeks from 2026-11-22 at 07:30",
        "every 1 weeks from 2026-11-22 on moon at 07:30",
        "every 1 months from 2026-11-22 on 32 at 07:30",
        "every 1 months from 2026-11-22 on 0 at 07:30",
        "every 1 minutes from 2026-11-22T07:30",
        "every 1 fortnights from 2026-11-22 at 07:30",
        "every 1 days from 2026-02-30 at 07:30",
        "every 1 days from 2026-11-22 at 24:30",
        "every 999999 days from 2026-11-22 at 07:30",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Recurrence.parse(text)


# -- in words -----------------------------------------------------------------------------------------------


@table_test(
    ("rule", "told"),
    [
        ("every 1 minutes from 2026-11-22T10:00:00+00:00", "every minute"),
        ("every 120 minutes from 2026-11-22T10:00:00+00:00", "every 2 hours"),
        ("every 90 minutes from 2026-11-22T10:00:00+00:00", "every 90 minutes"),
        ("every 1 days from 2026-11-22 at 08:00,20:00", "every day at 08:00 and 20:00"),
        (
            "every 2 weeks from 2026-11-23 on mon,thu at 08:00",
            "every 2 weeks on Monday and Thursday at 08:00",
        ),
        (
            "every 1 months from 2026-12-01 on 31 at 09:00",
            "every month on day 31 (the last day of shorter months) at 09:00",
        ),
        ("every 1 months from 2026-12-01 on -1 at 09:00", "every month on its last day at 09:00"),
        ("every 1 months from 2026-12-01 on -1fri at 09:00", "every month on the last Friday at 09:00"),
        ("every 1 years from 2026-12-24 at 18:00", "every year on 24 December at 18:00"),
    ],
)
def test_a_rule_is_told_in_words(rule: str, told: str) -> None:
    assert rule_in_words(Recurrence.parse(rule)) == told


def test_a_moment_is_told_in_full() -> None:
    moment = datetime(2026, 11, 23, 8, 0, 3, tzinfo=UTC)
    assert moment_in_full(moment, BERLIN) == "Monday, 23 November 2026 at 09:00 (Europe/Berlin)"
    assert moment_in_full(moment, BERLIN, seconds=True).endswith("09:00:03 (Europe/Berlin)")
    assert due_before(NOW, NOW, BERLIN) == "10:15"
    assert due_before(NOW - timedelta(days=1), NOW, BERLIN) == "yesterday 10:15"
    assert due_before(NOW - timedelta(days=9), NOW, BERLIN) == "Monday 9 November 10:15"
    assert due_before(NOW - timedelta(days=365), NOW, BERLIN) == "Tuesday 18 November 2025 10:15"


def test_a_moment_in_short_names_the_day_where_it_is_another() -> None:
    assert moment_in_short(NOW.astimezone(UTC), NOW) == "10:15"
    assert moment_in_short(NOW - timedelta(days=1), NOW) == f"{NOW - timedelta(days=1):%Y-%m-%d} 10:15"
