"""Pictures go to models that see, and a line of text to the others."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.messages import Quoted
from bot.models.candidate import ModelCandidate, Route
from bot.models.connection_pool import ConnectionPool
from bot.models.errors import BadRequest, ModelError, ModelNotFound, RateLimited
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.image_fallback import EARLIER_MARK, UNSEEN_MARK, ImageFallback, ImageSupport, has_pictures
from bot.models.openai import open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    AttachedText,
    Image,
    LanguageModel,
    Message,
    ModelRequest,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.user_text import user_text
from tests.fakes.model_server import KEY
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.table_test import table_test

PICTURE = Image("image/png", b"\x89PNG")
SHOWN = UserMessage("What is it?", (PICTURE,))
EARLIER_TURN = (UserMessage("And this?", (PICTURE, PICTURE)), AssistantMessage("Two cats."))
STEP = (AssistantMessage("", (ToolCall("abcdefghi", "look", "{}"),)), ToolResult("abcdefghi", "look", "{}"))


def asked(*messages: Message) -> ModelRequest:
    return ModelRequest("", messages)


async def ask(model: LanguageModel, *messages: Message) -> str:
    answer = None
    async for event in model.stream(asked(*messages)):
        answer = event
    assert isinstance(answer, Answer)
    return answer.message.text


def said(request: ModelRequest) -> list[tuple[str, int]]:
    """What people said, and how many pictures with it."""
    return [(each.text, len(each.images)) for each in request.messages if isinstance(each, UserMessage)]


async def test_who_sees_is_shown_all() -> None:
    model = ScriptedModel()
    model.enqueue("A cat.")
    assert await ask(ImageFallback(model, ImageSupport(True)), *EARLIER_TURN, SHOWN) == "A cat."
    assert said(model.history[0]) == [("And this?", 2), ("What is it?", 1)]


async def test_who_does_not_see_is_told_that_there_is_a_picture() -> None:
    model = ScriptedModel()
    model.enqueue("I cannot see it.")
    await ask(ImageFallback(model, ImageSupport(False)), SHOWN, UserMessage("", (PICTURE,)))
    assert said(model.history[0]) == [(f"What is it?\n{UNSEEN_MARK}", 0), (UNSEEN_MARK, 0)]


async def test_the_line_about_a_picture_stands_below_all_that_came_with_it() -> None:
    model = ScriptedModel()
    model.enqueue("I cannot see it.")
    documents = (AttachedText("document 3: a.txt", "b", "aaaaaaaaaaaa", 3),)
    shown = UserMessage("Well?", (PICTURE,), "Ann", quoted=Quoted("Here."), documents=documents)
    await ask(ImageFallback(model, ImageSupport(False)), shown)
    assert said(model.history[0]) == [(f"{user_text(shown)}\n{UNSEEN_MARK}", 0)]


@table_test("error", [BadRequest("no images"), ModelNotFound("No endpoints that support images")])
async def test_who_refuses_a_picture_is_asked_once_more_and_never_shown_one_again(error: ModelError) -> None:
    model, sight = ScriptedModel(), ImageSupport()
    model.enqueue(error=error)
    model.enqueue("I cannot see it.")
    model.enqueue("Still not.")
    seeing = ImageFallback(model, sight)
    assert await ask(seeing, SHOWN) == "I cannot see it."
    assert sight.sees is False
    assert await ask(ImageFallback(model, sight), SHOWN) == "Still not."  # with another key
    assert [said(request)[0][1] for request in model.history] == [1, 0, 0]


async def test_who_takes_only_a_few_pictures_is_shown_those_of_the_turn() -> None:
    model, sight = ScriptedModel(), ImageSupport()
    model.enqueue(error=BadRequest("5 pictures at most"))
    model.enqueue("A cat.")
    assert await ask(ImageFallback(model, sight), *EARLIER_TURN, SHOWN, *STEP) == "A cat."
    assert said(model.history[1]) == [(f"And this?\n{EARLIER_MARK}\n{EARLIER_MARK}", 0), ("What is it?", 1)]
    assert sight.sees is None


async def test_an_earlier_picture_does_not_spoil_the_rest_of_a_conversation() -> None:
    model = ScriptedModel()
    model.enqueue(error=BadRequest("no images"))
    model.enqueue("Hello.")
    assert await ask(ImageFallback(model, ImageSupport()), *EARLIER_TURN, UserMessage("Hi")) == "Hello."
    assert said(model.history[1])[0] == (f"And this?\n{UNSEEN_MARK}\n{UNSEEN_MARK}", 0)


async def test_a_refusal_that_has_another_reason_teaches_nothing() -> None:
    model, sight = ScriptedModel(), ImageSupport()
    model.enqueue(error=BadRequest("odd"))
    model.enqueue(error=BadRequest("odd without it too"))
    with pytest.raises(BadRequest, match="without it too"):
        await ask(ImageFallback(model, sight), SHOWN)
    assert sight.sees is None


async def test_who_is_known_to_see_is_not_taken_for_blind() -> None:
    model, sight = ScriptedModel(), ImageSupport(True)
    model.enqueue(error=BadRequest("this picture is broken"))
    model.enqueue("I cannot see it.")
    assert await ask(ImageFallback(model, sight), SHOWN) == "I cannot see it."
    assert sight.sees is True


@table_test(
    ("error", "text", "messages"),
    [
        (RateLimited("429"), "", (SHOWN,)),
        (BadRequest("400"), "", (UserMessage("Hi"),)),
        (BadRequest("400"), "It is", (SHOWN,)),
    ],
)
async def test_all_other_failures_are_left_to_the_chain(
    error: ModelError, text: str, messages: tuple[Message, ...]
) -> None:
    model = ScriptedModel()
    model.enqueue(text, error=error)
    with pytest.raises(type(error)):
        await ask(ImageFallback(model, ImageSupport()), *messages)
    assert len(model.history) == 1


def test_what_is_to_be_looked_at_is_what_was_said_last() -> None:
    assert has_pictures((*EARLIER_TURN, SHOWN))
    assert has_pictures((SHOWN, UserMessage("Well?")))
    assert has_pictures((SHOWN, *STEP))
    assert not has_pictures((*EARLIER_TURN, UserMessage("Hi")))
    assert not has_pictures(())


# -- in a chain -----------------------------------------------------------------------------------------------------


def chain(**sees: bool | None) -> tuple[FallbackModel, dict[str, ScriptedModel]]:
    models = {name: ScriptedModel(name=f"{name}/x") for name in sees}
    candidates = []
    for name, model in models.items():
        sight = ImageSupport(sees[name])
        model.enqueue(f"{name} answers.")
        route = Route(ImageFallback(model, sight), RouteName(model.name))
        candidates.append(ModelCandidate(model.name, (route,), last_resort=name == "notebook", sight=sight))
    return FallbackModel(Routing(tuple(candidates), retry=RetryPolicy(0, 0))), models


async def test_a_picture_goes_to_the_first_that_may_see_it() -> None:
    model, _ = chain(blind=False, unknown=None, seeing=True, notebook=None)
    assert await ask(model, SHOWN) == "unknown answers."


async def test_words_go_to_the_first_whatever_was_shown_earlier() -> None:
    model, models = chain(blind=False, seeing=True)
    assert await ask(model, *EARLIER_TURN, UserMessage("Hi")) == "blind answers."
    assert UNSEEN_MARK in said(models["blind"].history[0])[0][0]


async def test_who_does_not_see_answers_where_nobody_else_can_and_before_the_last_resort() -> None:
    model, models = chain(blind=False, seeing=True, notebook=None)
    models["seeing"]._steps.clear()
    models["seeing"].enqueue(error=RateLimited("429"))
    assert await ask(model, SHOWN) == "blind answers."


async def test_who_was_chosen_by_hand_answers_even_blind() -> None:
    model, _ = chain(seeing=True, blind=False)
    events = [event async for event in model.stream(replace(asked(SHOWN), prefer="blind/x"))]
    assert isinstance(events[-1], Answer)
    assert events[-1].message.text == "blind answers."


# -- over a socket --------------------------------------------------------------------------------------------------


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


async def test_a_server_without_eyes_answers_over_http(server: OpenAIServer) -> None:
    server.enqueue(server.fails(400, "unknown variant `image_url`, expected `text`"))
    connection = ConnectionPool(server.base_url, connect_seconds=5)
    model = open_openai(ModelOptions(f"mine/{MODEL}", base_url=server.base_url, key=KEY), connection)
    assert await ask(ImageFallback(model, ImageSupport()), SHOWN) == "Hello."
    await connection.close()
    first, second = (request.body["messages"][0]["content"] for request in server.requests)
    assert first[1]["type"] == "image_url"
    assert second == f"What is it?\n{UNSEEN_MARK}"
