import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.archives.export import ENTRIES_AT_ONCE, format_json_lines, format_markdown, list_conversations
from bot.conversations.conversation import Conversation
from bot.messages import ChatId, PersonId, Quoted
from bot.models.protocol import AssistantMessage, AttachedText, Image, ToolCall, ToolResult, UserMessage
from bot.models.user_text import user_text
from bot.state.database import State
from tests.fakes.stored_conversation import end_conversation

ZONE = ZoneInfo("Europe/Berlin")


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(tmp_path / "state.db", now=Clock()) as state:
        yield state


async def conversation(state: State, chat: str = "terminal:main") -> Conversation:
    found = Conversation(state, ChatId.parse(chat))
    await found.load()
    return found


async def markdown(state: State, chat: str = "") -> str:
    found = await list_conversations(state, chat)
    return "".join(
        [piece for each in found async for piece in format_markdown(state, each, assistant="Bot", zone=ZONE)]
    )


async def documents(state: State, chat: str = "") -> list[dict[str, object]]:
    found = await list_conversations(state, chat)
    return [json.loads(line) for each in found async for line in format_json_lines(state, each)]


async def test_a_conversation_reads_as_it_went_with_a_line_for_each_tool(state: State) -> None:
    talk = await conversation(state)
    await talk.save_recalled("# What stood in the notes")
    await talk.add_user_messages([(UserMessage("Where is\n\nthe key?"), PersonId("telegram", "7"))])
    call = ToolCall("abcdefghi", "memory_search", '{"query": "key"}')
    await talk.append(AssistantMessage("Let me look.", (call,), "some/model"))
    await talk.append(ToolResult("abcdefghi", "memory_search", "{" + "x" * 500 + "}"))
    await talk.append(AssistantMessage("At Anna's.", (), "some/model"))
    assert await markdown(state) == (
        "# terminal:main, conversation 1\n\n2026-11-23 00:30:01, still open\n"
        "\n*2026-11-23 00:30:01: Bot looked at its notes.*\n"
        "\n**telegram:7**, 2026-11-23 00:30:02\n\nWhere is\n\nthe key?\n"
        "\n**Bot**, 2026-11-23 00:30:03\n\nLet me look.\n"
        '\n- 2026-11-23 00:30:03: memory_search `{"query": "key"}`\n'
        "\n- 2026-11-23 00:30:04: memory_search returned `{" + "x" * 198 + "…`\n"
        "\n**Bot**, 2026-11-23 00:30:05\n\nAt Anna's.\n\n"
    )


async def test_all_conversations_are_there_also_ended_ones_and_what_was_summed_up(state: State) -> None:
    first = await conversation(state)
    await first.append(UserMessage("one"), AssistantMessage("two", (), "m/m"))
    await first.compact(2, "They counted\nto two.", "notes")
    await first.retract()
    await end_conversation(state, "terminal:main")
    await (await conversation(state)).append(UserMessage("three", (Image("image/png", b"x"),)))
    await (await conversation(state, "telegram:-1")).append(UserMessage("elsewhere"))
    text = await markdown(state)
    assert text.count("\n# ") == 2
    assert "one" in text
    assert "was summarised:*\n\n> They counted\n> to two.\n" in text
    assert "2026-11-23 00:30:01 to 2026-11-23 00:30:03\n" in text
    assert "**Person**" in text
    assert "*(1 picture)*" in text
    assert [each.chat for each in await list_conversations(state)] == [
        "terminal:main",
        "terminal:main",
        "telegram:-1",
    ]
    alone = await markdown(state, "telegram:-1")
    assert "elsewhere" in alone
    assert "one" not in alone
    assert await list_conversations(state, "telegram:2") == ()


async def test_what_was_quoted_or_sent_along_is_shown_as_to_a_model(state: State) -> None:
    document = AttachedText("document 3: a.txt", "All is well.", "aaaaaaaaaaaa", 3)
    message = UserMessage("Well?", quoted=Quoted("Is it?", "Bo"), documents=(document,))
    await (await conversation(state)).append(message)
    assert f"\n\n{user_text(message)}\n" in await markdown(state)


async def test_as_json_nothing_is_missing(state: State) -> None:
    talk = await conversation(state)
    await talk.append(UserMessage("a picture", (Image("image/png", b"abc"),)))
    await talk.append(ToolResult("abcdefghi", "t", "y" * 5000, failed=True))
    await talk.compact(1, "Summary", "notes")
    head, *entries = await documents(state)
    assert head == {
        "kind": "conversation",
        "conversation": 1,
        "chat": "terminal:main",
        "started_at": "2026-11-22T23:30:01.000+00:00",
        "ended_at": None,
    }
    assert [(entry["seq"], entry["kind"]) for entry in entries] == [
        (1, "user"),
        (2, "result"),
        (3, "summary"),
        (4, "recalled"),
    ]
    assert entries[0] == {
        "kind": "user",
        "conversation": 1,
        "seq": 1,
        "at": "2026-11-22T23:30:01.000+00:00",
        "payload": {"text": "a picture", "documents": [], "images": [{"type": "image/png", "data": "YWJj"}]},
    }
    payload = entries[1]["payload"]
    assert isinstance(payload, dict)
    assert (payload["content"], payload["failed"]) == ("y" * 5000, True)


async def test_what_cannot_be_read_is_told_and_the_rest_goes_on(state: State) -> None:
    rows = [("later", '{"a": 1}'), ("user", "{broken"), ("user", '{"text": "well"}')]
    await state.append(None, "terminal:main", rows, after=0)
    text = await markdown(state)
    assert "an entry of kind later, which this version cannot read" in text
    assert "a damaged entry (user)" in text
    assert "\nwell\n" in text
    assert [each.get("payload") for each in await documents(state)][1:] == [
        {"a": 1},
        "{broken",
        {"text": "well"},
    ]


async def test_a_long_conversation_is_whole(state: State) -> None:
    count = 2 * ENTRIES_AT_ONCE
    rows = [("user", json.dumps({"text": f"number {number}"})) for number in range(count)]
    await state.append(None, "terminal:main", rows, after=0)
    assert [each["seq"] for each in (await documents(state))[1:]] == list(range(1, count + 1))


async def test_what_a_tool_gave_cannot_end_its_line(state: State) -> None:
    talk = await conversation(state)
    await talk.append(ToolResult("abcdefghi", "t", "`a`\n# b ``c``"))
    assert "t returned ``` `a` # b ``c`` ```\n" in await markdown(state)


async def test_what_was_typed_at_the_terminal_is_yours(state: State) -> None:
    talk = await conversation(state)
    await talk.add_user_messages([(UserMessage("Hello"), PersonId("terminal", "owner"))])
    assert "\n**You**, 2026" in await markdown(state)
