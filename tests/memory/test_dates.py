import subprocess
import sys
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates import DateSpan, note_date, read_dates
from tests.fakes.table_test import table_test

TODAY = date(2023, 6, 14)  # a Wednesday

OPEN_BEFORE, OPEN_AFTER = "0001-01-01", "9999-12-31"


def told(query: str, today: date = TODAY) -> list[str]:
    """Return each span as `first..last`, or as a single day."""
    return [
        str(span.first) if span.first == span.last else f"{span.first}..{span.last}"
        for span in read_dates(query, today)
    ]


ENGLISH = {
    "who called yesterday": "2023-06-13",
    "yesterday's lunch": "2023-06-13",
    "Yesterday I met whom?": "2023-06-13",
    "what is there to do today": "2023-06-14",
    "tomorrow?": "2023-06-15",
    "the day before yesterday": "2023-06-12",
    "the day after tomorrow": "2023-06-16",
    "what did I eat last night": "2023-06-13",
    "What did I do last Friday?": "2023-06-09",
    "on Wednesday": "2023-06-07",
    "this Friday": "2023-06-16",
    "next Friday": "2023-06-16",
    "last fri": "2023-06-09",
    "Monday's meeting": "2023-06-12",
    "this week": "2023-06-12..2023-06-18",
    "last week": "2023-06-05..2023-06-11",
    "next week": "2023-06-19..2023-06-25",
    "last weekend": "2023-06-10..2023-06-11",
    "what did we do at the weekend": "2023-06-10..2023-06-11",
    "this month": "2023-06-01..2023-06-30",
    "last month": "2023-05-01..2023-05-31",
    "last year": "2022-01-01..2022-12-31",
    "next year": "2024-01-01..2024-12-31",
    "3 days ago": "2023-06-11",
    "three days ago": "2023-06-11",
    "a day ago": "2023-06-13",
    "two weeks ago": "2023-05-28..2023-06-03",
    "a couple of weeks ago": "2023-05-28..2023-06-03",
    "two months ago": "2023-04-01..2023-04-30",
    "Where did Caroline move from 4 years ago?": "2019-01-01..2019-12-31",
    "the past week": "2023-06-05..2023-06-11",
    "notes from 2022": "2022-01-01..2022-12-31",
    "what did we do this Friday": "2023-06-16",
    "the past two weeks": "2023-05-31..2023-06-14",
    "in the last 3 days": "2023-06-11..2023-06-14",
    "what happened on 3 June?": "2023-06-03",
    "on the 3rd of June": "2023-06-03",
    "June 3rd": "2023-06-03",
    "June 3rd, 2023": "2023-06-03",
    "on 1 February, 2023": "2023-02-01",
    "Oct. 13, 2022": "2022-10-13",
    "3 Sep 2022": "2022-09-03",
    "June 3 '22": "2022-06-03",
    "on 15 June": "2022-06-15",
    "on 14 June": "2023-06-14",
    "29 February": "2020-02-29",
    "Friday, 3 June 2022": "2022-06-03",
    "Sat, 4 June 2022": "2022-06-04",
    "what did we eat in May 2023": "2023-05-01..2023-05-31",
    "in may 2022": "2022-05-01..2022-05-31",
    "in May last year": "2022-05-01..2022-05-31",
    "last year in May": "2022-05-01..2022-05-31",
    "When did Melanie go camping in June?": "2023-06-01..2023-06-30",
    "in July": "2022-07-01..2022-07-31",
    "in may": "2023-05-01..2023-05-31",
    "last May": "2023-05-01..2023-05-31",
    "last june": "2022-06-01..2022-06-30",
    "next may": "2024-05-01..2024-05-31",
    "next June": "2024-06-01..2024-06-30",
    "the June trip": "2023-06-01..2023-06-30",
    "our October holiday": "2022-10-01..2022-10-31",
    "what happened march 3": "2023-03-03",
    "on may 3 in Rome": "2023-05-03",
    "in 2022": "2022-01-01..2022-12-31",
    "What was in the year 2022?": "2022-01-01..2022-12-31",
    "June 3-5, 2022": "2022-06-03..2022-06-05",
    "since Monday": f"2023-06-12..{OPEN_AFTER}",
    "since May": f"2023-05-01..{OPEN_AFTER}",
    "before June 2023": f"{OPEN_BEFORE}..2023-05-31",
    "after 3 June 2022": f"2022-06-04..{OPEN_AFTER}",
    "2023-06-03": "2023-06-03",
    "2023/6/3": "2023-06-03",
    "what is in 2023-06-03.md": "2023-06-03",
    "2023-06-03T10:00": "2023-06-03",
    "2023-06": "2023-06-01..2023-06-30",
    "03.06.2023": "2023-06-03",
    "3.6.23": "2023-06-03",
    "13/6/2023": "2023-06-13",
    "6/13/2023": "2023-06-13",
    "5/5/2023": "2023-05-05",
    "on 2023-06-03.": "2023-06-03",
}

OTHERS = {
    # German
    "letzten Montag": "2023-06-12",
    "am Freitag": "2023-06-09",
    "Was habe ich gestern gemacht?": "2023-06-13",
    "vorgestern Abend": "2023-06-12",
    "heute Morgen": "2023-06-14",
    "was steht morgen an": "2023-06-15",
    "übermorgen": "2023-06-16",
    "vor drei Tagen": "2023-06-11",
    "vor einer Woche": "2023-06-04..2023-06-10",
    "vor zwei Monaten": "2023-04-01..2023-04-30",
    "letzte Woche": "2023-06-05..2023-06-11",
    "im letzten Jahr": "2022-01-01..2022-12-31",
    "letztes Wochenende": "2023-06-10..2023-06-11",
    "In den letzten drei Tagen": "2023-06-11..2023-06-14",
    "am 3. Juni": "2023-06-03",
    "3. Juni 2022": "2022-06-03",
    "Freitag, den 3. Juni 2022": "2022-06-03",
    "am 3.6.": "2023-06-03",
    "im März": "2023-03-01..2023-03-31",
    "im Ma\u0308rz": "2023-03-01..2023-03-31",
    "im Mai letzten Jahres": "2022-05-01..2022-05-31",
    "letztes Jahr im Mai": "2022-05-01..2022-05-31",
    "letzten Mai": "2023-05-01..2023-05-31",
    "im Jahr 2022": "2022-01-01..2022-12-31",
    "seit Montag": f"2023-06-12..{OPEN_AFTER}",
    "vor dem 3. Juni": f"{OPEN_BEFORE}..2023-06-02",
    # French
    "le 3 juin": "2023-06-03",
    "le 1er mai 2022": "2022-05-01",
    "le lundi 6 juin 2022": "2022-06-06",
    "où étais-tu hier ?": "2023-06-13",
    "avant-hier": "2023-06-12",
    "aujourd'hui": "2023-06-14",
    "aujourd’hui": "2023-06-14",
    "demain": "2023-06-15",
    "après-demain": "2023-06-16",
    "lundi dernier": "2023-06-12",
    "la semaine dernière": "2023-06-05..2023-06-11",
    "le mois dernier": "2023-05-01..2023-05-31",
    "l'an dernier": "2022-01-01..2022-12-31",
    "cette semaine": "2023-06-12..2023-06-18",
    "il y a trois jours": "2023-06-11",
    "en février": "2023-02-01..2023-02-28",
    "au mois de mai": "2023-05-01..2023-05-31",
    "en août 2022": "2022-08-01..2022-08-31",
    "en 2022": "2022-01-01..2022-12-31",
    "depuis lundi": f"2023-06-12..{OPEN_AFTER}",
    # Spanish
    "el 3 de junio": "2023-06-03",
    "el 3 de junio de 2022": "2022-06-03",
    "¿qué comimos ayer?": "2023-06-13",
    "anteayer": "2023-06-12",
    "hoy": "2023-06-14",
    "mañana": "2023-06-15",
    "esta mañana": "2023-06-14",
    "pasado mañana": "2023-06-16",
    "el lunes pasado": "2023-06-12",
    "la semana pasada": "2023-06-05..2023-06-11",
    "el mes pasado": "2023-05-01..2023-05-31",
    "el año pasado": "2022-01-01..2022-12-31",
    "el fin de semana pasado": "2023-06-10..2023-06-11",
    "hace dos semanas": "2023-05-28..2023-06-03",
    "en mayo": "2023-05-01..2023-05-31",
    "en mayo del año pasado": "2022-05-01..2022-05-31",
    "antes de junio de 2022": f"{OPEN_BEFORE}..2022-05-31",
    # Italian
    "il 3 giugno": "2023-06-03",
    "il 1º maggio": "2023-05-01",
    "ieri": "2023-06-13",
    "l'altro ieri": "2023-06-12",
    "oggi": "2023-06-14",
    "dopodomani": "2023-06-16",
    "lunedì scorso": "2023-06-12",
    "la scorsa settimana": "2023-06-05..2023-06-11",
    "il mese scorso": "2023-05-01..2023-05-31",
    "l'anno scorso": "2022-01-01..2022-12-31",
    "tre giorni fa": "2023-06-11",
    "a maggio": "2023-05-01..2023-05-31",
    "nel 2022": "2022-01-01..2022-12-31",
    # Portuguese
    "em 3 de junho de 2022": "2022-06-03",
    "ontem": "2023-06-13",
    "anteontem": "2023-06-12",
    "hoje": "2023-06-14",
    "amanhã": "2023-06-15",
    "na segunda-feira": "2023-06-12",
    "segunda passada": "2023-06-12",
    "semana passada": "2023-06-05..2023-06-11",
    "mês passado": "2023-05-01..2023-05-31",
    "no ano passado": "2022-01-01..2022-12-31",
    "há 3 dias": "2023-06-11",
    "dois dias atrás": "2023-06-12",
    "em março": "2023-03-01..2023-03-31",
    # Russian
    "3 июня": "2023-06-03",
    "3 июня 2022 года": "2022-06-03",
    "что было вчера?": "2023-06-13",
    "позавчера": "2023-06-12",
    "завтра": "2023-06-15",
    "в прошлый понедельник": "2023-06-12",
    "в пятницу": "2023-06-09",
    "на прошлой неделе": "2023-06-05..2023-06-11",
    "в прошлом месяце": "2023-05-01..2023-05-31",
    "в прошлом году": "2022-01-01..2022-12-31",
    "два дня назад": "2023-06-12",
    "неделю назад": "2023-06-04..2023-06-10",
    "в мае": "2023-05-01..2023-05-31",
    "в 2022 году": "2022-01-01..2022-12-31",
    # Chinese
    "昨天谁打电话了": "2023-06-13",
    "前天": "2023-06-12",
    "今天": "2023-06-14",
    "明天": "2023-06-15",
    "上周五": "2023-06-09",
    "上个星期天": "2023-06-11",
    "星期一": "2023-06-12",
    "上周": "2023-06-05..2023-06-11",
    "上周末": "2023-06-10..2023-06-11",
    "这个月": "2023-06-01..2023-06-30",
    "上个月": "2023-05-01..2023-05-31",
    "去年": "2022-01-01..2022-12-31",
    "去年5月": "2022-05-01..2022-05-31",
    "三天前": "2023-06-11",
    "两个月前": "2023-04-01..2023-04-30",
    "6月3日": "2023-06-03",
    "2022年6月3号": "2022-06-03",
    "二零二二年六月三日": "2022-06-03",
    "十二月": "2022-12-01..2022-12-31",
    "2022年": "2022-01-01..2022-12-31",
    # Japanese
    "昨日は何をした": "2023-06-13",
    "一昨日": "2023-06-12",
    "先月": "2023-05-01..2023-05-31",
    "先週の金曜日": "2023-06-09",
    "月曜日": "2023-06-12",
    "来週": "2023-06-19..2023-06-25",
    "昨年": "2022-01-01..2022-12-31",
    "3日前": "2023-06-11",
    "１２月": "2022-12-01..2022-12-31",
    "２０２２年６月３日": "2022-06-03",
    "6月3日以降": f"2023-06-03..{OPEN_AFTER}",
    "于2023-06-03": "2023-06-03",
    # Korean
    "어제 뭐 먹었지": "2023-06-13",
    "그저께": "2023-06-12",
    "오늘": "2023-06-14",
    "내일": "2023-06-15",
    "지난주 금요일": "2023-06-09",
    "지난주": "2023-06-05..2023-06-11",
    "지난달": "2023-05-01..2023-05-31",
    "작년": "2022-01-01..2022-12-31",
    "작년 5월": "2022-05-01..2022-05-31",
    "3일 전": "2023-06-11",
    "2022년 6월 3일": "2022-06-03",
}

NO_DATES = (
    "",
    "   ",
    "may I go",
    "May I go?",
    "It may rain",
    "this may hurt",
    "room 3 may be free",
    "march on",
    "march 3 miles",
    "in the march",
    "the sun and the second",
    "sat on a chair",
    "What did June say?",
    "June's birthday cake",
    "What did April give to May?",
    "in April's room",
    "every Monday",
    "Black Friday deals",
    "room 2023",
    "2023",
    "in 2000 words",
    "who has the last tag",
    "the last day of school",
    "30 February",
    "February 30, 2023",
    "31.06.2023",
    "2023-13-45",
    "2023-02-29",
    "13/13/2023",
    "version 1.2.23",
    "192.168.10.23",
    "call 555-06-2023",
    "9999 years ago",
    "two and a half weeks ago",
    "3000 weeks",
    "3 people",
    "fall from a tree",
    "summer dress",
    "in summer school",
    "Wo ist hier das Bad?",
    "guten Morgen",
    "la casa di Marco",
    "non lo faccio mai",
    "Mayo und Ketchup",
    "mars und venus",
    "il y a trois personnes",
    "a segunda vez",
    "j'ai été malade",
    "3个月",
    "13月",
    "2月30日",
    "명일",
    "二十四小时",
)


def test_a_date_in_words_or_digits_is_read() -> None:
    # All in one test, since separate ones would take ten times as long.
    expected = {query: [span] for query, span in (ENGLISH | OTHERS).items()}
    read = {query: told(query) for query in expected}
    assert {query: spans for query, spans in read.items() if spans != expected[query]} == {}


def test_other_text_is_not_read_as_a_date() -> None:
    read = {query: told(query) for query in NO_DATES}
    assert {query: spans for query, spans in read.items() if spans} == {}


@table_test(
    ("query", "expected"),
    [
        ("3/6/2023", ["2023-03-06", "2023-06-03"]),
        ("7 May 2023, 8 June 2023", ["2023-05-07", "2023-06-08"]),
        ("yesterday or last Friday", ["2023-06-13", "2023-06-09"]),
        ("am 3. Juni 2022 und am 5. Juli 2022", ["2022-06-03", "2022-07-05"]),
    ],
)
def test_two_dates_or_two_readings_are_two_spans(query: str, expected: list[str]) -> None:
    assert told(query) == expected


@table_test(
    ("query", "today", "expected"),
    [
        ("last May", date(2023, 5, 31), "2022-05-01..2022-05-31"),
        ("in May", date(2023, 5, 1), "2023-05-01..2023-05-31"),
        ("in December", date(2024, 1, 1), "2023-12-01..2023-12-31"),
        ("last month", date(2024, 1, 31), "2023-12-01..2023-12-31"),
        ("last week", date(2024, 1, 1), "2023-12-25..2023-12-31"),
        ("yesterday", date(2024, 3, 1), "2024-02-29"),
        ("last Friday", date(2023, 6, 16), "2023-06-09"),
        ("on Friday", date(2023, 6, 16), "2023-06-09"),
        ("in the last month", date(2024, 3, 31), "2024-02-01..2024-02-29"),
        ("next month", date(2023, 12, 5), "2024-01-01..2024-01-31"),
    ],
)
def test_relative_dates_hold_at_the_edges_of_months_and_years(query: str, today: date, expected: str) -> None:
    assert told(query, today) == [expected]


@table_test(
    ("query", "said"),
    [
        ("What did I do last Friday?", "last Friday"),
        ("what happened since Monday, and why", "since Monday"),
        ("Lunch on June 3rd, 2022?", "June 3rd, 2022"),
        ("ﬁnally １２月 came", "１２月"),
        ("im Ma\u0308rz 2022?", "Ma\u0308rz 2022"),
        ("où étais-tu avant-hier ?", "avant-hier"),
        ("上周五吃了什么", "上周五"),
    ],
)
def test_a_span_has_the_position_of_its_words(query: str, said: str) -> None:
    [span] = read_dates(query, TODAY)
    assert query[span.start : span.end] == said


@pytest.mark.thorough
@pytest.mark.parametrize("today", [date.min, date.max, date(1, 3, 1), date(9999, 12, 1)])
def test_the_ends_of_the_calendar_raise_no_error(today: date) -> None:
    for query in [*ENGLISH, *OTHERS, *NO_DATES]:
        for span in read_dates(query, today):
            assert span.first <= span.last, query


MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

PIECES = st.lists(
    st.sampled_from(sorted({word for query in ENGLISH | OTHERS for word in query.split()}))
    | st.integers(0, 99999).map(str)
    | st.text(max_size=4),
    max_size=12,
).flatmap(lambda words: st.sampled_from([" ", "", "-", " - ", "'"]).map(lambda glue: glue.join(words)))


@given(query=st.text() | PIECES, today=st.dates())
def test_no_text_raises_and_spans_are_in_order(query: str, today: date) -> None:
    spans = read_dates(query, today)
    assert spans == sorted(spans, key=lambda span: (span.start, span.first, span.last, span.end))
    for span in spans:
        assert date.min <= span.first <= span.last <= date.max
        assert 0 <= span.start < span.end <= len(query)
        assert query[span.start : span.end].strip()
    for one in spans:
        for other in spans:
            same_words = (one.start, one.end) == (other.start, other.end)
            assert same_words or one.end <= other.start or other.end <= one.start


@given(day=st.dates(date(1900, 1, 1), date(2099, 12, 31)), before=st.sampled_from(["", "am ", "（", "x "]))
def test_every_day_is_read_in_every_full_form(day: date, before: str) -> None:
    month = MONTHS[day.month - 1]
    for form in (
        f"{day:%Y-%m-%d}",
        f"{day:%d.%m.%Y}",
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ):
        [span] = read_dates(f" {before}{form}", TODAY)
        assert (span.first, span.last) == (day, day)


@given(today=st.dates(date(1950, 1, 1), date(2050, 1, 1)), count=st.integers(1, 900))
def test_days_ago_are_counted_the_same_in_every_language(today: date, count: int) -> None:
    then = today - timedelta(count)
    for query in (
        f"{count} days ago",
        f"vor {count} Tagen",
        f"il y a {count} jours",
        f"hace {count} días",
        f"{count} giorni fa",
        f"há {count} dias",
        f"{count} дней назад",
        f"{count}天前",
        f"{count}日前",
        f"{count}일 전",
    ):
        assert read_dates(query, today) == [DateSpan(then, then, 0, len(query))], query


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert told("yesterday " + "x" * 100_000 + " tomorrow") == ["2023-06-13"]


@table_test(
    ("path", "expected"),
    [
        ("2023-06-03.md", date(2023, 6, 3)),
        ("log/2023/2023-06-03.md", date(2023, 6, 3)),
        ("2023-06-03 Lunch with Anna.md", date(2023, 6, 3)),
        ("2023-06-03.conv-26.md", date(2023, 6, 3)),
        ("2023-06-03-lunch.md", date(2023, 6, 3)),
        ("2999-01-01.md", date(2999, 1, 1)),
        ("2024-02-29.md", date(2024, 2, 29)),
        ("2023-02-29.md", None),
        ("2023-13-45.md", None),
        ("0000-01-01.md", None),
        ("2023-06-031.md", None),
        ("x2023-06-03.md", None),
        ("2023-06.md", None),
        ("2023-06-03/notes.md", None),
        ("MEMORY.md", None),
        ("２０２３-０６-０３.md", None),
        ("", None),
    ],
)
def test_a_note_has_the_day_in_its_file_name(path: str, expected: date | None) -> None:
    assert note_date(path) == expected


@given(path=st.text())
def test_no_path_raises(path: str) -> None:
    note_date(path)


def test_importing_it_needs_only_the_standard_library() -> None:
    code = (
        "import sys; import memory.dates;"
        "print([name for name in ('apsw', 'Stemmer', 'numpy', 'pydantic') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
