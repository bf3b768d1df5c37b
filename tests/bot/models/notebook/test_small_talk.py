"""What people say that is neither a note nor a question to the notes gets a short, natural answer."""

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.model import Notebook
from bot.models.protocol import Answer, ModelRequest, UserMessage
from tests.bot.models.notebook.test_model import ALL, TOLD, step
from tests.fakes.table_test import table_test

LATE = datetime(2026, 11, 23, 23, 30, tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo("Asia/Tokyo"))
"""Tuesday morning in Tokyo."""


async def at_that_time(text: str) -> str:
    model = Notebook(now=lambda: LATE)
    *_, answer = [each async for each in model.stream(ModelRequest("", (TOLD, UserMessage(text)), ALL))]
    assert isinstance(answer, Answer)
    assert not answer.message.calls
    return answer.message.text


@table_test(
    ("said", "answer"),
    [
        ("good night", "Good night!"),
        ("Thanks, good night!", "Good night!"),
        ("ok, bye!", "See you!"),
        ("thanks!", "You're welcome."),
        ("gute Nacht", "Gute Nacht!"),
        ("Tschüss!", "Bis bald!"),
        ("bonne nuit !", "Bonne nuit !"),
        ("¡Buenas noches!", "¡Buenas noches!"),
        ("晚安", "晚安！"),
        ("おやすみ", "おやすみなさい。"),
        ("what time is it?", "It's 08:30 (Asia/Tokyo)."),
        ("Can you tell me what time it is?", "It's 08:30 (Asia/Tokyo)."),
        ("What day is it?", "Today is Tuesday, 24 November 2026."),
        ("what's the date today", "Today is Tuesday, 24 November 2026."),
        ("Wie spät ist es?", "Es ist 08:30 Uhr (Asia/Tokyo)."),
        ("Welcher Tag ist heute?", "Heute ist Dienstag, der 24.11.2026."),
        ("Quelle heure est-il ?", "Il est 08:30 (Asia/Tokyo)."),
        ("¿Qué día es hoy?", "Hoy es martes, 24/11/2026."),
        ("现在几点？", "现在是 08:30（Asia/Tokyo）。"),
        ("今天星期几？", "今天是 2026-11-24 星期二。"),
    ],
)
async def test_small_talk_and_the_time(said: str, answer: str) -> None:
    assert await at_that_time(said) == answer


@table_test("language", LANGUAGES)
@table_test("kind", ["clock", "day", "good_night", "goodbye"])
async def test_each_language_has_it(language: Language, kind: str) -> None:
    beginning = getattr(language.say, kind).partition("{")[0]
    for phrase in getattr(language, kind):
        message = await step(TOLD, phrase)
        assert not message.calls
        assert message.text.startswith(beginning)


@table_test("said", ["Good night shift pay is 30 euros.", "The day is Friday.", "What time is the meeting?"])
async def test_what_only_begins_like_it_is_noted_or_searched(said: str) -> None:
    assert (await step(TOLD, said)).calls
