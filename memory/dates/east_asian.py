"""Dates in Chinese, Japanese and Korean, one pattern for each form."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache
from typing import TypeVar

from memory.dates.periods import (
    DateUnit,
    DayRange,
    Opening,
    days_in_month,
    latest_days,
    latest_month,
    month_range,
    near_unit,
    near_weekday,
    open_range,
    units_ago,
    year_range,
)
from memory.dates.western import DateMatch

_Key = TypeVar("_Key")

_DAYS = {
    -3: "大前天",
    -2: "前天|前日|一昨日|おととい|그저께|그제|엊그제",
    -1: "昨天|昨日|昨晚|昨夜|きのう|ゆうべ|어제|어젯밤",
    0: "今天|今日|今晚|今夜|今早|今朝|きょう|오늘",
    1: "明天|明日(?!香)|あした|내일",
    2: "后天|後天|明後日|あさって|모레",
}
_YEARS = {
    -2: "前年|一昨年|おととし|재작년",
    -1: "去年|昨年|작년|지난해",
    0: "今年|올해",
    1: "明年|来年|來年|내년",
}
_NEAR = {-1: "上个?|上個|先|지난 ?", 0: "这个?|這個?|本|今|이번 ?", 1: "下个?|下個|来|來|다음 ?"}
_WEEK = "星期|礼拜|禮拜|周|週|주"
_UNITS: dict[DateUnit, str] = {
    "weekend": "周末|週末|주말",
    "day": "天|日間|日|일",
    "week": "周|週間|週|星期|礼拜|禮拜|주일|주",
    "month": "个月|個月|か月|ヶ月|カ月|月|개월|달",
    "year": "年間|年|년",
}
_OPENINGS: dict[Opening, str] = {
    "since": "以来|以來|以降|から|부터|起",
    "before": "より前|之前|以前|이전|전에?|前",
    "after": "以后|之后|以後|之後|より後|이후|後",
}
_WEEKDAYS = ("一二三四五六日", "月火水木金土日", "월화수목금토일")
_DIGITS = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_NUMBER = "(?:(?<![0-9])[0-9]{1,4}|[〇零一二三四五六七八九十两兩]{1,3})"

_SIGNS = frozenset("年月日天周週星礼禮曜昨今明前后後去おきゆあ년월일주달어오내그엊모작올지이다재요")
"""Each date has at least one of these characters, and few other texts do."""


def read_east_asian(text: str, today: date) -> Iterator[DateMatch]:
    """Yield the dates in folded text, in no order; they may overlap, and then the longest is meant."""
    if _SIGNS.isdisjoint(text):
        return
    for pattern, read in _date_forms():
        for match in pattern.finditer(text):
            try:
                span = read(match, today)
            except (ValueError, OverflowError):  # outside the calendar
                continue
            opening = _opening_pattern().match(text, match.end())
            end = opening.end() if opening else match.end()
            if span and opening:
                span = open_range(span, _lookup(_OPENINGS, opening["opening"]))
            if span:
                yield DateMatch((span,), match.start(), end)


@cache
def _date_forms() -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], DayRange | None]], ...]:
    day = rf"(?: ?の? ?(?P<day>{_NUMBER}) ?[日号號일](?![間间]))?"
    month = rf"(?P<month>{_NUMBER}) ?[月월](?![間间曜]|요)份?{day}"
    year = (
        rf"(?:(?P<year>[12][0-9]{{3}}|[〇零一二三四五六七八九]{{4}})[年년]|(?P<near>{_alternatives(_YEARS)}))"
    )
    weekday = "(?:[月火水木金土日]曜日?|[월화수목금토일]요일)"
    near = rf"(?P<near>{_alternatives(_NEAR)})"
    return (
        (re.compile(f"(?P<day>{_alternatives(_DAYS)})"), _read_day),
        (
            re.compile(rf"(?P<count>{_NUMBER}) ?(?P<unit>{_alternatives(_UNITS)}) ?(?:以前|之前|前|まえ|전)"),
            _read_ago,
        ),
        (re.compile(rf"{year}(?: ?の? ?{month})?(?![间間]|以?前)"), _read_year),
        (re.compile(month), _read_month),
        (re.compile(rf"{near}(?P<unit>周末|週末|주말|月(?!曜)|달|{_WEEK})"), _read_unit),
        (
            re.compile(
                rf"(?:{near}(?:{_WEEK}) ?の? ?)(?P<weekday>{weekday}|[一二三四五六日天](?![个個点曜]))"
            ),
            _read_weekday_of_week,
        ),
        (
            re.compile(
                rf"(?:(?P<near>지난|이번|다음) ?)?(?P<weekday>(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]|{weekday})"
            ),
            _read_weekday,
        ),
    )


@cache
def _opening_pattern() -> re.Pattern[str]:
    return re.compile(rf" ?(?P<opening>{_alternatives(_OPENINGS)})(?![天日年])")


def _read_day(said: re.Match[str], today: date) -> DayRange:
    return near_unit("day", _lookup(_DAYS, said["day"]), today)


def _read_ago(said: re.Match[str], today: date) -> DayRange | None:
    """Parse 3日前; but 三月前 is "before March"."""
    if said["unit"] == "月" and not said["count"].isdigit():
        return None
    return units_ago(_lookup(_UNITS, said["unit"]), _parse_number(said["count"]), today)


def _read_year(said: re.Match[str], today: date) -> DayRange | None:
    """Parse 2022年, 去年5月, 2022年6月3日."""
    year = _parse_number(said["year"]) if said["year"] else today.year + _lookup(_YEARS, said["near"])
    if not 1900 <= year <= 2099:
        return None
    if not said["month"]:
        return year_range(year)
    month = _parse_number(said["month"])
    if said["day"]:
        day = _parse_number(said["day"])
        return days_in_month(year, month, (day, day))
    return month_range(year, month) if 1 <= month <= 12 else None


def _read_month(said: re.Match[str], today: date) -> DayRange | None:
    """Parse 6月3日, 十二月."""
    month = _parse_number(said["month"])
    if not 1 <= month <= 12:
        return None
    if not said["day"]:
        return latest_month(month, today)
    day = _parse_number(said["day"])
    return latest_days(month, (day, day), today)


def _read_unit(said: re.Match[str], today: date) -> DayRange:
    """Parse 上周末, 先月, 이번 주."""
    return near_unit(_lookup(_UNITS, said["unit"]), _lookup(_NEAR, said["near"]), today)


def _read_weekday_of_week(said: re.Match[str], today: date) -> DayRange:
    """Parse 上周五, 先週の金曜日, 지난주 금요일."""
    monday, _ = near_unit("week", _lookup(_NEAR, said["near"]), today)
    return near_weekday(_parse_weekday(said["weekday"]), 0, monday)


def _read_weekday(said: re.Match[str], today: date) -> DayRange:
    """Parse 星期一, 月曜日, 지난 금요일."""
    near = {"이번": 0, "다음": 1}.get(said["near"] or "", -1)
    return near_weekday(_parse_weekday(said["weekday"]), near, today)


def _parse_weekday(said: str) -> int:
    """Return the weekday by its own sign: the first of 金曜日 and 금요일, the last of 星期五."""
    sign = said[0] if said[1:2] in ("曜", "요") else said[-1].replace("天", "日")
    return next(signs.index(sign) for signs in _WEEKDAYS if sign in signs)


def _alternatives(table: Mapping[_Key, str]) -> str:
    return "|".join(table.values())


def _lookup(table: Mapping[_Key, str], said: str) -> _Key:
    return next(key for key, words in table.items() if re.fullmatch(words, said))


def _parse_number(text: str) -> int:
    """Parse `2023`, `二零二三`, `十二`, `二十一`. Raises ValueError if it is no number."""
    if text.isdigit() and text.isascii():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return int("".join(str(_DIGITS[sign]) for sign in text))
    if len(tens) > 1 or len(ones) > 1 or ones == "十":
        raise ValueError(text)
    return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)
