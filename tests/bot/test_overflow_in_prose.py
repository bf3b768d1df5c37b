"""Servers that report an overflow in a sentence alone, by real turns of the program: the person gets an answer."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.commonplace import CommonplaceHere
from tests.fakes.gemini_server import GeminiServer
from tests.fakes.model_server import KEY, ModelAnswer, ModelServer, ReceivedRequest, Reply, answers, streams
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.table_test import first_at_once
from tests.fakes.threaded_server import run_in_thread

BYTES_A_TOKEN = 4
"""As these servers count."""
ROOM = 3000
"""Tokens that a conversation may have beside the instructions and the tools."""
ANSWER = "I have heard you."
Refuses = Callable[[int, int], Reply]
"""Of a request's tokens and the window, to how it is refused."""


def _as_json(body: object, *, status: int = 400) -> Reply:
    return answers(json.dumps(body), status=status)


def openai_prose(tokens: int, window: int) -> Reply:
    said = f"This model's maximum context length is {window} tokens. However, you requested {tokens} tokens."
    return _as_json(
        {"error": {"message": said, "type": "invalid_request_error", "param": None, "code": None}}
    )


def llama_prose(tokens: int, window: int) -> Reply:
    del tokens, window
    said = "the request exceeds the available context size. try increasing the context size or enable context shift"
    return _as_json({"error": {"code": 400, "message": said, "type": "invalid_request_error"}})


def together_prose(tokens: int, window: int) -> Reply:
    said = f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {window}. Given: {tokens} `inputs`"
    return _as_json({"error": {"message": said, "type": "invalid_request_error"}}, status=422)


def lm_studio_stream(tokens: int, window: int) -> Reply:
    said = (
        f"Trying to keep the first {tokens} tokens when context the overflows. However, the model is loaded with "
        f"context length of only {window} tokens, which is not enough."
    )
    return streams(b"event: error\ndata: " + json.dumps({"error": {"message": said}}).encode() + b"\n\n")


def anthropic_prose(tokens: int, window: int) -> Reply:
    error = {
        "type": "invalid_request_error",
        "message": f"prompt is too long: {tokens} tokens > {window} maximum",
    }
    return _as_json({"type": "error", "error": error})


def gemini_prose(tokens: int, window: int) -> Reply:
    said = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
    return _as_json({"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}})


def unexplained(tokens: int, window: int) -> Reply:
    del tokens, window
    return _as_json({"error": {"message": "Bad Request"}})


@dataclass
class House:
    """The program with one model, whose server refuses what is longer than its window."""

    commonplace: CommonplaceHere
    server: ModelServer
    model: str
    """`provider/model`."""
    refuses: Refuses
    window: int = 0
    refused: int = 0

    def say(self, text: str) -> str:
        return self.commonplace.output_of("chat", "-m", text)

    def configure(self, more: str) -> None:
        file = self.commonplace.folder / "config.toml"
        file.write_text(file.read_text() + more)

    async def reply(self, request: web.Request, asked: ReceivedRequest) -> web.StreamResponse:
        tokens = len(json.dumps(asked.body, ensure_ascii=False)) // BYTES_A_TOKEN
        self.window = self.window or tokens + ROOM  # of the first request, which is short
        if tokens > self.window:
            self.refused += 1
            return await self.refuses(tokens, self.window)(request, asked)
        if objection := self.server.objection(asked):
            return objection
        return await self.server.stream(request, asked, ModelAnswer(ANSWER))


Opens = Callable[[str, Refuses], House]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    with ExitStack() as stack:

        def opens(kind: str, refuses: Refuses) -> House:
            servers = {"openai": OpenAIServer, "anthropic": AnthropicServer, "gemini": GeminiServer}
            models = {"openai": MODEL, "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}
            server = stack.enter_context(run_in_thread(servers[kind]()))
            (tmp_path / "config.toml").write_text(
                f'[models]\nchain = ["{kind}/{models[kind]}"]\nmax_retries = 0\n'
                "[memory.flush]\ntoken_threshold = 100000\n"
                f'[providers.{kind}]\nkind = "{kind}"\nbase_url = "{server.base_url}"\napi_key = "{KEY}"\n'
            )
            house = House(CommonplaceHere(tmp_path), server, f"{kind}/{models[kind]}", refuses)
            server.always(house.reply)
            assert house.say("Hello") == f"{ANSWER}\n"
            return house

        yield opens


PROSE = [
    pytest.param("openai", openai_prose, id="OpenAI"),
    pytest.param("openai", llama_prose, id="llama.cpp"),
    pytest.param("openai", together_prose, id="Together"),
    pytest.param("openai", lm_studio_stream, id="LM Studio, in the stream"),
    pytest.param("anthropic", anthropic_prose, id="Anthropic"),
    pytest.param("gemini", gemini_prose, id="Gemini"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "refuses"), PROSE)
def test_a_conversation_that_outgrows_the_window_goes_on(opens: Opens, kind: str, refuses: Refuses) -> None:
    house = opens(kind, refuses)
    for number in range(5):
        said = f"This is story {number}. " + f"It is about sheep number {number}. " * 120
        assert house.say(said) == f"{ANSWER}\n"
    assert house.refused >= 1


@pytest.mark.parametrize(("kind", "refuses"), first_at_once(PROSE))
def test_a_first_message_that_is_longer_than_the_window_is_answered(
    opens: Opens, kind: str, refuses: Refuses
) -> None:
    house = opens(kind, refuses)
    house.say("/new")
    assert house.say("What is this about? " + "It is about sheep. " * 2000) == f"{ANSWER}\n"
    assert house.refused >= 1


@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_a_long_request_that_is_refused_without_a_reason_is_tried_once_with_less(
    opens: Opens, kind: str
) -> None:
    house = opens(kind, unexplained)
    house.configure(f'[models.params."{house.model}"]\ncontext_window = {house.window * 3}\n')
    before = len(house.server.requests)
    assert house.say("What is this about? " + "It is about sheep. " * 1300) == f"{ANSWER}\n"
    assert (house.refused, len(house.server.requests) - before) == (1, 2)


def test_a_model_that_refuses_everything_is_asked_twice_at_most(opens: Opens) -> None:
    house = opens("openai", unexplained)
    house.server.always(unexplained(0, 0))
    before = len(house.server.requests)
    line = house.commonplace.error_of("chat", "-m", "What is this about? " + "It is about sheep. " * 1500)
    assert "answered 400 (Bad Request)" in line
    assert len(house.server.requests) - before == 2
    house.commonplace.error_of("chat", "-m", "/retry")


@pytest.mark.thorough
def test_a_room_number_is_nothing(opens: Opens) -> None:
    house = opens("openai", unexplained)
    said = {
        "error": {
            "message": "The context of room 402 is too long for a maximum of tokens.",
            "param": "messages",
        }
    }
    house.server.always(_as_json(said))
    before = len(house.server.requests)
    assert "answered 400" in house.commonplace.error_of("chat", "-m", "Hello again. " + "And again. " * 2000)
    assert len(house.server.requests) - before == 1


def test_what_is_too_long_goes_to_the_model_that_is_named_for_it(opens: Opens) -> None:
    house = opens("openai", openai_prose)
    with run_in_thread(GeminiServer()) as gemini:
        gemini.always(ModelAnswer("I have more room."))
        house.configure(
            '[models.on_error]\ncontext_length = ["gemini/gemini-2.5-flash"]\n'
            + f'[providers.gemini]\nkind = "gemini"\nbase_url = "{gemini.base_url}"\napi_key = "{KEY}"\n'
        )
        assert house.say("What is this about? " + "It is about sheep. " * 2000).startswith(
            "I have more room."
        )
    assert house.refused == 1
