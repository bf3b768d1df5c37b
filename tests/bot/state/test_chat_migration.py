import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from bot.messages import ChatId
from bot.state import chat_migration, conversations, flushes, inbox
from bot.state.database import State
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.stored_conversation import open_conversation
from tests.fakes.turns import message

OLD, NEW = ChatId("telegram", "-5"), ChatId("telegram", "-1005")
AT = "2026-11-21T12:00:00.000+00:00"


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db")) as state:
        yield state


def columns(db: apsw.Connection) -> dict[str, list[tuple[str, str]]]:
    """Name and type of each column, by table."""
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {
        str(table): [
            (str(name), str(kind))
            for name, kind in db.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
        ]
        for (table,) in tables.fetchall()
    }


def add_row(db: apsw.Connection, table: str, chat: ChatId) -> None:
    """Put a row for a chat into a table, with something in each of its columns."""
    values: dict[str, Any] = {}
    for name, kind in columns(db)[table]:
        if name == "chat":
            values[name] = str(chat)
        elif kind == "TEXT" and name != "ended_at":
            values[name] = json.dumps({"of": f"{table} {chat.name.count('0')}"})
        elif name not in ("number", "id", "ended_at"):
            values[name] = 0
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def found(db: apsw.Connection, text: str) -> set[str]:
    """Where a text stands, alone or as the beginning of a part's name."""
    return {
        f"{table}.{name}"
        for table, each in columns(db).items()
        for name, _ in each
        if db.execute(
            f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {name} = ? OR {name} LIKE ?)", (text, f"{text}/%")
        ).get
    }


def move(db: apsw.Connection, old: ChatId = OLD, new: ChatId = NEW) -> None:
    chat_migration.save_move(db, old, new, at=AT)
    for part in chat_migration.read_parts(db, old):
        chat_migration.move_rows(db, part, chat_migration.map_chat(part, old, new))


async def test_every_table_that_keeps_something_for_a_chat_is_known_to_what_moves_it(state: State) -> None:
    """A table that comes to be later is named here until bot/state/chat_migration.py knows it."""
    all_columns = await state.read(columns)
    with_chat = {table for table, each in all_columns.items() if "chat" in dict(each)}
    of_imports = {"imports", "imported_conversations"}  # their chats are on no platform, so they never move
    assert with_chat - of_imports == {*chat_migration.MULTI_ROW_TABLES, *chat_migration.SINGLE_ROW_TABLES}
    words = ("chat", "room", "thread", "topic")
    alike = {
        f"{table}.{name}"
        for table, each in all_columns.items()
        for name, _ in each
        if name != "chat" and any(word in name for word in words)
    }
    assert alike == {"reminders.chat_name", "reminders.in_room"}, "is that a chat's id?"


@pytest.mark.parametrize("part", ["", "/45"])
@pytest.mark.parametrize("new_has_its_own", [False, True])
async def test_nothing_is_kept_by_the_old_id_afterwards(
    state: State, part: str, new_has_its_own: bool
) -> None:
    old, new = (ChatId(each.channel, each.name + part) for each in (OLD, NEW))
    beside = ChatId("telegram", "-55")

    def work(db: apsw.Connection) -> None:
        for table in (*chat_migration.MULTI_ROW_TABLES, *chat_migration.SINGLE_ROW_TABLES):
            add_row(db, table, old)
            if table not in ("outbox", "reminders", "pairing"):
                add_row(db, table, beside)
                if new_has_its_own:
                    add_row(db, table, new)
        move(db)

    await state.change(work)
    assert await state.read(lambda db: found(db, str(OLD))) == {"moves.old"}
    assert await state.read(lambda db: found(db, str(new))) == {
        *(f"{table}.chat" for table in (*chat_migration.MULTI_ROW_TABLES, *chat_migration.SINGLE_ROW_TABLES)),
        *(() if part else {"moves.new"}),
    }
    assert len(await state.read(lambda db: found(db, str(beside)))) == 9


async def test_moved_once_more_nothing_changes(state: State) -> None:
    def dump(db: apsw.Connection) -> list[Any]:
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in columns(db)]

    def work(db: apsw.Connection) -> None:
        inbox.add(db, message("Hi", chat=str(OLD)), owner="", at=AT)
        conversations.append(db, None, str(OLD), [("user", "{}")], after=0, at=AT)
        move(db)

    await state.change(work)
    before = await state.read(dump)
    await state.change(move)
    assert await state.read(dump) == before


async def test_messages_of_the_old_chat_are_none_of_the_new_ones(state: State) -> None:
    """The ids of the new chat count from the beginning; those of the old one are not to be taken for them."""
    before = replace(message("old", chat=str(OLD), edit_of="3"), id="7", handle="topic 4")

    def work(db: apsw.Connection) -> None:
        inbox.add(db, before, owner="", at=AT)
        inbox.save_shown(db, 1, ["8"])
        inbox.add(db, replace(before, id="6"), owner="", at=AT)
        inbox.mark_delivered(db, 2)
        assert inbox.add(db, replace(before, id="7", chat=NEW, edit_of=""), owner="", at=AT)
        move(db)
        again = chat_migration.id_after_move(OLD, "6")
        assert not inbox.add(db, replace(before, id=again, chat=NEW), owner="", at=AT), "delivered before"

    await state.change(work)
    (_, first), (_, second) = await state.read(inbox.read_undelivered)
    assert (first.message.id, first.message.edit_of, first.message.handle) == ("-5#7", "-5#3", "")
    assert (first.message.chat, first.message.text, first.shown) == (NEW, "old", ())
    assert (second.message.id, second.message.edit_of) == ("7", "")
    assert second.message.handle == "topic 4"


async def test_a_message_that_cannot_be_read_does_not_hold_up_the_move(state: State) -> None:
    def work(db: apsw.Connection) -> None:
        inbox.add(db, message("x", chat=str(OLD)), owner="", at=AT)
        db.execute("UPDATE inbox SET payload = '{broken'")
        move(db)

    await state.change(work)
    assert "inbox.chat" not in await state.read(lambda db: found(db, str(OLD)))


@pytest.mark.parametrize("earlier", [OLD, NEW])
async def test_two_open_conversations_become_one_the_later_behind_the_earlier(
    state: State, earlier: ChatId
) -> None:
    later = NEW if earlier == OLD else OLD

    def work(db: apsw.Connection) -> None:
        conversations.append(db, None, str(earlier), [("user", '"1"'), ("assistant", '"2"')], after=0, at=AT)
        conversations.append(db, None, str(later), [("user", '"3"')], after=0, at=AT)
        inbox.add(db, message("3", chat=str(later)), owner="", at=AT)
        inbox.mark_running(db, 1, [(1, 2, 1)])
        assert chat_migration.can_merge(db, OLD, NEW)
        move(db)

    await state.change(work)
    rows = await state.read(lambda db: conversations.read_entries(db, 1, 0))
    assert [(row.seq, row.payload) for row in rows] == [(1, '"1"'), (2, '"2"'), (3, '"3"')]
    assert await open_conversation(state, str(NEW)) == 1
    assert await open_conversation(state, str(OLD)) is None
    ((_, received),) = await state.read(inbox.read_undelivered)
    assert (received.conversation, received.heard) == (1, 3), "it is still known where it stands"


@pytest.mark.parametrize("kind", ["summary", "flush"])
async def test_a_conversation_that_was_summed_up_or_flushed_is_joined_to_no_other(
    state: State, kind: str
) -> None:
    def work(db: apsw.Connection) -> bool:
        conversations.append(db, None, str(OLD), [("user", "{}")], after=0, at=AT)
        number = 2
        conversations.append(db, None, str(NEW), [("user", "{}")], after=0, at=AT)
        assert chat_migration.can_merge(db, OLD, NEW)
        if kind == "summary":
            conversations.append(db, number, str(NEW), [("summary", '{"upto": 1}')], after=1, at=AT)
        else:
            flushes.begin(db, number, upto=None, cause="asked", key="", note="", heading="", at=AT)
        return chat_migration.can_merge(db, OLD, NEW)

    assert not await state.change(work)


async def test_what_was_decided_in_the_new_chat_counts_and_no_unfinished_removal_is_forgotten(
    state: State,
) -> None:
    def work(db: apsw.Connection) -> None:
        for chat, memory in ((OLD, 1), (NEW, 0)):
            db.execute("INSERT INTO rooms VALUES (?, ?)", (str(chat), memory))
            add_row(db, "forgetting", chat)
        db.execute("UPDATE forgetting SET person = 'telegram:1', unfinished = (chat = ?)", (str(OLD),))
        move(db)

    await state.change(work)
    assert await state.read(lambda db: db.execute("SELECT * FROM rooms").fetchall()) == [(str(NEW), 0)]
    assert await state.read(lambda db: db.execute("SELECT unfinished FROM forgetting").fetchall()) == [(1,)]


async def test_an_id_that_is_in_use_again_is_not_sent_away_from(state: State) -> None:
    def work(db: apsw.Connection) -> Any:
        chat_migration.save_move(db, OLD, NEW, at=AT)
        chat_migration.mark_moved(db, OLD)
        chat_migration.save_move(db, NEW, OLD, at=AT)
        return chat_migration.read_moves(db)

    assert await state.change(work) == ((NEW, OLD, False),)
