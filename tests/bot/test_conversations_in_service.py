"""The search of conversations in the assistant: kept in step, reported when it fails, switched by settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.assistant import Assistant
from bot.config.reload import LiveSettings
from bot.config.settings import Settings
from bot.conversations.conversation import Conversation
from bot.conversations.index_file import INDEX_NAME
from bot.conversations.open_search import open_conversation_search
from bot.maintenance.background import Background
from bot.messages import ChatId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.service.open_assistant import open_assistant
from bot.state.database import State
from bot.supervisor import Supervisor
from memory.memory import Memory
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.harness import open_harness
from tests.fakes.turns import message

HERE = ChatId("terminal", "main")


async def say(state: State, text: str) -> None:
    talk = Conversation(state, HERE)
    await talk.load()
    await talk.append(UserMessage(text), AssistantMessage("I see."))


async def until_indexed(folder: Path, word: str) -> None:
    """Wait until a word is in the index, without a search, which would look itself."""
    async with asyncio.timeout(10):
        while not any(  # noqa: ASYNC110
            word.encode() in file.read_bytes() for file in folder.glob(f"{INDEX_NAME}*") if file.is_file()
        ):
            await asyncio.sleep(0.02)


@asynccontextmanager
async def in_background(folder: Path, *, supervisor: Supervisor, minutes: float = 60) -> AsyncIterator[State]:
    """Run only the background work of a service."""
    settings = Settings(workspace=folder)
    private = settings.private_folder
    async with (
        State(copy_fresh_state(private / "state.db")) as state,
        Memory(settings.memory, workspace=folder, now=settings.now) as memory,
    ):
        search = open_conversation_search(LiveSettings(settings), now=settings.now, lasting=True)
        assert search
        await say(state, "xylophagous before the start")
        state.on_append(search.note_said)
        background = Background(
            memory, conversations=search, reindex_minutes=minutes, settle=0, supervisor=supervisor
        )
        try:
            async with background:
                yield state
        finally:
            await search.aclose()


async def test_a_service_indexes_what_was_said_before_it_started(tmp_path: Path) -> None:
    async with in_background(tmp_path, supervisor=Supervisor()):
        await until_indexed(tmp_path / ".commonplace", "xylophagous")


@pytest.mark.thorough
async def test_and_what_another_process_is_told_with_the_regular_scan(tmp_path: Path) -> None:
    async with in_background(tmp_path, supervisor=Supervisor(), minutes=0.01):
        await until_indexed(tmp_path / ".commonplace", "xylophagous")
        async with State(tmp_path / ".commonplace" / "state.db") as another:
            await say(another, "quixotic, said to another process")
        await until_indexed(tmp_path / ".commonplace", "quixotic")


async def test_a_failure_in_the_background_is_seen_and_ends(tmp_path: Path) -> None:
    supervisor = Supervisor(pauses=(0.01,))
    index = tmp_path / ".commonplace" / INDEX_NAME
    index.mkdir(parents=True)
    async with in_background(tmp_path, supervisor=supervisor):
        async with asyncio.timeout(5):
            while not supervisor.failures:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        (failure,) = supervisor.failures
        assert failure.name == "conversation index"
        index.rmdir()
        await until_indexed(index.parent, "xylophagous")


async def test_owners_read_in_status_that_conversations_cannot_be_searched(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        assert "Conversations" not in await house.say("/status")
        (tmp_path / ".commonplace" / INDEX_NAME).mkdir()
        await house.say("/recall boat")
        assert "Conversations can't be searched right now: the index" in await house.say("/status")
        assert "Conversations" not in await house.say("/status", chat="telegram:2", sender="telegram:2")
        (tmp_path / ".commonplace" / INDEX_NAME).rmdir()
        await house.say("/recall boat")
        assert "Conversations" not in await house.say("/status")


async def recall(assistant: Assistant, line: str) -> str:
    text = ""
    async for part in assistant.answer(message(line)):
        text = part.text
    return text


async def test_settings_switch_it_off_and_say_how_much_is_found(tmp_path: Path) -> None:
    settings = Settings(workspace=tmp_path)
    copy_fresh_state(settings.private_folder / "state.db")
    async with open_assistant(settings) as assistant:
        for number in range(4):
            await say(assistant.services.state, f"the boat {number}")
        assert (await recall(assistant, "/recall boat")).count("the boat") == 4
        search = settings.memory.search.model_copy(update={"final_top_k": 2})
        conversations = assistant.services.conversations
        assert conversations
        conversations.set_search_settings(search)
        assert (await recall(assistant, "/recall boat")).count("the boat") == 2
    assert (settings.private_folder / INDEX_NAME).exists()
    off = Settings.model_validate({"workspace": tmp_path, "memory": {"conversations": {"enabled": False}}})
    async with open_assistant(off) as assistant:
        assert await recall(assistant, "/recall boat") == "I found nothing about that in my notes."
    assert not (settings.private_folder / INDEX_NAME).exists()
