import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.conversations.conversation import SUMMARY_TEMPLATE, Conversation
from bot.models.candidate import ModelCandidate, Route
from bot.models.errors import Unreachable
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import Answer, AssistantMessage, ModelRequest, UserMessage
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.state.database import State
from tests.fakes.conversation_harness import (
    CHAT,
    ConversationHarness,
    SettableClock,
    open_conversation_harness,
)

Result = TypeVar("Result")


class Crash(BaseException):
    """The process dies here."""


class MortalState(State):
    """A state.db whose process dies right before, or right after, one of its commits."""

    commits_left = -1
    committed = False

    async def change(self, work: Callable[[apsw.Connection], Result]) -> Result:
        dies = MortalState.commits_left == 0
        MortalState.commits_left -= 1
        if dies and not MortalState.committed:
            raise Crash
        result = await super().change(work)
        if dies:
            raise Crash
        return result


class EchoModel:
    """Notes each fact that it is shown, unless it is away; sums up in three words."""

    name = "echo/model"

    def __init__(self) -> None:
        self.away = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer, None]:
        if self.away:
            raise Unreachable("away", model=self.name)
        *said, instruction = request.messages
        text = "what was said"
        if instruction.text.startswith("Write down"):  # type: ignore[union-attr]
            told = " ".join(
                each.text
                for each in said
                if isinstance(each, UserMessage) and not each.text.startswith(SUMMARY_TEMPLATE[:30])
            )
            facts = re.findall(r"fact\d+x", told)
            text = "\n".join(f"- {fact}" for fact in facts)
            text += "\n# MEMORY.md\n" + "\n".join(f"- lasting {fact}" for fact in facts[:1])
        yield Answer(AssistantMessage(text, (), self.name))


def chain(model: EchoModel) -> FallbackModel:
    name = RouteName(model.name)
    return FallbackModel(
        Routing((ModelCandidate(model.name, (Route(model, name),)),), retry=RetryPolicy(0, 0))
    )


async def flush(talk: ConversationHarness, key: str) -> None:
    await talk.compactor.flush(talk.conversation, key=key)


async def compact(talk: ConversationHarness, key: str) -> None:
    del key
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)


async def overflow(talk: ConversationHarness, key: str) -> None:
    del key
    await talk.compactor.compact(talk.conversation, cause="overflow", flush=True)


async def end(talk: ConversationHarness, key: str) -> None:
    await talk.compactor.end(CHAT, flush=True, key=key)


async def resume(talk: ConversationHarness, key: str) -> None:
    del key
    await talk.compactor.resume()


STEPS = {"flush": flush, "compact": compact, "overflow": overflow, "end": end, "resume": resume}


async def carry_out(
    folder: Path,
    model: EchoModel,
    clock: SettableClock,
    step: str,
    *,
    key: str,
    crashes: list[tuple[int, bool]],
) -> int:
    """Do it, and again with the same key after each crash, as the inbox does; count the crashes."""
    happened = 0
    for commits, committed in [*crashes, (-1, False)]:
        MortalState.commits_left = -1
        try:
            async with open_conversation_harness(
                folder, chain(model), clock=clock, threshold=60, state_class=MortalState
            ) as talk:
                MortalState.commits_left, MortalState.committed = commits, committed
                try:
                    await STEPS[step](talk, key)
                finally:
                    MortalState.commits_left = -1
        except Crash:
            happened += 1
        else:
            break
    return happened


async def assert_all_is_noted_once(
    folder: Path, model: EchoModel, clock: SettableClock, facts: list[str]
) -> None:
    model.away = False
    async with open_conversation_harness(folder, chain(model), clock=clock, threshold=60) as talk:
        await talk.compactor.flush(talk.conversation)
        for _ in range(10):
            clock.pass_(hours=7)
            await talk.compactor.resume()
        logs = "\n".join(path.read_text() for path in (folder / "memory").glob("2*.md"))
        assert [fact for fact in facts if logs.count(fact) != 1] == [], logs
        core = talk.note("MEMORY.md")
        assert all(core.count(f"lasting {fact}") <= 1 for fact in facts), core
        assert not re.search(r"not yet sorted", logs)
        last: dict[Any, int] = {}
        for row in sorted(await talk.rows(), key=lambda row: (row["conversation"], row["after"])):
            assert (row["stage"], row["raw"]) == ("done", 0)
            assert row["after"] == last.get(row["conversation"], 0), "a hole, or said twice"
            last[row["conversation"]] = row["upto"]


async def tell(folder: Path, model: EchoModel, clock: SettableClock, facts: list[str]) -> None:
    async with open_conversation_harness(folder, chain(model), clock=clock) as talk:
        for fact in facts:
            await talk.take_turn(f"Here is {fact} to keep", "I see, and have much to say of it.")


@pytest.mark.thorough
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("step", ["flush", "compact", "end"])
async def test_a_crash_at_any_commit_loses_nothing_and_doubles_nothing(
    tmp_path: Path, step: str, away: bool, committed: bool
) -> None:
    facts = [f"fact{number}x" for number in range(4)]
    for commits in count():
        folder, clock, model = tmp_path / str(commits), SettableClock(), EchoModel()
        await tell(folder, model, clock, facts)
        model.away = away
        crashed = await carry_out(folder, model, clock, step, key="k", crashes=[(commits, committed)])
        await assert_all_is_noted_once(folder, model, clock, facts)
        if not crashed:
            break
    assert commits >= (2 if away and step == "compact" else 6)


async def test_a_new_conversation_is_not_ended_by_the_command_that_ended_the_one_before(
    tmp_path: Path,
) -> None:
    folder, clock, model = tmp_path, SettableClock(), EchoModel()
    await tell(folder, model, clock, ["fact1x"])
    await carry_out(folder, model, clock, "end", key="message-7", crashes=[])
    await tell(folder, model, clock, ["fact2x"])
    await carry_out(folder, model, clock, "end", key="message-7", crashes=[])
    async with open_conversation_harness(folder, chain(model), clock=clock) as talk:
        conversation = Conversation(talk.state, CHAT)
        await conversation.load()
        assert conversation.messages()[0] == UserMessage("Here is fact2x to keep")


actions = st.one_of(
    st.tuples(st.just("say"), st.integers(1, 4)),
    st.tuples(
        st.sampled_from(sorted(STEPS)),
        st.booleans(),
        st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=2),
    ),
    st.tuples(st.just("pass"), st.sampled_from([1, 400, 2000])),
)


@pytest.mark.thorough
@settings(max_examples=80, deadline=None)
@given(st.lists(actions, min_size=3, max_size=9))
def test_whatever_happens_all_that_was_said_is_noted_once(script: list[Any]) -> None:
    async def play(folder: Path) -> None:
        clock, model, numbers = SettableClock(), EchoModel(), count()
        facts: list[str] = []
        for at, action in enumerate(script):
            match action:
                case "say", many:
                    new = [f"fact{next(numbers)}x" for _ in range(many)]
                    model.away = False
                    await tell(folder, model, clock, new)
                    facts += new
                case "pass", minutes:
                    clock.pass_(minutes=minutes)
                case step, away, crashes:
                    model.away = away
                    await carry_out(folder, model, clock, step, key=f"message-{at}", crashes=crashes)
        await assert_all_is_noted_once(folder, model, clock, facts)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
