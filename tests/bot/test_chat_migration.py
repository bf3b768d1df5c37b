"""A chat that its platform calls by another id from one moment on, as a group of Telegram that becomes larger."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.chat_lock import lock_chat
from bot.chat_migration import ChatMigrations
from bot.config.settings import FlushSettings
from bot.conversations.conversation import Conversation
from bot.messages import ChatId, Reply
from bot.models.protocol import UserMessage
from bot.state import chat_migration, inbox
from tests.fakes.harness import Harness, open_harness
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.stored_conversation import open_conversation
from tests.fakes.turns import NOW, message

OLD, NEW = ChatId("telegram", "-5"), ChatId("telegram", "-1005")
IN_OLD: dict[str, Any] = {"chat": str(OLD), "sender": "telegram:1", "alone": False, "in_room": True}
IN_NEW: dict[str, Any] = {**IN_OLD, "chat": str(NEW)}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


async def say(house: Harness, text: str, where: dict[str, Any]) -> str:
    await house.accept(text, **where)
    await house.wait_until_idle()
    return house.reply(-1)


async def said_in(house: Harness, chat: ChatId) -> list[str]:
    """What stands in a chat's conversation, without the names of who said it."""
    return [text.rpartition(": ")[2] for text in await house.history(str(chat))]


async def test_a_conversation_goes_on_under_the_new_id(house: Harness) -> None:
    house.model.enqueue("Hello")
    await say(house, "Hi", IN_OLD)
    await house.assistant.rename_chat(OLD, NEW)
    house.model.enqueue("As I said")
    assert await say(house, "Once more", IN_NEW) == "As I said"
    assert await said_in(house, NEW) == ["Hi", "Hello", "Once more", "As I said"]
    assert await house.history(str(OLD)) == []


async def test_it_is_known_at_once_while_a_turn_still_runs_and_what_waits_goes_on_in_order(
    house: Harness,
) -> None:
    """The adapter learns of it in the middle of showing a reply, and cannot wait for that reply's end."""
    house.model.enqueue(["one", " and", " a half"], held=True)
    first = await house.accept("first", **IN_OLD)
    await house.wait_until_asked(1)
    second = await house.accept("/remember second", **IN_OLD)
    third = await house.accept("third", **IN_OLD)
    await house.assistant.rename_chat(OLD, NEW)
    assert not any(part.final for _, parts in house.telegram.shown for part in parts), "it waited for the end"
    fourth = await house.accept("/remember fourth", **IN_NEW)
    fifth = await house.accept("fifth", **IN_NEW)
    house.model.enqueue("three")
    house.model.enqueue("five")
    await house.wait_until_idle()
    assert [key for key, _ in house.telegram.shown] == [
        first.id,
        f"-5#{second.id}",
        f"-5#{third.id}",
        fourth.id,
        fifth.id,
    ]
    assert await said_in(house, NEW) == ["first", "one and a half", "third", "three", "fifth", "five"]
    assert await house.count_undelivered() == 0
    assert house.assistant._queues._queues == house.assistant._turns._turns == {}
    assert house.assistant._migrations._running == {}


async def test_told_twice_and_again_after_a_restart_it_changes_nothing(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue("Hello")
        await say(house, "Hi", IN_OLD)
        await asyncio.gather(house.assistant.rename_chat(OLD, NEW), house.assistant.rename_chat(OLD, NEW))
        await house.assistant.rename_chat(OLD, NEW)
        await house.wait_until_idle()
    async with open_harness(tmp_path) as house:
        await house.assistant.rename_chat(OLD, NEW)
        house.model.enqueue("Again")
        await say(house, "Hi again", IN_NEW)
        assert await said_in(house, NEW) == ["Hi", "Hello", "Hi again", "Again"]


async def test_a_crash_after_it_was_noted_leaves_the_rest_to_the_next_start(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue("Hello")
        await say(house, "Hi", IN_OLD)
        house.model.enqueue("never", hang=True)
        running = await house.accept("slow", **IN_OLD)
        await house.wait_until_asked(2)
        waiting = await house.accept("/remember this", **IN_OLD)
        at = house.state.at()
        await house.state.change(lambda db: chat_migration.save_move(db, OLD, NEW, at=at))
        await house.assistant.close(0)
    async with open_harness(tmp_path) as house:
        house.model.enqueue("there you are")
        house.model.enqueue("yes")
        await house.accept("new", **IN_NEW)
        await house.wait_until_idle()
        shown = house.telegram.replies()
        assert shown[f"-5#{running.id}"] == "there you are"
        assert f"-5#{waiting.id}" in shown
        assert await said_in(house, NEW) == ["Hi", "Hello", "slow", "there you are", "new", "yes"]
        assert await house.state.read(chat_migration.read_moves) == ((OLD, NEW, True),)
        assert await house.count_undelivered() == 0


async def test_a_message_that_still_comes_with_the_old_id_is_answered_in_the_new_chat_once(
    house: Harness,
) -> None:
    said = message("Hi", **IN_OLD)
    house.model.enqueue("Hello")
    await house.assistant.accept(said)
    await house.wait_until_idle()
    await house.assistant.rename_chat(OLD, NEW)
    await house.wait_until_idle()
    assert not await house.assistant.accept(said), "it was answered before the chat moved"
    late = message("late", **IN_OLD)
    house.model.enqueue("Never mind")
    assert await house.assistant.accept(late)
    assert not await house.assistant.accept(late)
    await house.wait_until_idle()
    assert house.telegram.replies()[f"-5#{late.id}"] == "Never mind"
    assert await said_in(house, NEW) == ["Hi", "Hello", "late", "Never mind"]


async def test_an_edit_of_a_message_that_waited_takes_its_place_there(house: Harness) -> None:
    house.model.enqueue("slow", held=True)
    await house.accept("first", **IN_OLD)
    await house.wait_until_asked(1)
    meant = await house.accept("wrong", **IN_OLD)
    await house.assistant.rename_chat(OLD, NEW)
    assert not await house.assistant.accept(message("right", **IN_OLD, edit_of=meant.id))
    house.model.enqueue("yes")
    await house.wait_until_idle()
    assert await said_in(house, NEW) == ["first", "slow", "right", "yes"]


async def test_stop_in_the_new_chat_ends_the_turn_that_began_in_the_old_one(house: Harness) -> None:
    house.model.enqueue("on and on", hang=True)
    asked = await house.accept("go", **IN_OLD)
    await house.wait_until_asked(1)
    await house.assistant.rename_chat(OLD, NEW)
    assert await say(house, "/stop", IN_NEW) == phrases.STOPPED
    assert house.telegram.replies()[asked.id].endswith(phrases.STOPPED_HERE)
    assert "go" in await said_in(house, NEW)


async def test_where_the_memory_is_open_it_is_so_for_the_first_message_under_the_new_id(
    house: Harness,
) -> None:
    await say(house, "/memory on", IN_OLD)
    house.model.enqueue("slow", delay=0.1)
    await house.accept("first", **IN_OLD)
    await house.wait_until_asked(1)
    await house.assistant.rename_chat(OLD, NEW)
    assert await say(house, "/remember the boiler is blue", IN_NEW) != phrases.MEMORY_IS_CLOSED
    assert "boiler" in await say(house, "/recall boiler", IN_NEW)


async def test_what_is_to_come_and_what_was_chosen_goes_along_with_topics_too(house: Harness) -> None:
    topic = {**IN_OLD, "chat": f"{OLD}/45"}
    await say(house, "/remind 2h water the plants", IN_OLD)
    await say(house, "/remind 3h feed the cat", topic)
    await say(house, "/model scripted/model", topic)
    await house.assistant.rename_chat(OLD, NEW)
    await house.wait_until_idle()
    assert "water the plants" in await say(house, "/reminders", IN_NEW)
    in_new_topic = {**IN_NEW, "chat": f"{NEW}/45"}
    assert "feed the cat" in await say(house, "/reminders", in_new_topic)
    assert await house.state.read_chosen_model(f"{NEW}/45") == "scripted/model"
    assert "You have no reminders" in await say(house, "/reminders", {**IN_NEW, "chat": "telegram:-55/45"})


@dataclass(slots=True)
class Places(RecordingAdapter):
    """Also remembers in which chat it was to show something."""

    name: str = "telegram"
    chats: list[ChatId] = field(default_factory=list)

    async def render(self, reply: Reply) -> None:
        self.chats.append(reply.chat)
        await RecordingAdapter.render(self, reply)


async def test_what_nobody_asked_for_is_shown_in_the_new_chat(tmp_path: Path) -> None:
    adapter = Places()
    async with open_harness(tmp_path, channels=[adapter]) as house:
        at = house.state.at()

        async def put(key: str) -> None:
            await house.state.change(lambda db: inbox.add_notice(db, str(OLD), key, key=key, owner="", at=at))

        await put("before")
        await house.assistant.rename_chat(OLD, NEW)
        await put("after")  # by who had read the old id before
        await house.assistant.resume()
        await house.wait_until_idle()
        assert adapter.chats == [NEW, NEW]
        assert adapter.replies() == {"notice-1": "before", "notice-2": "after"}
        assert await house.count_undelivered() == 0


@pytest.mark.thorough
async def test_a_notice_that_waits_for_another_is_shown_in_the_new_chat(tmp_path: Path) -> None:
    adapter = Places(pause=0.5)
    async with open_harness(tmp_path, channels=[adapter]) as house:
        at = house.state.at()
        for key in ("first", "second"):
            put = partial(inbox.add_notice, chat=str(OLD), text=key, key=key, owner="", at=at)
            await house.state.change(put)
        await house.assistant.resume()
        async with asyncio.timeout(20):
            while not adapter.shown:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        await house.assistant.rename_chat(OLD, NEW)
        await house.wait_until_idle()
        assert adapter.chats == [OLD, NEW], "what is being shown goes on where it is"
        assert await house.count_undelivered() == 0


@pytest.mark.thorough
async def test_what_comes_late_by_the_old_id_is_joined_when_the_reply_there_has_been_shown(
    house: Harness,
) -> None:
    house.telegram.pause = 0.6
    house.model.enqueue("Hello")
    await house.accept("Hi", **IN_OLD)
    await house.wait_until_asked(1)
    await house.assistant.rename_chat(OLD, NEW)
    await house.assistant._migrations.wait_until_migrated(NEW)
    assert await house.count_undelivered() == 1, "it is still being shown"
    await Conversation(house.state, OLD).append(UserMessage("late"))
    await house.wait_until_idle()
    assert await said_in(house, NEW) == ["Hi", "Hello", "late"]
    assert await house.history(str(OLD)) == []


@pytest.mark.thorough
async def test_a_message_for_whose_rest_it_is_waited_is_answered_in_the_new_chat(
    house: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.assistant.MORE_PARTS_SECONDS", 0.6)
    album = replace(message("the first picture", **IN_OLD), more_soon=True)
    await house.assistant.accept(album)
    await asyncio.sleep(0.01)
    await house.assistant.rename_chat(OLD, NEW)
    for _ in range(2):
        house.model.enqueue("yes")
    await house.accept("next", **{**IN_NEW, "sender": "telegram:2"})
    await house.wait_until_idle()
    assert f"-5#{album.id}" in house.telegram.replies()
    assert sorted(await said_in(house, NEW)) == sorted(["the first picture", "yes", "next", "yes"])
    assert await house.history(str(OLD)) == []


async def test_it_waits_for_another_process_that_answers_in_the_old_chat(
    house: Harness, tmp_path: Path
) -> None:
    house.model.enqueue("Hello")
    await say(house, "Hi", IN_OLD)
    house.model.enqueue("Hello again")
    async with lock_chat(tmp_path / ".commonplace" / "locks", OLD):
        await house.assistant.rename_chat(OLD, NEW)
        await house.accept("Still there?", **IN_NEW)
        await asyncio.sleep(0.05)
        assert len(house.model.history) == 1
    await house.wait_until_idle()
    assert await said_in(house, NEW) == ["Hi", "Hello", "Still there?", "Hello again"]


async def test_where_both_have_lived_for_long_the_old_conversation_ends_and_is_noted(tmp_path: Path) -> None:
    """Nothing of it is lost: it stands in state.db as after `/new`, and what matters goes into the notes."""
    async with open_harness(tmp_path, flush=FlushSettings(token_threshold=6000)) as house:
        for where, what in ((IN_OLD, "old"), (IN_NEW, "new")):
            await say(house, "/memory on", where)
            house.model.enqueue("Noted")
            await say(house, f"I like what is {what}", where)
        house.model.enqueue("- likes the new one")
        await say(house, "/flush", IN_NEW)
        await house.assistant.rename_chat(OLD, NEW)
        await house.wait_until_idle()
        assert await said_in(house, NEW) == ["I like what is new", "Noted"]
        house.model.enqueue("- likes the old one")
        await house.compactor.resume()
        assert "likes the old one" in (tmp_path / "memory" / f"{NOW:%Y-%m-%d}.md").read_text("utf-8")
        assert await open_conversation(house.state, str(OLD)) is None


async def test_a_chat_that_moves_on_before_all_has_gone_over_ends_where_it_is_last(house: Harness) -> None:
    last = ChatId("telegram", "-2005")
    house.model.enqueue("slow", held=True)
    await house.accept("first", **IN_OLD)
    await house.wait_until_asked(1)
    await house.accept("second", **IN_OLD)
    await house.assistant.rename_chat(OLD, NEW)
    await house.accept("third", **IN_NEW)
    await house.assistant.rename_chat(NEW, last)
    await house.accept("fourth", **{**IN_NEW, "chat": str(last)})
    for _ in range(3):
        house.model.enqueue("yes")
    await house.wait_until_idle()
    spoken = [text for text in await said_in(house, last) if text not in ("slow", "yes")]
    assert spoken == ["first", "second", "third", "fourth"]
    assert await house.count_undelivered() == 0


FOUND_SOMETHING = (56, 83, 105, 145)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [*range(8), *FOUND_SOMETHING])
async def test_whenever_it_happens_everything_is_answered_once_and_in_order(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    async with open_harness(tmp_path) as house:
        for _ in range(20):
            house.model.enqueue("yes", delay=chance.choice((0, 0.001, 0.01)))
        sent, told = [], 0
        when = chance.randrange(8)
        for number in range(10):
            if number >= when and told < 2 and chance.random() < 0.8:
                told += 1
                await house.assistant.rename_chat(OLD, NEW)
            where = IN_NEW if number >= when and told else IN_OLD
            if told and chance.random() < 0.2:
                where = IN_OLD  # as a platform delivers it that has known it for long
            said = message(f"{'/remember ' if chance.random() < 0.3 else ''}words {number}", **where)
            sent.append(replace(said, sender=replace(said.sender, id=chance.choice("12"))))
            assert await house.assistant.accept(sent[-1])
            await asyncio.sleep(chance.choice((0, 0, 0.005)))
        if not told:
            await house.assistant.rename_chat(OLD, NEW)
        await house.wait_until_idle()
        spoken = [text for text in await said_in(house, NEW) if text.startswith("words")]
        assert spoken == [each.text for each in sent if not each.text.startswith("/")]
        answered = {
            answer.rpartition("#")[2]
            for _, parts in house.telegram.shown
            for part in parts
            for answer in part.answers
        }
        assert answered == {each.id for each in sent}
        assert await house.count_undelivered() == 0
        assert await house.history(str(OLD)) == []
        asked = [request.messages[-1] for request in house.model.history]
        assert all(isinstance(each, UserMessage) for each in asked)


async def test_what_could_not_go_over_goes_over_later_and_keeps_nobody_waiting(
    house: Harness, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    house.model.enqueue("Hello")
    await say(house, "Hi", IN_OLD)
    refused = asyncio.Event()

    @asynccontextmanager
    async def hold(chat: ChatId) -> AsyncIterator[None]:
        if not refused.is_set():
            refused.set()
            raise OSError("no locks available")
        async with lock_chat(tmp_path / ".commonplace" / "locks", chat):
            yield

    async def quiet(chat: ChatId) -> None:
        del chat

    gone: list[tuple[ChatId, ChatId]] = []
    moves = ChatMigrations(house.state, house.compactor, lock=hold, retry_seconds=0.02)
    await moves.record(OLD, NEW, on_new=lambda: None)
    waiting = asyncio.create_task(moves.wait_until_migrated(NEW))
    task = asyncio.create_task(
        moves.migrate(OLD, wait_until_idle=quiet, on_moved=lambda old, new: gone.append((old, new)))
    )
    await waiting
    assert gone == []
    await task
    assert gone == [(OLD, NEW)]
    assert await said_in(house, NEW) == ["Hi", "Hello"]
    assert "no locks available" in caplog.text
