"""Where several talk, the name before what is said is no part of it."""

from collections.abc import Sequence

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.model import Notebook
from bot.models.protocol import Answer, ModelRequest, ToolSpec, UserMessage
from tests.fakes.table_test import table_test


async def answer(text: str, *, speaker: str, tools: Sequence[str] = ("memory_write",)) -> Answer:
    offered = tuple(ToolSpec(each, "", {}) for each in tools)
    request = ModelRequest("", (UserMessage(text, speaker=speaker),), offered)
    return [each async for each in Notebook().stream(request) if isinstance(each, Answer)][-1]


@table_test("text", ["hey", "thanks", "write a poem"])
async def test_small_talk_of_somebody_is_not_noted(text: str) -> None:
    assert not (await answer(text, speaker="Cy")).message.calls


async def test_what_somebody_wants_noted_is_noted_without_name_and_verb() -> None:
    (call,) = (await answer("Remember that the roses are cut in March", speaker="Cy")).message.calls
    assert "The roses are cut in March" in call.arguments
    assert "Cy" not in call.arguments


@table_test(
    "text", ["Where is the key?", "Remember that the key is at Tom's", "Where is it? I live in Oslo."]
)
async def test_where_the_memory_is_off_it_tells_how_it_is_opened(text: str) -> None:
    closed = ENGLISH.say.closed
    assert (await answer(text, speaker="Cy", tools=())).message.text.count(closed) == 1
    assert closed not in (await answer(text, speaker="", tools=())).message.text
    assert closed not in (await answer("thanks", speaker="Cy", tools=())).message.text


@table_test("language", LANGUAGES)
def test_every_language_names_the_command_that_opens_it(language: Language) -> None:
    assert "`/memory on`" in language.say.closed
