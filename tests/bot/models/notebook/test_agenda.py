"""Questions about what is on a day, and the lines that tell of that day."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from bot.models.notebook.agenda import DayLine, lines_about_day, read_day_question
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.phrases import language_of
from tests.fakes.table_test import table_test

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Monday."""


@table_test(
    ("text", "day", "words"),
    [
        ("What is on today?", 23, "today"),
        ("what's on tomorrow?", 24, "tomorrow"),
        ("What's on on Friday?", 27, "Friday"),
        ("Do I have anything on 27 November?", 27, "27 November"),
        ("Was steht morgen an?", 24, "morgen"),
        ("Was habe ich am Freitag vor?", 27, "Freitag"),
        ("Was steht am Freitag an?", 27, "Freitag"),
        ("Qu'est-ce que j'ai demain ?", 24, "demain"),
        ("¿Qué tengo mañana?", 24, "mañana"),
        ("O que tenho para amanhã?", 24, "amanhã"),
        ("Cosa ho in programma per domani?", 24, "domani"),
        ("Что у меня завтра?", 24, "завтра"),
        ("明天有什么安排？", 24, "明天"),
        ("今天有什么事？", 23, "今天"),
        ("明日の予定は？", 24, "明日"),
        ("내일 일정이 뭐야?", 24, "내일"),
        ("พรุ่งนี้มีอะไรบ้าง", 24, "พรุ่งนี้"),
        ("कल क्या करना है?", 24, "कल"),
        ("ماذا لدي غدا؟", 24, "غدا"),
    ],
)
def test_a_question_about_a_day(text: str, day: int, words: str) -> None:
    asked = read_day_question(text, NOW, language_of(text))
    assert asked
    assert (asked.day, asked.words) == (date(2026, 11, day), words)


def test_there_is_one_in_every_language() -> None:
    for language in LANGUAGES:
        for words, day in ((language.today_words, 23), (language.tomorrow_words, 24)):
            asked = read_day_question(language.on_day[0].replace("…", words[0]), NOW, language)
            assert asked
            assert asked.day.day == day


@table_test(
    "text",
    [
        "What's on the table?",
        "What happened today?",
        "What is on?",
        "What's on every Monday?",
        "What was on yesterday?",
        "Was ist heute passiert?",
        "What's on tomorrow?\nAnd where is Tom?",
    ],
)
def test_what_asks_something_else(text: str) -> None:
    assert read_day_question(text, NOW, language_of(text)) is None


def test_the_lines_of_a_day() -> None:
    today, earlier = date(2026, 11, 23), date(2026, 11, 20)
    texts = {
        "Lunch with Eva tomorrow": today,
        "The party is on November 24": earlier,
        "Dentist on 2026-11-24 at 9": None,
        "The plumber comes on Tuesday": earlier,
        "Lunch with Tom tomorrow": earlier,
        "I bought 24 eggs": today,
        "Remind me to buy milk.": today,
        "We met on 24 November 2025": today,
    }
    lines = [DayLine(text, f"a.md:{number}", told) for number, (text, told) in enumerate(texts.items())]
    asked = read_day_question("What's on tomorrow?", NOW, LANGUAGES[0])
    assert asked
    assert [each.text for each in lines_about_day(lines, asked, today)] == list(texts)[:4]
    asked = read_day_question("What is on today?", NOW, LANGUAGES[0])
    assert asked
    assert lines_about_day(lines, asked, today) == [], "what was noted today is not about today for that"


@table_test(
    ("text", "told"),
    [
        ("The plumber comes today", 23),
        ("Dinner with Eva tonight", 23),
        ("The meeting with Tom is at 3 pm", 23),
        ("Der Klempner kommt heute", 23),
        ("Treffen mit Tom um 15 Uhr", 23),
        ("今天下午开会", 23),
        ("Hoy viene el fontanero", 23),
        ("Le plombier vient aujourd'hui", 23),
        ("Lunch with Eva tomorrow", 22),
        ("The dentist is on Monday at 9", 20),
        ("The party is on November 23", 1),
    ],
)
def test_what_is_about_today(text: str, told: int) -> None:
    today = NOW.date()
    asked = read_day_question("What's on today?", NOW, LANGUAGES[0])
    assert asked
    line = DayLine(text, "a.md:1", date(2026, 11, told))
    assert lines_about_day([line], asked, today) == [line]


@table_test(
    "text",
    [
        "We have a cat",
        "I am allergic to peanuts",
        "Anna lives in Oslo",
        "The key is under the mat",
        "我住在北京",
    ],
)
def test_what_was_merely_noted_today_is_not_about_today(text: str) -> None:
    asked = read_day_question("What's on today?", NOW, LANGUAGES[0])
    assert asked
    assert lines_about_day([DayLine(text, "a.md:1", NOW.date())], asked, NOW.date()) == []
