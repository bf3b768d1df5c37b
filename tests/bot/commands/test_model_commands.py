"""/model, /models, /usage, /retry: as a person uses them in a chat with two models and a notebook."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from bot.assistant import Assistant
from bot.buttons import fits_on_button
from bot.commands.models import choosing_command, match_models
from bot.config.settings import AccessSettings
from bot.messages import Choice
from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate, Route
from bot.models.errors import BadKey, CutOff, Overloaded, RateLimited, ServerFailed
from bot.models.fallback import FallbackModel
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import AssistantMessage
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.status import failing_models
from bot.state.database import State
from memory.memory import Memory
from tests.fakes.harness import open_harness
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.stored_conversation import entries, open_conversation
from tests.fakes.table_test import table_test
from tests.fakes.turns import message

NAMES = ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "builtin/notebook")
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass(slots=True)
class Chat:
    assistant: Assistant
    models: Mapping[str, ScriptedModel]
    memory: Memory
    state: State
    offered: tuple[Choice, ...] = ()
    """With the latest reply."""

    async def say(self, text: str, *, person: str = "terminal:owner", chat: str = "terminal:main") -> str:
        parts = [part async for part in self.assistant.answer(message(text, sender=person, chat=chat))]
        assert parts[-1].final
        self.offered = parts[-1].choices
        return parts[-1].text


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    models = {name: ScriptedModel(name=name) for name in NAMES}
    candidates = tuple(
        ModelCandidate(name, (Route(model, RouteName(name)),), last_resort=name.startswith("builtin/"))
        for name, model in models.items()
    )

    def chain(state: State) -> FallbackModel:
        health = Breakers(state, now=NOW.timestamp)
        return FallbackModel(Routing(candidates, retry=RetryPolicy(0, 0)), health=health)

    access = AccessSettings(allow=("telegram:1",))
    async with open_harness(tmp_path, chain_of=chain, access=access, now=lambda: NOW) as house:
        yield Chat(house.assistant, models, house.memory, house.state)
        await house.chain.health.write()


# -- /model ---------------------------------------------------------------------------------------------------


async def test_a_model_is_chosen_for_one_chat_and_stays_chosen(chat: Chat) -> None:
    assert await chat.say("/model claude") == (
        "This chat now uses anthropic/claude-sonnet-4-5. `/model auto` switches back."
    )
    chat.models["anthropic/claude-sonnet-4-5"].enqueue("From Claude.")
    chat.models["openai/gpt-4.1"].enqueue("From GPT.")
    assert await chat.say("Hi") == "From Claude."
    assert await chat.say("Hi", chat="terminal:other") == "From GPT."
    assert "anthropic/claude-sonnet-4-5, chosen for this chat" in await chat.say("/status")
    assert "chosen for this chat. `/model auto` switches back" in await chat.say("/model")


async def test_auto_ends_the_choice(chat: Chat) -> None:
    await chat.say("/model claude")
    assert "openai/gpt-4.1 answers first" in await chat.say("/model AUTO")
    chat.models["openai/gpt-4.1"].enqueue("From GPT.")
    assert await chat.say("Hi") == "From GPT."


async def test_a_chosen_model_that_fails_is_replaced_and_that_is_said(chat: Chat) -> None:
    await chat.say("/model claude")
    chat.models["anthropic/claude-sonnet-4-5"].enqueue(error=Overloaded("529 at secret-host"))
    chat.models["openai/gpt-4.1"].enqueue("From GPT.")
    assert await chat.say("Hi") == (
        "From GPT.\n\n*(anthropic/claude-sonnet-4-5 is overloaded, so openai/gpt-4.1 answered.)*"
    )


async def test_the_usual_model_that_fails_is_replaced_without_a_word(chat: Chat) -> None:
    chat.models["openai/gpt-4.1"].enqueue(error=Overloaded("529"))
    chat.models["anthropic/claude-sonnet-4-5"].enqueue("From Claude.")
    assert await chat.say("Hi") == "From Claude."


async def test_what_is_no_language_model_does_not_pass_for_one(chat: Chat) -> None:
    for name in NAMES[:2]:
        chat.models[name].enqueue(error=ServerFailed("500"))
    chat.models["builtin/notebook"].enqueue("I found nothing.")
    reply = await chat.say("Hi")
    assert reply == (
        "I found nothing.\n\n*(openai/gpt-4.1 had a server error; anthropic/claude-sonnet-4-5 had a server error, so "
        "the built-in notebook answered. `/retry` asks again.)*"
    )


async def test_text_that_was_replaced_on_the_screen_is_explained_and_not_kept(chat: Chat) -> None:
    chat.models["openai/gpt-4.1"].enqueue("Half of an", error=CutOff("cut"))
    chat.models["anthropic/claude-sonnet-4-5"].enqueue("The whole answer.")
    reply = await chat.say("Hi")
    assert reply == (
        "The whole answer.\n\n*(openai/gpt-4.1 stopped in the middle of its answer, so "
        "anthropic/claude-sonnet-4-5 answered.)*"
    )
    chat.models["openai/gpt-4.1"].enqueue("Yes.")
    await chat.say("And?")
    step = chat.models["openai/gpt-4.1"].history[-1].messages[1]
    assert step == AssistantMessage("The whole answer.", (), "anthropic/claude-sonnet-4-5")


async def test_a_name_that_is_not_there_is_told_with_the_nearest(chat: Chat) -> None:
    reply = await chat.say("/model gtp-4.1")
    assert "Did you mean openai/gpt-4.1?" in reply
    assert "- anthropic/claude-sonnet-4-5" in reply


async def test_choosing_a_model_lets_it_try_again_at_once(chat: Chat) -> None:
    for _ in range(2):
        chat.models["openai/gpt-4.1"].enqueue(error=ServerFailed("500"))
        chat.models["anthropic/claude-sonnet-4-5"].enqueue("From Claude.")
        await chat.say("Hi")
    chat.models["openai/gpt-4.1"].enqueue("From GPT.")
    await chat.say("/model gpt")
    assert await chat.say("Hi") == "From GPT."


@table_test(
    ("wanted", "meant"),
    [
        ("openai/gpt-4.1", ["openai/gpt-4.1"]),
        ("GPT-4.1", ["openai/gpt-4.1"]),
        ("mini", ["openai/gpt-4.1-mini"]),
        ("openai", ["openai/gpt-4.1", "openai/gpt-4.1-mini"]),
        ("claude", []),
    ],
)
def test_a_name_may_be_short(wanted: str, meant: list[str]) -> None:
    assert match_models(wanted, ["openai/gpt-4.1", "openai/gpt-4.1-mini", "builtin/notebook"]) == meant


def test_of_two_of_one_name_the_makers_own_is_meant() -> None:
    names = ["azure/gpt-4.1", "openai/gpt-4.1", "groq/llama3", "ollama/llama3"]
    assert match_models("gpt-4.1", names) == ["openai/gpt-4.1"]
    assert match_models("llama3", names) == ["groq/llama3", "ollama/llama3"]


async def test_a_well_known_model_that_is_not_set_is_told_with_what_to_write(chat: Chat) -> None:
    reply = await chat.say("/model gemini-2.5-pro")
    assert reply.endswith('To use it, add "gemini/gemini-2.5-pro" to `chain` under `[models]`.')
    assert "add" not in await chat.say("/model xyzzy")


async def test_a_name_that_fits_several_lists_them(chat: Chat) -> None:
    reply = await chat.say("/model 4")
    assert reply == (
        "4 matches several models. Please give more of the name:\n- openai/gpt-4.1\n- anthropic/claude-sonnet-4-5"
    )


async def test_each_model_can_be_chosen_by_a_button_and_the_chosen_one_is_marked(chat: Chat) -> None:
    await chat.say("/model")
    assert [each.label for each in chat.offered] == [*NAMES, "✓ Usual order"]
    await chat.say(chat.offered[1].says)
    assert not chat.offered
    assert "chosen for this chat" in await chat.say("/model")
    assert chat.offered == (
        Choice("openai/gpt-4.1", "/model openai/gpt-4.1"),
        Choice("✓ anthropic/claude-sonnet-4-5", "/model anthropic/claude-sonnet-4-5"),
        Choice("builtin/notebook", "/model builtin/notebook"),
        Choice("Usual order", "/model auto"),
    )
    await chat.say(chat.offered[-1].says)
    assert "the others if it fails" in await chat.say("/model")


async def test_a_single_model_is_named_and_nothing_is_offered(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        assert await house.say("/model") == "Model: scripted/model. It's the only one here."
        assert house.terminal.shown[-1][1][-1].choices == ()


@pytest.mark.parametrize(
    ("line", "offered"), [("/model 4", NAMES[:2]), ("/model gtp-4.1", NAMES[:1]), ("/model xyzzy", NAMES)]
)
async def test_a_name_that_does_not_settle_it_brings_those_that_may_be_meant(
    chat: Chat, line: str, offered: tuple[str, ...]
) -> None:
    await chat.say(line)
    assert [each.says for each in chat.offered] == [f"/model {name}" for name in offered]


LONG = "local//models/" + "x" * 60


@table_test(
    ("name", "others", "line"),
    [
        ("openai/gpt-4.1", ["openai/gpt-4.1-mini"], "/model openai/gpt-4.1"),
        (f"{LONG}-q4.gguf", [f"{LONG}-q8.gguf"], f"/model {'x' * 49}-q4.gguf"),
        (f"small-{LONG}", [f"large-{LONG}"], f"/model {f'small-{LONG}'[:57]}"),
        (f"a{LONG}-1-{LONG}", [f"a{LONG}-2-{LONG}"], None),
        ("größer/" + "ü" * 40, [], "/model " + "ü" * 28),
    ],
)
def test_a_long_name_is_told_by_a_part_that_means_it_alone(
    name: str, others: list[str], line: str | None
) -> None:
    found = choosing_command(name, [*others, name])
    assert found == line
    assert line is None or (fits_on_button(line) and match_models(line[7:], [*others, name]) == [name])


async def test_a_choice_that_is_no_longer_configured_is_no_choice(chat: Chat) -> None:
    await chat.state.choose_model("terminal:main", "gone/model")
    assert (await chat.say("/status")).startswith("Model: openai/gpt-4.1\n")
    chat.models["openai/gpt-4.1"].enqueue("From GPT.")
    assert await chat.say("Hi") == "From GPT."


async def test_the_status_says_so_only_while_every_language_model_fails(chat: Chat) -> None:
    gpt, claude = (chat.models[name] for name in NAMES[:2])
    gpt.enqueue(error=BadKey("answered 401"))
    claude.enqueue("From Claude.")
    await chat.say("Hi")
    assert (await chat.say("/status")).startswith("Model: openai/gpt-4.1\n")
    gpt.enqueue(error=BadKey("answered 401"))
    claude.enqueue(error=ServerFailed("answered 500"))
    chat.models["builtin/notebook"].enqueue("From the notebook.")
    await chat.say("Hi")
    for person, remedy in (
        ("terminal:owner", "Run `commonplace doctor` to see what to fix."),
        ("telegram:1", "An owner can find out more with `commonplace doctor`."),
    ):
        (line, *_) = (await chat.say("/status", person=person, chat="telegram:1")).splitlines()
        assert line == (
            "No model is answering: openai/gpt-4.1: API key missing or rejected; "
            f"anthropic/claude-sonnet-4-5: server error. {remedy}"
        )
    await chat.say("/models reset")
    assert (await chat.say("/status")).startswith("Model: openai/gpt-4.1\n")


@table_test(
    ("fallback", "prefer", "failing"),
    [
        (True, "", ["a/one", "b/two"]),
        (True, "c/well", []),
        (True, "d/ill", ["d/ill", "a/one", "b/two"]),
        (False, "", ["a/one"]),
        (False, "c/well", []),
        (False, "d/ill", ["d/ill"]),
    ],
)
def test_who_is_asked_in_a_chat_decides_whether_all_fail(
    fallback: bool, prefer: str, failing: list[str]
) -> None:
    a, b, c, d, notebook = (
        ModelCandidate(
            name, (Route(ScriptedModel(name=name), RouteName(name)),), last_resort=name.startswith("builtin")
        )
        for name in ("a/one", "b/two", "c/well", "d/ill", "builtin/notebook")
    )
    health = Breakers(now=NOW.timestamp)
    for each in (a, b, d):
        error = BadKey("answered 401", model=each.name)
        health.record([CallOutcome(RouteName(each.name), NOW.timestamp(), error=error)])
    plan = Routing((a, b, notebook), (c, d), fallback=fallback)
    assert failing_models(plan, health, prefer=prefer) == dict.fromkeys(failing, "auth")


# -- /models and /usage -----------------------------------------------------------------------------------------


async def test_the_owner_sees_how_each_model_fares_and_can_reset_them(chat: Chat) -> None:
    chat.models["openai/gpt-4.1"].enqueue(error=RateLimited("answered 429 (slow down)", retry_after=90.0))
    chat.models["anthropic/claude-sonnet-4-5"].enqueue("From Claude.")
    await chat.say("Hi")
    gpt, claude, notebook, _, end = (await chat.say("/models")).splitlines()
    assert gpt.startswith("- **openai/gpt-4.1**: paused until 12:01; 1 call, 1 failed; ")
    assert "last failure 12:00: rate limit reached (answered 429 (slow down))" in gpt
    assert claude.startswith("- **anthropic/claude-sonnet-4-5**: ready; 1 call, 0 failed")
    assert notebook == "- **builtin/notebook**: ready; not used yet"
    assert end == "`/models reset` clears the failures, so that all models are tried again."
    assert chat.offered == (Choice("Try all again", "/models reset"),)
    await chat.say(chat.offered[0].says)
    assert (await chat.say("/models")).startswith("- **openai/gpt-4.1**: ready; ")
    assert not chat.offered, "there is nothing to reset"


async def test_others_do_not_see_how_models_fare(chat: Chat) -> None:
    assert "/models" not in await chat.say("/help", person="telegram:1", chat="telegram:1")
    assert "There is no /models" in await chat.say("/models", person="telegram:1", chat="telegram:1")


async def test_usage_counts_what_was_answered(chat: Chat) -> None:
    assert "- none" in await chat.say("/usage")
    chat.models["openai/gpt-4.1"].enqueue("x" * 400)
    await chat.say("Hi")
    row = "- openai/gpt-4.1: 1 in (0 cached), 100 out; calls: 1"
    assert (await chat.say("/usage")).count(row) == 2


# -- /retry -----------------------------------------------------------------------------------------------------


async def test_retry_answers_the_latest_message_again_without_the_first_answer(chat: Chat) -> None:
    model = chat.models["openai/gpt-4.1"]
    model.enqueue("A poor answer.")
    model.enqueue("A better one.")
    await chat.say("What is tea?")
    assert await chat.say("/retry") == "A better one."
    assert model.history[1].messages == model.history[0].messages
    model.enqueue("Sure.")
    await chat.say("Thanks")
    said = [getattr(message, "text", "") for message in model.history[2].messages]
    assert said == ["What is tea?", "A better one.", "Thanks"]


async def test_retry_after_a_failure_asks_again(chat: Chat) -> None:
    for model in chat.models.values():
        model.enqueue(error=BadKey("401"))
    with pytest.raises(Exception, match="401"):
        await chat.say("What is tea?")
    chat.models["openai/gpt-4.1"].enqueue("A drink.")
    assert await chat.say("/retry") == "A drink."


async def test_tools_that_ran_are_not_run_again(chat: Chat) -> None:
    model = chat.models["openai/gpt-4.1"]
    model.enqueue(calls=[("memory_write", {"content": "Tea is nice.", "target": "daily"})])
    model.enqueue("Noted.")
    await chat.say("Remember that tea is nice.")
    model.enqueue("It is noted.")
    assert await chat.say("/retry") == "It is noted."
    assert len(model.history[-1].messages) == 3
    note = await chat.memory.get("2026-11-21.md")
    assert note.text.count("Tea is nice") == 1


async def test_a_retry_that_fails_leaves_the_first_answer(chat: Chat) -> None:
    model = chat.models["openai/gpt-4.1"]
    model.enqueue("A poor answer.")
    await chat.say("What is tea?")
    for each in chat.models.values():
        each.enqueue(error=BadKey("401"))
    with pytest.raises(Exception, match="401"):
        await chat.say("/retry")
    model.enqueue("Sure.")
    await chat.say("Thanks")
    assert [getattr(message, "text", "") for message in model.history[-1].messages][1] == "A poor answer."


async def test_a_retry_asks_the_usual_model_whoever_stood_in_before(chat: Chat) -> None:
    for name in NAMES[:2]:
        chat.models[name].enqueue(error=ServerFailed("500"))
    chat.models["builtin/notebook"].enqueue(calls=[("memory_search", {"query": "tea"})])
    chat.models["builtin/notebook"].enqueue("I found nothing.")
    await chat.say("What is tea?")
    chat.models["openai/gpt-4.1"].enqueue("A drink.")
    assert await chat.say("/retry") == "A drink."


async def test_a_turn_stays_with_the_model_that_began_it(chat: Chat) -> None:
    chat.models["openai/gpt-4.1"].enqueue(error=ServerFailed("500"))
    claude = chat.models["anthropic/claude-sonnet-4-5"]
    claude.enqueue(calls=[("memory_search", {"query": "tea"})])
    claude.enqueue("I found nothing.")
    assert await chat.say("What is tea?") == "I found nothing."
    assert len(chat.models["openai/gpt-4.1"].history) == 1


async def test_there_may_be_nothing_to_retry(chat: Chat) -> None:
    assert await chat.say("/retry") == "There is nothing to answer again yet."


async def test_what_was_retracted_is_still_on_disk(chat: Chat) -> None:
    model = chat.models["openai/gpt-4.1"]
    model.enqueue("A poor answer.")
    model.enqueue("A better one.")
    await chat.say("What is tea?")
    await chat.say("/retry")
    number = cast(int, await open_conversation(chat.state, "terminal:main"))
    rows = await entries(chat.state, number)
    assert [row.kind for row in rows] == ["user", "assistant", "retry", "assistant"]
    assert "A poor answer." in rows[1].payload
