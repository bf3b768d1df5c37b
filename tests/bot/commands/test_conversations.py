from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.access import Access, Standing
from bot.commands.command import run_command
from bot.commands.registry import COMMANDS
from bot.config.settings import AccessSettings
from bot.conversations.conversation import Conversation
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.errors import Unreachable
from tests.fakes.conversation_harness import CHAT, ConversationHarness, open_conversation_harness
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.services import services


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
async def talk(tmp_path: Path, model: ScriptedModel) -> AsyncIterator[ConversationHarness]:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await talk.take_turn("My dentist is Dr Weber.")
        await talk.take_turn("And my cat is called Mia.")
        yield talk


async def run(
    talk: ConversationHarness,
    name: str,
    *,
    key: str = "message-1",
    standing: Standing = Standing.OWNER,
    in_room: bool = False,
) -> str:
    message = IncomingMessage(
        "1", CHAT, PersonId("telegram", "1"), f"/{name}", datetime.now(UTC), "Anna", "", in_room
    )
    given = services(
        commands=COMMANDS,
        state=talk.state,
        compactor=talk.compactor,
        access=Access(AccessSettings(), talk.state),
    )
    reply = await run_command(name, "", message=message, standing=standing, key=key, services=given)
    assert isinstance(reply, str)
    return reply


async def said(talk: ConversationHarness) -> int:
    conversation = Conversation(talk.state, CHAT)
    await conversation.load()
    return len(conversation.messages())


async def test_new_notes_what_matters_ends_the_conversation_and_tells_where(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue("- Anna's dentist is Dr Weber.")
    reply = await run(talk, "new")
    assert reply == "Started a new conversation. I still have my notes. Noted in 2026-11-21.md:3-5."
    assert await said(talk) == 0


async def test_new_run_again_after_a_crash_says_the_same_and_ends_no_other(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue("- Anna's dentist is Dr Weber.")
    reply = await run(talk, "new")
    await talk.conversation.load()
    await talk.take_turn("Something new.")
    assert await run(talk, "new") == reply
    assert await said(talk) == 2
    assert talk.note().count("## ") == 1


async def test_new_ends_the_conversation_also_where_no_model_answers(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(error=Unreachable("away: key sk-123"))
    reply = await run(talk, "new")
    assert "No language model answered" in reply
    assert "sk-123" not in reply
    assert "- My dentist is Dr Weber." in talk.note()
    assert await said(talk) == 0


async def test_compact_notes_all_and_sums_up_all_but_the_latest_turn(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue("- Anna's dentist is Dr Weber.\n- Her cat is Mia.")
    model.enqueue("Anna spoke of her dentist.")
    reply = await run(talk, "compact")
    assert reply == (
        "I've summarised our earlier conversation; nothing was deleted. Noted in 2026-11-21.md:3-6."
    )
    assert await said(talk) == 3


async def test_compact_with_one_turn_notes_it_and_sums_up_nothing(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await talk.take_turn("My dentist is Dr Weber.")
        model.enqueue("- Anna's dentist is Dr Weber.")
        assert (await run(talk, "compact")).endswith("stay as they are. Noted in 2026-11-21.md:3-5.")
        assert await said(talk) == 2


async def test_flush_notes_what_matters_and_leaves_the_conversation_as_it_is(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue("- Anna's dentist is Dr Weber.")
    assert await run(talk, "flush", key="message-1") == "Noted in 2026-11-21.md:3-5."
    assert await run(talk, "flush", key="message-1") == "Noted in 2026-11-21.md:3-5."
    assert await run(talk, "flush", key="message-2") == "There is nothing new to note."
    assert await said(talk) == 4
    assert talk.note().count("## 12:00 Anna") == 1


@pytest.mark.parametrize("name", ["new", "compact", "flush"])
async def test_without_a_conversation_there_is_nothing_to_do(
    tmp_path: Path, model: ScriptedModel, name: str
) -> None:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        assert await run(talk, name)
        assert model.history == []


@pytest.mark.parametrize(("standing", "in_room"), [(Standing.GUEST, False), (Standing.OWNER, True)])
async def test_what_guests_say_and_what_is_said_in_rooms_is_noted_nowhere(
    talk: ConversationHarness, model: ScriptedModel, standing: Standing, in_room: bool
) -> None:
    model.enqueue("A summary of what was said.")
    await run(talk, "compact", standing=standing, in_room=in_room)
    await run(talk, "flush", standing=standing, in_room=in_room)
    await run(talk, "new", standing=standing, in_room=in_room)
    assert talk.note() == ""
    assert await talk.rows() == []
    assert ChatId.parse("telegram:1") == CHAT
