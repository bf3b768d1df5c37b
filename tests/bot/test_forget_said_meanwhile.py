"""A conversation is forgotten while it is written into the notes, or summarized: nothing of it comes back."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar, cast

import apsw
import pytest

from bot.forget_said import SaidPart, forget_said
from bot.forgetting import ForgetService
from bot.models.errors import Unreachable
from bot.models.protocol import Answer, AssistantMessage, ModelRequest
from bot.services import Services
from bot.state import forgetting
from bot.state.database import State
from memory.forgetting import FORGOTTEN
from tests.fakes.conversation_harness import ConversationHarness, SettableClock, open_conversation_harness
from tests.fakes.scripted_model import alone

Result = TypeVar("Result")

SECRET = "xylophagous"
NOTES = f"- Anna keeps {SECRET} beetles.\n\n# MEMORY.md\n\n- Anna likes {SECRET} beetles."


class RetellingModel:
    """Repeats the secret as often as it reads it; or does not answer."""

    name = "retelling/model"

    def __init__(self, *, answers: bool = True) -> None:
        self._answers = answers

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer, None]:
        if not self._answers:
            raise Unreachable("away", model=self.name)
        yield Answer(AssistantMessage(NOTES if SECRET in str(request.messages) else "NOTHING", (), self.name))


class WatchedState(State):
    """A state.db that runs something before one of its commits."""

    commits_left = -1
    before: Callable[[], "asyncio.Future[None]"] | None = None

    async def change(self, work: Callable[[apsw.Connection], Result]) -> Result:
        self.commits_left -= 1
        if self.commits_left == -1 and self.before is not None:
            await self.before()
        return await super().change(work)


@dataclass
class UsedServices:
    """What forgetting uses of the services."""

    state: State
    forgetting: ForgetService
    now: Callable[[], datetime]
    tasks: list["asyncio.Task[tuple[int, str]]"] = field(default_factory=list)


def notes_of(talk: ConversationHarness) -> str:
    return "".join(each.read_text() for each in sorted((talk.folder / "memory").rglob("*.md")))


async def forget_all(talk: ConversationHarness, services: UsedServices) -> None:
    """Begin to forget the conversation; return as soon as the messages are gone."""
    part = SaidPart(talk.conversation.id or 0)
    task = asyncio.create_task(forget_said(cast("Services", services), part, upto=10_000))
    services.tasks.append(task)
    while not (task.done() or await talk.state.read(forgetting.is_unfinished)):  # noqa: ASYNC110
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("model_answers", [True, False])
@pytest.mark.parametrize("commit", range(9))
async def test_what_is_forgotten_before_a_commit_of_a_flush_is_not_written_after_it(
    tmp_path: Path, commit: int, model_answers: bool
) -> None:
    model, clock = RetellingModel(answers=model_answers), SettableClock()
    async with open_conversation_harness(
        tmp_path, alone(model), clock=clock, state_class=WatchedState
    ) as talk:
        await talk.take_turn(f"I keep {SECRET} beetles.")
        state, noted = cast("WatchedState", talk.state), [""]
        services = UsedServices(state, ForgetService(talk.memory, state), clock.now)

        async def forget() -> None:
            noted[0] = notes_of(talk)
            await forget_all(talk, services)

        state.before, state.commits_left = lambda: asyncio.ensure_future(forget()), commit
        await talk.compactor.flush(talk.conversation, cause="asked")
        if not services.tasks:
            pytest.skip("the flush has fewer commits")
        for _ in range(4):
            clock.pass_(hours=7)
            await talk.compactor.resume()
        await asyncio.gather(*services.tasks)
        assert notes_of(talk).count(SECRET) == noted[0].count(SECRET)
        assert FORGOTTEN not in notes_of(talk), "there was nothing to write any more"
        stored = await state.read(
            lambda db: db.execute("SELECT section, core, replaces FROM flushes").fetchall()
        )
        assert SECRET not in str(stored)
        assert {each["stage"] for each in await talk.rows()} == {"done"}


async def test_a_summary_of_what_is_forgotten_meanwhile_is_made_again(tmp_path: Path) -> None:
    model, clock = RetellingModel(), SettableClock()
    async with open_conversation_harness(
        tmp_path, alone(model), clock=clock, state_class=WatchedState, enabled=False
    ) as talk:
        await talk.take_turn(f"I keep {SECRET} beetles.")
        await talk.take_turn("And a cat.")
        state = cast("WatchedState", talk.state)
        services = UsedServices(state, ForgetService(talk.memory, state), clock.now)
        state.before, state.commits_left = lambda: asyncio.ensure_future(forget_all(talk, services)), 0
        await talk.compactor.compact(talk.conversation, cause="asked", flush=False)
        await asyncio.gather(*services.tasks)
        entries = await state.read(lambda db: db.execute("SELECT kind, payload FROM entries").fetchall())
        assert SECRET not in str(entries)
        assert SECRET not in talk.conversation.summary + str(talk.conversation.messages())
