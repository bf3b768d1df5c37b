"""Conversations from exports in state.db."""

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.conversations.conversation import parse_entries
from bot.imports import conversations
from bot.imports.conversations import ConversationReport, ReadingProgress, import_conversations
from bot.imports.export_files import open_export
from bot.messages import PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.models.user_text import user_text
from bot.state import imports
from bot.state.conversations import read_entries
from bot.state.database import State
from bot.state.export import ConversationRow, read_conversations
from bot.state.imports import ImportRun
from tests.fakes.assistant_exports import (
    MARCH,
    chatgpt_conversation,
    claude_conversation,
    talk,
    write_chatgpt_zip,
    write_claude_zip,
)
from tests.fakes.fresh_state import copy_fresh_state

ANNA = PersonId("telegram", "1")
CHAT = f"imported:{ANNA}"
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db")) as opened:
        yield opened


async def begin(state: State) -> ImportRun:
    return await state.change(
        partial(imports.begin_run, chat=CHAT, format="auto", source="it", at="2026-11-23T12:00:00.000+00:00")
    )


async def bring(state: State, path: Path, **more: Any) -> ConversationReport:
    with open_export(path) as files:
        return await import_conversations(
            files, state, await begin(state), person=ANNA, now=NOW, progress=ReadingProgress(), **more
        )


async def stored(state: State) -> list[tuple[ConversationRow, list[str]]]:
    rows = await state.read(read_conversations)
    return [(row, await texts(state, row.number)) for row in rows]


async def texts(state: State, number: int) -> list[str]:
    found = parse_entries(await state.read(lambda db: read_entries(db, number, 0)))
    return [
        user_text(each.message) if isinstance(each.message, UserMessage) else each.message.text
        for each in found
        if isinstance(each.message, UserMessage | AssistantMessage)
    ]


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), "utf-8")
    return path


async def test_an_export_becomes_conversations_with_their_own_dates(state: State, tmp_path: Path) -> None:
    chats = [
        chatgpt_conversation(f"c{number}", talk(f"key {number}"), at=MARCH + number) for number in range(3)
    ]
    report = await bring(state, write_chatgpt_zip(tmp_path / "a.zip", chats))
    assert (report.conversations, report.created, report.messages, report.added) == (3, 3, 6, 6)
    assert (report.formats, report.skipped, report.broken) == ({"chatgpt"}, [], [])
    assert report.first_at == datetime.fromtimestamp(MARCH, UTC)
    first, *_ = await stored(state)
    assert first[1] == ["Where is the key 0?", "The key 0 is in the attic."]
    assert (first[0].chat, first[0].title) == (CHAT, "A talk")
    assert first[0].started_at == "2026-03-03T01:06:40.000+00:00"
    assert first[0].ended_at == "2026-03-03T01:07:40.000+00:00"


async def test_it_is_stored_who_spoke(state: State, tmp_path: Path) -> None:
    await bring(state, write(tmp_path / "a", [chatgpt_conversation("c1", talk("key"))]))
    rows = await state.read(lambda db: read_entries(db, 1, 0))
    assert [json.loads(row.payload).get("by") for row in rows] == ["telegram:1", None]
    assert [json.loads(row.payload).get("model") for row in rows] == [None, "chatgpt"]


async def test_the_same_export_changes_nothing_and_a_later_one_adds_what_is_new(
    state: State, tmp_path: Path
) -> None:
    first = write_claude_zip(
        tmp_path / "a", [claude_conversation("u1", [("human", "one"), ("assistant", "two")])]
    )
    await bring(state, first)
    before = await stored(state)
    report = await bring(state, first)
    assert (report.created, report.continued, report.unchanged, report.added) == (0, 0, 1, 0)
    assert await stored(state) == before
    later = [
        claude_conversation("u1", [("human", "one"), ("assistant", "two"), ("human", "three")]),
        claude_conversation("u2", [("human", "new")]),
    ]
    report = await bring(state, write_claude_zip(tmp_path / "b", later))
    assert (report.created, report.continued, report.unchanged, report.added) == (1, 1, 0, 2)
    assert [said for _, said in await stored(state)] == [["one", "two", "three"], ["new"]]


async def test_what_was_forgotten_does_not_come_back(state: State, tmp_path: Path) -> None:
    said = [("human", "my secret"), ("assistant", "fine")]
    await bring(state, write(tmp_path / "a", [claude_conversation("u1", said)]))
    await state.change(
        lambda db: db.execute('UPDATE entries SET payload = \'{"text": "[forgotten]"}\' WHERE seq = 1')
    )
    await bring(state, write(tmp_path / "a", [claude_conversation("u1", [*said, ("human", "more")])]))
    assert [said for _, said in await stored(state)] == [["[forgotten]", "fine", "more"]]


async def test_a_dry_run_counts_the_same_and_stores_nothing(state: State, tmp_path: Path) -> None:
    await bring(state, write(tmp_path / "a", [claude_conversation("u1", [("human", "one")])]))
    before = await stored(state)
    path = write(
        tmp_path / "b",
        [
            claude_conversation("u1", [("human", "one"), ("assistant", "two")]),
            claude_conversation("u2", [("human", "three " * 100)]),
            claude_conversation("u3", []),
        ],
    )
    counted = await bring(state, path, dry=True)
    assert await stored(state) == before
    assert counted.tokens == pytest.approx(600 / 3.5, rel=0.1)
    assert counted == await bring(state, path)
    assert (counted.created, counted.continued, counted.added) == (1, 1, 2)
    assert counted.skipped == [("A talk", "it has no messages")]


async def test_a_long_conversation_comes_in_parts_and_is_one(
    state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "BATCH_MESSAGES", 7)
    said = [("human", f"message {number}") for number in range(50)]
    path = write(tmp_path / "a", [claude_conversation("u1", said), claude_conversation("u2", said[:3])])
    report = await bring(state, path)
    assert (report.created, report.continued, report.unchanged, report.added) == (2, 0, 0, 53)
    assert [said for _, said in await stored(state)] == [
        [text for _, text in said],
        ["message 0", "message 1", "message 2"],
    ]
    report = await bring(state, path)
    assert (report.created, report.continued, report.unchanged, report.added) == (0, 0, 2, 0)
    await bring(state, write(tmp_path / "a", [claude_conversation("u1", [*said, ("human", "last")])]))
    assert (await stored(state))[0][1][-1] == "last"


def test_progress_is_one_line() -> None:
    progress = ReadingProgress(total=1_000_000_000, done=250_000_000)
    assert progress.describe() == "[#####               ]  25% of 1.0 GB, 0 conversations, 0 new messages"
    assert "100%" in ReadingProgress(total=5, done=9).describe()
    assert ReadingProgress().describe().startswith("[                    ]   0%")


async def test_only_the_wanted_format_is_taken(state: State, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a", [claude_conversation("u1", [("human", "x")]), chatgpt_conversation("c1", talk("y"))]
    )
    report = await bring(state, path, only="chatgpt")
    assert (report.formats, report.created, report.skipped_count) == ({"chatgpt"}, 1, 1)


async def test_files_of_a_message_are_kept_as_attachments(state: State, tmp_path: Path) -> None:
    chat = claude_conversation("u1", [("human", "See")])
    chat["chat_messages"][0]["attachments"] = [{"file_name": "a]b.txt", "extracted_content": "inside"}]
    await bring(state, write(tmp_path / "a", [chat]))
    ((_, (said,)),) = await stored(state)
    assert said.startswith("See\n\n[Attached document: a")
    assert "\ninside\n" in said


async def test_what_came_before_a_break_stays_and_the_break_is_said(state: State, tmp_path: Path) -> None:
    whole = json.dumps([chatgpt_conversation(f"c{number}", talk("key")) for number in range(5)])
    (tmp_path / "a").write_text(whole[: len(whole) * 7 // 10], "utf-8")
    report = await bring(state, tmp_path / "a")
    assert report.broken == ["a ends in the middle; download it again"]
    assert report.created == 3
    (tmp_path / "a").write_text(whole, "utf-8")
    assert (await bring(state, tmp_path / "a")).created == 2


async def test_conversations_and_messages_without_ids_are_told_apart(state: State, tmp_path: Path) -> None:
    def nameless(*said: str) -> dict[str, Any]:
        chat = claude_conversation("", [("human", each) for each in said])
        for message in chat["chat_messages"]:
            del message["uuid"]
        return chat

    path = write(tmp_path / "a", [nameless("one", "two", "two"), nameless("three")])
    await bring(state, path)
    assert [said for _, said in await stored(state)] == [["one", "two", "two"], ["three"]]
    assert (await bring(state, path)).added == 0


async def test_a_repeated_id_counts_once(state: State, tmp_path: Path) -> None:
    chat = claude_conversation("u1", [("human", "one"), ("human", "two")])
    chat["chat_messages"][1]["uuid"] = "u1-0"
    again = claude_conversation("u1", [("human", "one"), ("assistant", "answer")])
    report = await bring(state, write(tmp_path / "a", [chat, again, chat]))
    assert [said for _, said in await stored(state)] == [["one", "answer"]]
    assert report.added == 2


def damaged(*, fields: Sequence[object]) -> list[dict[str, Any]]:
    """Conversations whose fields are anything but what they should be."""
    found = []
    for number, value in enumerate(fields):
        tree = chatgpt_conversation(f"t{number}", talk(f"key {number}"))
        tree |= {
            "title": value,
            "create_time": value,
            "current_node": value,
            "conversation_id": value,
            "id": value,
        }
        tree["mapping"][f"t{number}-1"]["message"] |= {
            "create_time": value,
            "recipient": value,
            "channel": value,
        }
        tree["mapping"][f"t{number}-x"] = {"message": {"author": {"role": value}}, "parent": value}
        tree["mapping"][f"t{number}-y"] = {
            "message": {"author": {"role": "user"}, "content": {"content_type": value}}
        }
        tree["mapping"][f"t{number}-z"] = {
            "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": value}}
        }
        tree["mapping"][f"t{number}-0"]["message"]["metadata"] = value
        chat = claude_conversation(f"u{number}", [("human", f"x {number}"), ("assistant", "y")])
        chat |= {"name": value, "created_at": value, "uuid": value}
        chat["chat_messages"][0] |= {
            "created_at": value,
            "content": value,
            "attachments": value,
            "uuid": value,
        }
        chat["chat_messages"][1] = value
        chat["chat_messages"].append({"sender": value, "text": value})
        chat["chat_messages"].append({"sender": "human", "text": value, "files": [value], "content": [value]})
        found += [tree, chat, {"mapping": value}, {"chat_messages": value}]
    return found


async def test_fields_of_any_kind_break_nothing(state: State, tmp_path: Path) -> None:
    fields: list[object] = [
        None,
        True,
        0,
        -1e300,
        1e15,
        "",
        "\ud800",
        "\0",
        "x" * 300_000,
        [],
        [[]],
        {},
        {"a": [None]},
    ]
    path = write(tmp_path / "a", damaged(fields=fields))
    report = await bring(state, path)
    assert report.broken == []
    assert report.created > len(fields)
    assert (await bring(state, path)).added == 0
