from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from apsw import Connection

from bot.conversations.conversation import Conversation
from bot.inbox import Inbox, mark_answered, mark_begun, mark_progress
from bot.maintenance.cleanup import clean_up
from bot.messages import Attachment, ChatId, Choice
from bot.models.protocol import AssistantMessage, UserMessage
from bot.process_lock import ProcessLock
from bot.state import inbox as table
from bot.state.database import State
from bot.state.inbox import InboxMessage, QueuedNotice
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.turns import HERE, message

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db"), now=lambda: NOW) as state:
        yield state


def everywhere(chat: ChatId) -> bool:
    return True


async def left(state: State, folder: Path) -> list[InboxMessage]:
    """What the next process finds, with those of this one dead."""
    with ProcessLock(folder) as presence:
        return (await Inbox(state, presence).claim(everywhere))[0]


async def test_what_a_message_is_an_edit_of_is_known_after_a_crash(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as presence:
        await Inbox(state, presence).accept(message("goodbye", edit_of="7"))
    assert [each.message.edit_of for each in await left(state, tmp_path)] == ["7"]


async def test_a_message_is_taken_in_once(state: State, tmp_path: Path) -> None:
    said = message("Hello")
    with ProcessLock(tmp_path) as presence:
        inbox = Inbox(state, presence)
        received = await inbox.accept(said)
        assert received == InboxMessage(1, said)
        assert await inbox.accept(said) is None
        assert await inbox.accept(replace(said, chat=ChatId("terminal", "other"))) is not None
        await inbox.mark_delivered(1)
        assert await inbox.accept(said) is None, "also when it was answered long ago"


async def test_what_a_dead_process_has_left_is_taken_up_in_order_by_one(state: State, tmp_path: Path) -> None:
    said = [message(f"message {number}", sender="telegram:7", chat="telegram:7") for number in range(3)]
    with ProcessLock(tmp_path) as dead:
        for each in said:
            await Inbox(state, dead).accept(each)
    with ProcessLock(tmp_path) as first, ProcessLock(tmp_path) as second:
        messages, _ = await Inbox(state, first).claim(everywhere)
        assert [each.message for each in messages] == said
        assert await Inbox(state, second).claim(everywhere) == ([], [])
        assert await Inbox(state, first).claim(everywhere) == ([], []), "it has them already"


async def test_what_a_living_process_sees_to_is_left_to_it(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as other:
        await Inbox(state, other).accept(message("Hello"))
        assert await left(state, tmp_path) == []


async def test_chats_that_a_process_does_not_serve_are_left_to_others(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as dead:
        await Inbox(state, dead).accept(message("Hello", chat="telegram:1"))
    with ProcessLock(tmp_path) as presence:
        inbox = Inbox(state, presence)
        assert await inbox.claim(lambda chat: chat.channel == "discord") == ([], [])
        assert len((await inbox.claim(lambda chat: chat.channel == "telegram"))[0]) == 1


async def test_a_turn_that_was_begun_tells_where_its_messages_stand(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as dead:
        inbox = Inbox(state, dead)
        said = [message("one"), message("two")]
        numbers = [received.number for each in said if (received := await inbox.accept(each))]
        conversation = Conversation(state, HERE)
        await conversation.load()
        await conversation.add_user_messages(
            [(UserMessage(each.text), each.sender) for each in said], also=mark_begun(1, numbers)
        )
        await inbox.record_shown(1, ["platform-5"])
    first, second = await left(state, tmp_path)
    assert (first.state, first.turn, first.conversation, first.heard) == ("running", 1, conversation.id, 1)
    assert (second.state, second.turn, second.heard) == ("running", 1, 2)
    assert first.shown == ("platform-5",)


async def test_an_answer_and_the_step_that_ends_it_are_one(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as dead:
        inbox = Inbox(state, dead)
        await inbox.accept(message("one"))
        conversation = Conversation(state, HERE)
        await conversation.load()
        await conversation.append(AssistantMessage("Hello"), also=mark_answered(1, "Hello\n\n*(by another)*"))
    (received,) = await left(state, tmp_path)
    assert (received.state, received.reply) == ("answered", "Hello\n\n*(by another)*")
    with ProcessLock(tmp_path) as presence:
        await Inbox(state, presence).mark_delivered(1)
    assert await left(state, tmp_path) == []


async def test_delivering_ends_all_that_a_turn_answers_and_keeps_no_words(
    state: State, tmp_path: Path
) -> None:
    with ProcessLock(tmp_path) as presence:
        inbox = Inbox(state, presence)
        said = [message("a secret"), message("another")]
        numbers = [received.number for each in said if (received := await inbox.accept(each))]
        conversation = Conversation(state, HERE)
        await conversation.load()
        await conversation.add_user_messages(
            [(UserMessage(each.text), each.sender) for each in said], also=mark_begun(1, numbers)
        )
        await inbox.record_answer(1, "an answer")
        await inbox.mark_delivered(1)
    rows = await state.read(lambda db: db.execute("SELECT state, payload, reply FROM inbox").fetchall())
    assert rows == [("delivered", "", None)] * 2


async def test_a_notice_goes_out_once_under_its_key(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as dead:
        inbox = Inbox(state, dead)

        def queue(db: Connection) -> QueuedNotice | None:
            choices = [Choice("Ann", "/deny a:1")]
            return table.add_notice(
                db,
                str(HERE),
                "It is time",
                key="reminder-1",
                owner=dead.token,
                at=state.at(),
                choices=choices,
            )

        notice = await state.change(queue)
        assert notice is not None
        assert await state.change(queue) is None
        await inbox.record_notice_shown(notice.number, ["m1"])
    with ProcessLock(tmp_path) as presence:
        _, (found,) = await Inbox(state, presence).claim(everywhere)
        assert (found.text, found.shown, found.chat) == ("It is time", ("m1",), HERE)
        assert found.choices == (Choice("Ann", "/deny a:1"),)
        await Inbox(state, presence).mark_notice_delivered(found.number)
    rows = await state.read(lambda db: db.execute("SELECT text, choices FROM outbox").fetchall())
    assert rows == [("", "[]")], "no words are kept"
    with ProcessLock(tmp_path) as presence:
        assert await Inbox(state, presence).claim(everywhere) == ([], [])


async def test_an_edit_changes_what_waits_and_not_what_runs_and_is_known_from_then_on(
    state: State, tmp_path: Path
) -> None:
    with ProcessLock(tmp_path) as dead:
        inbox = Inbox(state, dead)
        said = message("helo")
        assert await inbox.accept(said)
        edit = message("hello", edit_of=said.id)
        await inbox.edit(1, edit)
        await inbox.edit(1, edit)
        assert await inbox.accept(edit) is None
        conversation = Conversation(state, HERE)
        await conversation.load()
        await conversation.add_user_messages([(UserMessage("hello"), said.sender)], also=mark_begun(1, [1]))
        await inbox.edit(1, message("goodbye", edit_of=said.id))
    (received,) = await left(state, tmp_path)
    assert received.message == replace(said, text="hello")


async def test_what_is_taken_up_in_vain_is_counted_until_it_gets_on(state: State, tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as dead:
        inbox = Inbox(state, dead)
        await inbox.accept(message("one"))
        conversation = Conversation(state, HERE)
        await conversation.load()
        await conversation.add_user_messages(
            [(UserMessage("one"), message("one").sender)], also=mark_begun(1, [1])
        )
        for _ in range(3):
            await inbox.count_attempt(1)
    (received,) = await left(state, tmp_path)
    assert received.attempts == 3
    await conversation.append(AssistantMessage("Let me see."), also=mark_progress(1))
    with ProcessLock(tmp_path) as presence:
        await inbox.count_attempt(1)
        ((found,), _) = await Inbox(state, presence).claim(everywhere)
    assert found.attempts == 1


async def test_ids_are_forgotten_when_no_platform_delivers_them_any_more(
    state: State, tmp_path: Path
) -> None:
    with ProcessLock(tmp_path) as presence:
        inbox = Inbox(state, presence)
        done, waits = message("done"), message("waits")
        await inbox.accept(done)
        await inbox.accept(waits)
        await inbox.mark_delivered(1)
        await clean_up(state, NOW + timedelta(days=20))
        assert await inbox.accept(done) is None
        await clean_up(state, NOW + timedelta(days=31))
        assert await inbox.accept(done) is not None
        assert await inbox.accept(waits) is None, "what is not answered is never forgotten"


async def test_any_text_comes_back_as_it_was(state: State, tmp_path: Path) -> None:
    said = replace(
        message("数 \u0000 \ud83d\n\t'\"", chat="telegram:-100"),
        sender_name="Ánna",
        chat_name="家",
        in_room=True,
    )
    with ProcessLock(tmp_path) as dead:
        await Inbox(state, dead).accept(said)
    (received,) = await left(state, tmp_path)
    assert received.message == replace(said, text="数 \u0000 \ufffd\n\t'\"")


async def test_a_row_that_cannot_be_read_keeps_no_other_from_being_answered(
    state: State, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ProcessLock(tmp_path) as dead:
        inbox = Inbox(state, dead)
        for text in ("one", "two", "three"):
            await inbox.accept(message(text))
    await state.change(lambda db: db.execute("UPDATE inbox SET payload = '{\"x\": 1}' WHERE number = 2"))
    assert [each.message.text for each in await left(state, tmp_path)] == ["one", "three"]
    assert "message 2 of the inbox is damaged" in caplog.text


async def test_there_is_an_index_on_what_is_open_alone(state: State) -> None:
    plan = await state.read(
        lambda db: db.execute(
            "EXPLAIN QUERY PLAN SELECT owner, chat FROM inbox WHERE state != 'delivered'"
        ).fetchall()
    )
    assert "inbox_open" in str(plan)
    assert await state.read(table.read_undelivered) == ()


async def test_an_edit_of_a_message_that_waits_changes_what_came_along_too(
    state: State, tmp_path: Path
) -> None:
    old, new = Attachment("picture", "old"), Attachment("picture", "new")
    said = replace(message("look", alone=False), attachments=(old,), sender_name="Ann")
    with ProcessLock(tmp_path) as presence:
        inbox = Inbox(state, presence)
        first = await inbox.accept(said)
        assert first
        change = replace(
            said, id="edit", edit_of=said.id, text="look here", attachments=(new,), sender_name=""
        )
        await inbox.edit(first.number, change)
    (waiting,) = await left(state, tmp_path)
    assert waiting.message == replace(said, text="look here", attachments=(new,))


async def test_with_the_lease_of_a_channel_the_messages_of_one_that_hangs_are_ours_too(
    state: State, tmp_path: Path
) -> None:
    with ProcessLock(tmp_path) as halted, ProcessLock(tmp_path) as presence:
        for chat in ("telegram:7", "terminal:main"):
            await Inbox(state, halted).accept(message("Hello", sender="telegram:7", chat=chat))
        assert await Inbox(state, presence).claim(everywhere) == ([], [])
        messages, _ = await Inbox(state, presence, leased=["telegram"]).claim(everywhere)
    assert [str(each.message.chat) for each in messages] == ["telegram:7"]
