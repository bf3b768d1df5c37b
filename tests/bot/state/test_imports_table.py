from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from bot.state import imports
from bot.state.chat_list import read_latest_conversations
from bot.state.conversation_stats import read_conversation_stats
from bot.state.conversations import ReadPosition, read_open
from bot.state.database import State
from bot.state.export import read_conversations
from bot.state.imports import Added, ImportedNote, ImportRun, NewConversation, NewMessage, RunCounts
from bot.state.integrity import check_state
from tests.fakes.fresh_state import copy_fresh_state

CHAT = "imported:telegram:1"
AT = "2026-03-03T10:{:02}:00.000+00:00"


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db")) as opened:
        yield opened


def talk(keys: Sequence[int], *, key: str = "c1") -> NewConversation:
    messages = [
        NewMessage(each, "user", f'{{"text": "{each}", "documents": []}}', AT.format(each)) for each in keys
    ]
    return NewConversation("chatgpt", key, f"Talk {key}", AT.format(0), messages)


async def begin(state: State, source: str = "/a.zip") -> ImportRun:
    return await state.change(
        partial(imports.begin_run, chat=CHAT, format="chatgpt", source=source, at=AT.format(59))
    )


async def add(state: State, run: ImportRun, wanted: NewConversation) -> Added:
    return await state.change(lambda db: imports.add_conversation(db, run, wanted))


async def keys_of(state: State) -> dict[str, list[int]]:
    rows = await state.read(
        lambda db: db.execute(
            "SELECT external_id, json_extract(payload, '$.text') FROM entries "
            "JOIN imported_conversations USING (conversation) ORDER BY conversation, seq"
        ).fetchall()
    )
    found: dict[str, list[int]] = {}
    for key, text in rows:
        found.setdefault(str(key), []).append(int(str(text)))
    return found


async def test_a_conversation_is_stored_ended_with_its_own_dates(state: State) -> None:
    assert await add(state, await begin(state), talk([1, 2])) == Added(True, 2)
    (row,) = await state.read(read_conversations)
    assert (row.chat, row.started_at, row.ended_at) == (CHAT, AT.format(0), AT.format(2))
    assert (row.title, row.imported_from) == ("Talk c1", "chatgpt")
    assert await state.read(lambda db: read_open(db, CHAT, ReadPosition(), after=0)) == (ReadPosition(), ())


async def test_only_what_is_new_is_added(state: State) -> None:
    run = await begin(state)
    await add(state, run, talk([1, 2]))
    assert await add(state, run, talk([1, 2])) == Added(False, 0)
    assert await add(state, run, talk([1, 5, 3])) == Added(False, 2)
    assert await keys_of(state) == {"c1": [1, 2, 5, 3]}
    (row,) = await state.read(read_conversations)
    assert row.ended_at == AT.format(5)


async def test_the_same_id_in_another_chat_is_another_conversation(state: State) -> None:
    await add(state, await begin(state), talk([1]))
    other = await state.change(
        partial(
            imports.begin_run, chat="imported:discord:2", format="chatgpt", source="/a.zip", at=AT.format(59)
        )
    )
    assert await add(state, other, talk([1])) == Added(True, 1)


async def test_an_interrupted_run_goes_on(state: State) -> None:
    first = await begin(state)
    assert await begin(state) == first
    assert await begin(state, "/b.zip") != first
    await add(state, first, talk([1]))
    assert await state.change(partial(imports.end_run, run=first.run, at=AT.format(59)))
    assert (await begin(state)).run > first.run


async def test_a_run_that_brought_nothing_is_not_kept(state: State) -> None:
    run = await begin(state)
    assert not await state.change(partial(imports.end_run, run=run.run, at=AT.format(59)))
    assert await state.read(imports.read_runs) == ()


async def test_a_run_is_removed_in_steps_and_others_stay(state: State) -> None:
    first = await begin(state)
    await add(state, first, talk([1, 2]))
    await add(state, first, talk([1, 2, 3], key="c2"))
    await state.change(partial(imports.end_run, run=first.run, at=AT.format(59)))
    second = await begin(state)
    await add(state, second, talk([1, 2, 3, 4]))
    assert await state.read(partial(imports.count_run, run=first.run)) == RunCounts(2, 5, 0)
    assert await state.change(partial(imports.remove_messages, run=first.run, limit=3)) == 3
    assert await state.change(partial(imports.remove_messages, run=first.run, limit=3)) == 2
    assert await state.change(partial(imports.remove_messages, run=first.run, limit=3)) == 0
    assert await keys_of(state) == {"c1": [3, 4]}
    assert [row.number for row in await state.read(read_conversations)] == [1]
    assert await add(state, second, talk([1, 2, 3, 4])) == Added(False, 2)


async def test_imported_conversations_are_no_chats(state: State, tmp_path: Path) -> None:
    await add(state, await begin(state), talk([1]))
    assert await state.read(partial(read_latest_conversations, limit=9)) == ()
    stats = await state.read(partial(read_conversation_stats, asked_since=AT.format(0), now=AT.format(1)))
    assert (stats.conversations, stats.ended) == (0, 0)
    assert check_state(tmp_path / "state.db", seconds=10).begun == ""


async def test_notes_are_known_by_their_content_and_replaced_by_their_source(state: State) -> None:
    note = ImportedNote(1, "a.md", "d1", "a.md", "file", ("x", "y"))
    await state.change(partial(imports.save_note, note=note))
    await state.change(partial(imports.save_note, note=note))
    assert await state.read(partial(imports.read_notes, run=1)) == (note,)
    assert await state.read(partial(imports.find_copies, digest="d1", but=1)) == []
    assert await state.read(partial(imports.find_copies, digest="d1", but=2)) == [("a.md", True)]
    await state.change(partial(imports.delete_note, note=note))
    assert await state.read(partial(imports.find_note, run=1, source="a.md")) is None
