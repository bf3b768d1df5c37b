"""Where several talk, the name before what is said is no part of it."""

import pytest

from bot.models.notebook.model import Notebook
from bot.models.protocol import Answer, ModelRequest, ToolSpec, UserMessage


async def answer(text: str, *, speaker: str) -> Answer:
    tool = ToolSpec("memory_write", "", {})
    request = ModelRequest("", (UserMessage(f"{speaker}: {text}", speaker=speaker),), (tool,))
    return [each async for each in Notebook().stream(request) if isinstance(each, Answer)][-1]


@pytest.mark.parametrize("text", ["hey", "thanks", "write a poem"])
async def test_small_talk_of_somebody_is_not_noted(text: str) -> None:
    assert not (await answer(text, speaker="Cy")).message.calls


async def test_what_somebody_wants_noted_is_noted_without_name_and_verb() -> None:
    (call,) = (await answer("Remember that the roses are cut in March", speaker="Cy")).message.calls
    assert "The roses are cut in March" in call.arguments
    assert "Cy" not in call.arguments
