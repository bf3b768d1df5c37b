"""The tools over conversations: what was said is found and read on, in the chats of whoever asks alone."""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.conversations.conversation import Conversation
from bot.models.protocol import AssistantMessage, ToolCall, ToolResult, UserMessage
from bot.note_writes import OnceWriter
from bot.tools.conversations import MESSAGE_CHARS, conversation_tools
from bot.tools.memory import UNASKED_NOTE, memory_tools
from bot.tools.toolbox import Toolbox, ToolUse
from bot.turn_context import TurnContext
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.chats import ANNA, HERE, ROOM, START, Chats, open_chats

USE = ToolUse("call-1", HERE, ANNA)


@asynccontextmanager
async def opened(base: Path) -> AsyncIterator[tuple[Chats, Toolbox, Memory]]:
    async def chats_of(use: ToolUse) -> Collection[str]:
        return {str(use.chat)}

    async with (
        open_chats(base) as chats,
        Memory(MemorySettings(), workspace=base, now=lambda: START) as memory,
    ):
        writer = OnceWriter(memory, chats.state)
        tools = memory_tools(memory, writer, chats.search, chats_of=chats_of, today=START.date)
        yield chats, Toolbox([*tools, *conversation_tools(chats.search, chats_of=chats_of)]), memory


async def run(toolbox: Toolbox, name: str, use: ToolUse = USE, **arguments: Any) -> dict[str, Any]:
    result = await toolbox.run(ToolCall("abcdefgh1", name, json.dumps(arguments)), use)
    told: dict[str, Any] = json.loads(result.content)
    assert result.failed == ("error" in told)
    return told


async def test_what_was_said_is_found_and_read_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as (chats, toolbox, _):
        await chats.name_chat(HERE, "Anna")
        await chats.say(
            "The spare key is under the stone", "Under which one?", "The grey one by the gate", "Good."
        )
        found = await run(toolbox, "memory_search", query="spare key")
        hit = found["results"][0]
        assert hit == {
            "source": "conversation",
            "ref": "1:1",
            "chat": "telegram:1",
            "chat_name": "Anna",
            "who": "Anna",
            "date": "2026-11-21",
            "snippet": "The spare key is under the stone",
            "score": hit["score"],
        }
        assert found["note"] == UNASKED_NOTE
        read = await run(toolbox, "conversation_get", ref=hit["ref"], after=2)
        assert [(each["who"], each["text"]) for each in read["messages"]] == [
            ("Anna", "The spare key is under the stone"),
            ("Robin", "Under which one?"),
            ("Anna", "The grey one by the gate"),
        ]
        assert read["messages"][0]["at"] == "2026-11-21T12:00:00+01:00"
        assert (read["chat"], read["chat_name"]) == ("telegram:1", "Anna")


async def test_each_source_by_its_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as (chats, toolbox, memory):
        await memory.write("the boat is noted")
        await chats.say("the boat is said")

        async def sources(source: str | None = None) -> list[str]:
            found = await run(toolbox, "memory_search", query="boat", source=source)
            return sorted(each["source"] for each in found["results"])

        assert await sources() == ["fts"]
        assert await sources("notes") == ["fts"]
        assert await sources("conversations") == ["conversation"]
        assert await sources("all") == ["conversation", "fts"]
        wrong = await run(toolbox, "memory_search", query="boat", source="web")
        assert "'notes', 'conversations' or 'all'" in wrong["error"]


async def test_another_chat_is_neither_found_nor_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as (chats, toolbox, _):
        await chats.say("the xylophagous beetle", chat=ROOM)
        for source in (None, "conversations", "all"):
            assert (await run(toolbox, "memory_search", query="xylophagous", source=source))["results"] == []
        assert "There is no message 1:1" in (await run(toolbox, "conversation_get", ref="1:1"))["error"]
        there = ToolUse("call-1", ROOM, ANNA)
        assert (await run(toolbox, "conversation_get", there, ref="1:1"))["messages"]


async def test_a_long_message_is_cut_when_it_is_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as (chats, toolbox, _):
        await chats.say("word " * 10_000)
        (message,) = (await run(toolbox, "conversation_get", ref="1:1"))["messages"]
        assert len(message["text"]) < MESSAGE_CHARS + 10


async def test_a_turn_does_not_find_its_own_question(tmp_path: Path) -> None:
    """Neither when it is asked, nor after /retry, nor when more was said meanwhile."""
    async with opened(tmp_path) as (chats, toolbox, _):
        talk = await chats.say("The spare key is under the stone", "I see.")

        async def found(context: TurnContext) -> list[str]:
            use = context.tool_context(talk, "abcdefgh1")
            told = await run(toolbox, "memory_search", use, query="Where is the spare key?")
            return [each["ref"] for each in told["results"]]

        context = TurnContext(HERE, ANNA, start_seq=talk.last_seq)
        await talk.add_user_messages([(UserMessage("Where is the spare key?"), ANNA)])
        assert await found(context) == ["1:1", "1:2"]
        call = ToolCall("abcdefgh1", "memory_search", "{}")
        await talk.append(AssistantMessage("", (call,)), ToolResult(call.id, call.name, "{}"))
        await talk.add_user_messages([(UserMessage("The spare key, please!"), ANNA)])
        assert await found(context) == ["1:1", "1:2"]
        await talk.append(AssistantMessage("I don't know."))
        assert await talk.retract()
        again = TurnContext(HERE, ANNA, start_seq=talk.last_seq)
        assert "1:6" not in await found(again)
        later = Conversation(chats.state, HERE)
        await later.load()
        assert later.last_question_seq == 6
