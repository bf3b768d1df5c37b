"""The words of which moments that lie ahead are made, in English, German and Chinese.

Days, months, weekdays, units from the day up and numbers come from the memory's lexicon too, in all its languages.
Words for the same are separated by `/`; they are compared without case and accents.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeVar

from memory.dates.lexicon import lexicon
from memory.dates.text import fold_letters

Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]
Part = Literal["morning", "noon", "afternoon", "evening", "tonight", "night", "midnight"]

_Meaning = TypeVar("_Meaning")

_UNITS: Mapping[Unit, str] = {
    "second": "s/sec/secs/second/seconds/sek/sekunde/sekunden/秒/秒钟",
    "minute": "m/min/mins/minute/minutes/minuten/minuto/minutos/minuti/分/分钟/分鐘",
    "hour": "h/hr/hrs/hour/hours/std/stunde/stunden/heure/heures/hora/horas/ora/ore/小时/个小时/小時/"
    "個小時/钟头/个钟头",
    "day": "d/天/日",
    "week": "w/wk/wks/周/星期/个星期/礼拜/个礼拜/週",
    "month": "个月/個月/月",
    "year": "y/年",
}
_NUMBERS: Mapping[int, str] = {
    1: "one/a/an/eine/einer/einem/einen/ein/一",
    2: "二/两/兩/couple/couple of/a couple of",
    3: "三/a few",
    4: "四",
    5: "五",
    6: "六",
    7: "七",
    8: "八",
    9: "九",
    10: "十",
    11: "十一",
    12: "十二",
    15: "fifteen/funfzehn/quinze/quince/quindici/十五",
    20: "twenty/zwanzig/vingt/veinte/venti/二十",
    30: "thirty/dreissig/dreißig/trente/treinta/trenta/三十",
    40: "forty/vierzig/四十",
    45: "forty five/funfundvierzig/四十五",
    50: "fifty/fünfzig/funfzig/五十",
    60: "sixty/sechzig/六十",
    90: "ninety/neunzig/九十",
}
_DAYS: Mapping[int, str] = {
    -2: "day before yesterday/the day before yesterday/vorgestern/前天",
    -1: "yesterday/gestern/昨天/昨日",
    0: "today/今天/今日",
    1: "tomorrow/tmrw/tmr/明天/明日/明",
    2: "day after tomorrow/the day after tomorrow/后天/後天",
    3: "大后天/大後天",
}
_WEEKDAYS: Mapping[int, str] = {
    0: "周一/星期一/礼拜一/週一",
    1: "周二/星期二/礼拜二/週二",
    2: "周三/星期三/礼拜三/週三",
    3: "周四/星期四/礼拜四/週四",
    4: "周五/星期五/礼拜五/週五",
    5: "周六/星期六/礼拜六/週六",
    6: "周日/周天/星期日/星期天/礼拜天/週日",
}
_ALL_SUCH_DAYS: Mapping[int, str] = {
    0: "mondays/montags",
    1: "tuesdays/dienstags",
    2: "wednesdays/mittwochs",
    3: "thursdays/donnerstags",
    4: "fridays/freitags",
    5: "saturdays/samstags",
    6: "sundays/sonntags",
}
_PARTS: Mapping[Part, str] = {
    "morning": "morning/in the morning/this morning/am morgen/vormittag/vormittags/am vormittag/morgens/fruh/"
    "heute morgen/in der fruh/早上/早晨/上午/今早",
    "noon": "noon/midday/mittag/mittags/am mittag/中午",
    "afternoon": "afternoon/in the afternoon/this afternoon/nachmittag/nachmittags/am nachmittag/下午",
    "evening": "evening/in the evening/this evening/abend/abends/am abend/晚上/傍晚/晚",
    "tonight": "tonight/heute abend/今晚",
    "night": "night/at night/in the night/nacht/nachts/in der nacht/heute nacht/半夜",
    "midnight": "midnight/mitternacht/午夜",
}
_TODAYS: tuple[str, ...] = ("this ", "heute ", "今")
"""How a part of the day begins that is the one of today; with `tonight`."""
_WORKDAYS = "weekday/weekdays/workday/workdays/working day/werktag/werktags/werktage/arbeitstag/工作日"
_WEEKEND = "weekend/weekends/wochenende/am wochenende/周末/週末"
_EVERY = "every/each/jeden/jede/jedes/jeder/alle/chaque/cada/ogni/tous les/todos los/每/每隔/每个/每個"
_EVERY_UNIT: Mapping[Unit, str] = {
    "hour": "hourly/stundlich",
    "day": "daily/taglich/every day",
    "week": "weekly/wochentlich",
    "month": "monthly/monatlich",
    "year": "yearly/annually/jahrlich",
}
_SECOND = "other/second/2nd/zweiten/zweite/zweites/ander"
_NTH: Mapping[int, str] = {
    1: "first/1st/ersten/erster/erste/第一个",
    2: "second/2nd/zweiten/zweiter/zweite/第二个",
    3: "third/3rd/dritten/dritter/dritte/第三个",
    4: "fourth/4th/vierten/vierter/vierte/第四个",
    5: "fifth/5th/funften/fünfter",
    -1: "last/letzten/letzter/letzte/最后一个",
}
_NEXT = "next/nachste/nachsten/nachster/nachstes/nachstem/naechste/naechsten/下/下个/下一个/下個"
_THIS_ONE = "this/coming/the coming/diese/diesen/dieser/dieses/kommende/kommenden/kommender/这/这个/本"
_IN = "in/within/after/nach/dans/en/tra/fra/dentro de/再过/再過"
_LATER = "from now/later/spater/后/後/之后/以后/之後/以後"
_HALF = "half/half a/half an/a half/halben/halbe/eine halbe/einer halben/einem halben/半/半个/半個"
_QUARTER = "quarter/a quarter/quarter of/a quarter of/viertel"
_QUARTER_HOUR = (
    "viertelstunde/einer viertelstunde/quarter hour/a quarter of an hour/quarter of an hour/一刻钟"
)
_AND_A_HALF = "and a half/einhalb/半"
_AND = "and/und/&/和/et/y"
_AT = "at/@/um/gegen/a las/a/alle/ore/kl/à/в/在"
_CLOCK = "o'clock/oclock/o clock/uhr/点/點/点钟/點鐘/时/時/h/heures/hs"
_AM = "am/a.m./a.m"
_PM = "pm/p.m./p.m"
_PAST = "past/after/nach"
_TO = "to/before/till/vor"
_FILLERS = (
    "on/at/@/the/by/this/am/um/gegen/den/der/dem/im/zum/of/in/,/starting/start/from/beginning/ab/beginnend/"
    "le/el/il/a/à/las/在/的/于"
)
_LEADING = "me/mich/mir/please/bitte/remind me/提醒我"
_BEFORE_TEXT = "to/提醒我"
_PUNCTUATION = ",/:/;/-/–/—/,/：/，/。/、/|"
_UNTIL = "until/till/til/bis/through/直到/hasta/jusqu'a/jusqu'au"


class Words:
    """The tables turned round: folded phrase to meaning."""

    def __init__(self) -> None:
        shared = lexicon()
        self.units: dict[str, Unit] = {**_only(shared.units), **_table(_UNITS)}
        self.numbers = {**shared.numbers, **_table(_NUMBERS)}
        self.days = {word: days for word, days in shared.days.items() if days > 0} | {"heute": 0}
        self.days.update(_table({0: "aujourd hui/hoy/oggi/hoje/сегодня"}))
        self.days.update(_table(_DAYS))
        self.weekdays = {**shared.weekdays, **_table(_WEEKDAYS)}
        self.all_such_days = _table(_ALL_SUCH_DAYS)
        self.months = dict(shared.months)
        self.parts = _table(_PARTS)
        self.todays = frozenset(
            each for each in self.parts if each.startswith(_TODAYS) or self.parts[each] == "tonight"
        )
        self.workdays, self.weekend = _phrases(_WORKDAYS), _phrases(_WEEKEND)
        self.every, self.every_unit, self.second = _phrases(_EVERY), _table(_EVERY_UNIT), _phrases(_SECOND)
        self.nth = _table(_NTH)
        self.next, self.this_one = _phrases(_NEXT), _phrases(_THIS_ONE)
        self.within, self.later = _phrases(_IN), _phrases(_LATER)
        self.half, self.quarter, self.and_a_half = _phrases(_HALF), _phrases(_QUARTER), _phrases(_AND_A_HALF)
        self.quarter_hour, self.and_ = _phrases(_QUARTER_HOUR), _phrases(_AND)
        self.at, self.clock, self.am, self.pm = _phrases(_AT), _phrases(_CLOCK), _phrases(_AM), _phrases(_PM)
        self.past, self.to = _phrases(_PAST), _phrases(_TO)
        self.fillers, self.leading = _phrases(_FILLERS), _phrases(_LEADING)
        self.before_text, self.until = _phrases(_BEFORE_TEXT), _phrases(_UNTIL)
        self.punctuation = frozenset(_PUNCTUATION.split("/"))
        self.units.pop("an", None)  # "an hour", not a French year
        tables = [getattr(self, name) for name in vars(self)]
        self.han = frozenset(word for table in tables for word in table if "\u3400" <= word[0] <= "\u9fff")
        self.longest_han = max(map(len, self.han))


@cache
def words() -> Words:
    return Words()


def _only(units: Mapping[str, str]) -> dict[str, Unit]:
    return {word: unit for word, unit in units.items() if unit in ("day", "week", "month", "year")}  # type: ignore[misc]


def _table(rows: Mapping[_Meaning, str]) -> dict[str, _Meaning]:
    return {phrase: meaning for meaning, alike in rows.items() for phrase in _phrases(alike)}


def _phrases(alike: str) -> frozenset[str]:
    return frozenset(fold_letters(alike).split("/"))
