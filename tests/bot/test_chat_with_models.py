"""The program from its command line, with real clients and servers that behave like the providers'."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.gemini_server import GeminiServer
from tests.fakes.model_server import KEY, ModelAnswer, drops, proxy_error
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.threaded_server import run_in_thread

CLAUDE, GEMINI = "claude-sonnet-4-5", "gemini-2.5-flash"
NOTES = ModelAnswer(
    calls=[("memory_write", {"content": "Anna's passport is in the blue folder.", "target": "daily"})]
)


class House:
    """The program, and three providers in its settings."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.commonplace: Commonplace = CommonplaceHere(folder)
        self.openai = stack.enter_context(run_in_thread(OpenAIServer()))
        self.anthropic = stack.enter_context(run_in_thread(AnthropicServer()))
        self.gemini = stack.enter_context(run_in_thread(GeminiServer()))
        self.configure(f'"openai/{MODEL}", "anthropic/{CLAUDE}", "gemini/{GEMINI}"')

    def configure(self, chain: str, more: str = "") -> None:
        (self.commonplace.folder / "config.toml").write_text(
            f"[models]\nchain = [{chain}]\nretry_delay = 0.01\nmax_retries = 1\ntimeout = 2.0\n{more}\n"
            f'[providers.openai]\nbase_url = "{self.openai.base_url}"\napi_key = "{KEY}"\n'
            f'[providers.anthropic]\nbase_url = "{self.anthropic.base_url}"\napi_key = "{KEY}"\n'
            f'[providers.gemini]\nbase_url = "{self.gemini.base_url}"\napi_key = "{KEY}"\n'
        )

    def say(self, text: str) -> str:
        return self.commonplace.output_of("chat", "-m", text)

    def note(self) -> str:
        (file,) = (self.commonplace.folder / "workspace/memory").glob("2*.md")
        return file.read_text("utf-8")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(tmp_path, stack)


def test_a_tool_runs_and_the_model_hears_of_it(house: House) -> None:
    house.openai.enqueue(NOTES, ModelAnswer("I noted it."))
    assert house.say("Remember where Anna's passport is: in the blue folder.") == "I noted it.\n"
    assert house.note().count("Anna's passport is in the blue folder.") == 1
    result = house.openai.requests[1].body["messages"][-1]
    assert json.loads(result["content"])["path"] in str(house.openai.requests[1].body)
    assert house.anthropic.requests == []


def test_a_reply_in_a_pipe_is_the_markdown_that_the_model_wrote(house: House) -> None:
    wrote = (
        "# *Why*\n\n- `a_b` costs 2*3 \\$5, [see](https://example.org)\n\n| a | b |\n|---|---|\n| <b> | \\* |"
    )
    house.openai.enqueue(ModelAnswer(wrote + "\x1b[31m\n\n"))
    assert house.say("Why?") == f"{wrote}\n"


def test_what_is_quoted_from_a_note_in_a_pipe_reads_as_in_the_note(house: House) -> None:
    house.configure('"builtin/notebook"')
    said = "the key_of_the_boat is *important*, costs 3 * 4 or **12** (or $13), and hangs in `hall_1` [x]"
    house.say(f"Remember that {said}")
    assert said in house.say("What is with the key_of_the_boat?")


def test_a_turn_that_changes_models_in_the_middle_does_nothing_twice(house: House) -> None:
    """The first writes a note and is gone; the second goes on with what the first has begun."""
    house.openai.enqueue(NOTES)
    house.openai.always(proxy_error(503))
    house.anthropic.enqueue(ModelAnswer("It is noted."))
    assert house.say("Remember where Anna's passport is.") == "It is noted.\n"
    assert house.note().count("blue folder") == 1
    assert len(house.openai.requests) == 3
    assert '"tool_use"' in json.dumps(house.anthropic.requests[0].body)


def test_a_conversation_goes_on_with_whichever_provider_answers(house: House) -> None:
    """Each replays its own thoughts and rebuilds the others' steps; the fakes refuse a history that is not valid."""
    servers = [house.openai, house.anthropic, house.gemini]
    names = [f"openai/{MODEL}", f"anthropic/{CLAUDE}", f"gemini/{GEMINI}"]
    for number in range(6):
        house.say(f"/model {names[number % 3]}")
        servers[number % 3].enqueue(
            ModelAnswer(calls=[("memory_search", {"query": "passport"})], thought="Hm."),
            ModelAnswer(f"Answer {number}."),
        )
        assert house.say(f"Question {number}?") == f"Answer {number}.\n"
    for server in servers:
        assert all(f"Answer {number}." in str(server.requests[-1].body) for number in range(3))


def test_with_all_providers_gone_the_notebook_still_finds_things_and_says_who_it_is(house: House) -> None:
    house.commonplace.output_of("memory", "write", "Anna's passport is in the blue folder.")
    for server in (house.openai, house.anthropic):
        server.always(drops())
    house.configure(f'"openai/{MODEL}", "anthropic/{CLAUDE}", "builtin/notebook"')
    said = house.say("Where is Anna's passport?")
    assert "blue folder" in said
    assert (
        f"*(openai/{MODEL} could not be reached; anthropic/{CLAUDE} could not be reached, so the built-in notebook "
        "answered. `commonplace doctor` shows what to fix.)*" in said
    )


def test_when_nobody_answers_one_line_lists_every_try_and_no_secret(house: House) -> None:
    house.openai.always(house.openai.fails(401, f"Incorrect API key: {KEY}", code="invalid_api_key"))
    house.anthropic.always(house.anthropic.fails(529, "Overloaded", code="overloaded_error"))
    house.gemini.always(drops())
    line = house.commonplace.error_of("chat", "-m", "Hi")
    assert re.search(
        rf"no model answered: openai/{MODEL}: answered 401.*; anthropic/{CLAUDE}: answered 529 \(Overloaded\) "
        rf"\(2 times\); gemini/{GEMINI}: cannot be reached at 127.0.0.1:\d+: .*\(2 times\)",
        line,
    )
    assert KEY not in line


def test_with_every_key_refused_the_status_names_the_failure_and_the_remedy(house: House) -> None:
    assert f"Model: openai/{MODEL}\n" in house.say("/status")
    for server in (house.openai, house.anthropic, house.gemini):
        server.key = "another-key"
    house.configure(f'"openai/{MODEL}", "anthropic/{CLAUDE}", "gemini/{GEMINI}", "builtin/notebook"')
    house.say("Hi")
    status = house.say("/status")
    assert status.startswith(f"No model is answering: openai/{MODEL}: API key missing or rejected; ")
    assert f"anthropic/{CLAUDE}: API key" in status
    assert f"gemini/{GEMINI}: API key" in status
    assert "Run `commonplace doctor` to see what to fix.\n" in status
    assert "Model:" not in status
    house.gemini.key = KEY
    house.say("Hi")
    assert house.say("/status").startswith(f"Model: openai/{MODEL}\n")


def test_a_breaker_is_open_also_for_the_next_process(house: House) -> None:
    house.openai.always(proxy_error())
    house.anthropic.always(ModelAnswer("From Claude."))
    for _ in range(2):
        assert house.say("Hi") == "From Claude.\n"
    assert len(house.openai.requests) == 4
    house.say("Hi")
    assert len(house.openai.requests) == 4
    assert "paused until" in house.say("/models")
    house.say("/models reset")
    house.openai.always(ModelAnswer("From GPT."))
    assert house.say("Hi") == "From GPT.\n"


@pytest.mark.thorough
def test_a_hang_costs_the_first_token_limit_once(house: House) -> None:
    from tests.fakes.model_server import hangs

    house.configure(f'"openai/{MODEL}", "anthropic/{CLAUDE}"', "first_token_timeout = 0.2")
    house.openai.always(hangs())
    house.anthropic.always(ModelAnswer("From Claude."))
    assert house.say("Hi") == "From Claude.\n"
    assert house.say("Hi") == "From Claude.\n"
    assert len(house.openai.requests) == 1


def test_params_go_to_the_model_that_they_are_for(house: House) -> None:
    house.configure(
        f'"openai/{MODEL}"', f'[models.params."openai/{MODEL}"]\ntemperature = 0.5\nmax_tokens = 99'
    )
    house.say("Hi")
    body = house.openai.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.5, 99)


def test_the_owners_instructions_are_in_the_prompt(house: House) -> None:
    house.configure(f'"openai/{MODEL}"', '[agent]\ninstructions = "Answer like a pirate."')
    house.say("Hi")
    assert "Answer like a pirate." in house.openai.requests[0].body["messages"][0]["content"]
