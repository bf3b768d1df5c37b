import copy
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.telegram.incoming import ReachChanged
from adapters.telegram.incoming_text import BotIdentity
from adapters.telegram.receiving import AcceptedUpdate, Receiver
from bot.channel_store import ChannelStore
from bot.messages import ChatId, IncomingMessage, NotAccepted
from bot.state.database import State, StateFault
from tests.fakes.bot_api import people
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.world import USERNAME, World

Json = dict[str, Any]
NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


class Assistant:
    """Takes everything in, unless told otherwise, and remembers it."""

    def __init__(self) -> None:
        self.messages: list[IncomingMessage] = []
        self.moves: list[tuple[ChatId, ChatId]] = []
        self.reaches: list[ReachChanged] = []
        self.error: Exception | None = None

    async def accept(self, message: IncomingMessage) -> bool:
        if self.error:
            raise self.error
        self.messages.append(message)
        return message.addressed

    async def moved(self, old: ChatId, new: ChatId) -> None:
        if self.error:
            raise self.error
        self.moves.append((old, new))

    async def reach(self, reach: ReachChanged) -> None:
        self.reaches.append(reach)


@pytest.fixture(autouse=True)
def times_as_timedelta(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the connection has it."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


@pytest.fixture
def world() -> World:
    world = World(clock=lambda: 1_790_000_000.0)
    world.bot.privacy = False
    return world


@pytest.fixture
def anna(world: World) -> Person:
    return world.person(7, "Anna")


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(tmp_path / "state.db") as state:
        yield state


@pytest.fixture
def store(state: State) -> ChannelStore:
    return ChannelStore(state, "telegram")


@pytest.fixture
def assistant() -> Assistant:
    return Assistant()


@pytest.fixture
def receiver(world: World, assistant: Assistant, store: ChannelStore) -> Receiver:
    return receiver_of(world, assistant, store)


def receiver_of(world: World, assistant: Assistant, store: ChannelStore) -> Receiver:
    return Receiver(
        BotIdentity(world.bot.id, USERNAME),
        assistant.accept,
        store,
        moved=assistant.moved,
        reach=assistant.reach,
        now=lambda: NOW,
    )


def latest(world: World) -> Json:
    return world.bot.inbox.pending[-1]


async def test_a_message_goes_to_the_assistant(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    await anna.say("hello")
    taken = await receiver.take_in(latest(world))
    (message,) = assistant.messages
    assert taken == AcceptedUpdate(message, awaits_reply=True)
    assert message.text == "hello"


async def test_a_button_is_to_be_answered_whatever_it_says(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    shown = world.post(anna.chat, world.bot, None)
    press = await anna.press(shown, "/pair ABCD", forged=True)
    taken = await receiver.take_in(latest(world))
    assert taken == AcceptedUpdate(assistant.messages[0], awaits_reply=True, press=press.id)
    press = await anna.press(shown, "nonsense", forged=True)
    assert await receiver.take_in(latest(world)) == AcceptedUpdate(None, press=press.id)
    assert len(assistant.messages) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"update_id": 5, "message": {"text": "my secret diary"}},
        {"update_id": 5, "message": "my secret diary"},
        {"update_id": 5, "callback_query": {"id": "1", "data": "my secret diary"}},
        {"message": {"text": "my secret diary"}},
        {"update_id": "five", "message": {"message_id": 1, "date": "my secret diary", "chat": {}}},
        {"update": ["my secret diary"]},
        {"update_id": 5, "message": {"message_id": 1, "date": 10**30, "chat": {"id": 7, "type": "private"}}},
    ],
)
async def test_what_cannot_be_read_is_set_aside_once_and_told_without_its_words(
    bad: Json,
    assistant: Assistant,
    receiver: Receiver,
    store: ChannelStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(2):
        assert await receiver.take_in(bad) is None
    assert await store.count_unreadable() == 1
    assert assistant.messages == []
    (record,) = caplog.records
    assert record.exc_info is None
    assert "diary" not in record.getMessage()


WRONG: tuple[Any, ...] = (None, "", "seven", -1, 10**30, [], [5], {}, {"x": []})


@pytest.mark.thorough
async def test_a_wrong_value_anywhere_harms_nothing(
    world: World, anna: Person, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    picture = await anna.photo(caption="`beans` and /peas")
    await anna.document(caption="hello there", reply_to=picture, quote="beans")
    group = world.group("Allotment", anna)
    await anna.forward("hello", people.from_user(anna), group)
    await anna.press(world.post(group, world.bot, None), "/pair ABCD", forged=True)
    await anna.block()
    number = 1
    for raw in list(world.bot.inbox.pending):
        for place in list(places(raw)):
            for wrong in WRONG:
                number += 1
                changed = {**put(raw, place, wrong), "update_id": number}
                await receiver.take_in(changed)  # or else it raises
    assert number > 1000
    # A value that is read as it stands is no reason for a traceback of ours.
    assert [record for record in caplog.records if record.exc_info] == []


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a document, from the outside in."""
    if place:
        yield place
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*place, key))


def put(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy with something else there."""
    copied: Any = copy.deepcopy(document)
    inside = copied
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return copied


async def test_a_fault_of_ours_is_told_in_full_and_the_update_is_kept(
    world: World,
    anna: Person,
    assistant: Assistant,
    receiver: Receiver,
    store: ChannelStore,
    state: State,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assistant.error = ZeroDivisionError("a mistake")
    await anna.say("hello")
    assert await receiver.take_in(latest(world)) is None
    assert await store.count_unreadable() == 1
    raw = await state.read(lambda db: str(db.execute("SELECT raw FROM unread").get))
    assert '"hello"' in raw
    (record,) = caplog.records
    assert record.exc_info


@pytest.mark.parametrize("error", [NotAccepted("the disk is full"), StateFault("the disk is full")])
async def test_what_cannot_be_kept_is_not_acknowledged(
    error: Exception,
    world: World,
    anna: Person,
    assistant: Assistant,
    receiver: Receiver,
    store: ChannelStore,
) -> None:
    assistant.error = error
    await anna.say("hello")
    with pytest.raises(NotAccepted, match="the disk is full"):
        await receiver.take_in(latest(world))
    assert await store.count_unreadable() == 0


async def test_what_can_be_neither_read_nor_set_aside_is_not_acknowledged(
    receiver: Receiver, state: State, store: ChannelStore
) -> None:
    pages = await state.read(lambda db: db.pragma("page_count"))
    await state.read(lambda db: db.pragma("max_page_count", pages))
    with pytest.raises(NotAccepted, match="disk is full"):
        await receiver.take_in({"update_id": 5, "message": "x" * 100_000})
    await state.read(lambda db: db.pragma("max_page_count", 1_000_000))
    await receiver.take_in({"update_id": 5, "message": "x" * 100_000})
    assert await store.count_unreadable() == 1


async def test_a_move_is_told_once_though_both_groups_tell_of_it(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    group = world.group("Allotment", anna)
    new = await world.migrate(group, anna)
    for raw in world.bot.inbox.pending:
        assert await receiver.take_in(raw) is None
    assert assistant.moves == [(ChatId("telegram", str(group.id)), ChatId("telegram", str(new.id)))]


async def test_a_move_that_failed_is_told_again(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    await world.migrate(world.group("Allotment", anna), anna)
    assistant.error = StateFault("the disk is full")
    with pytest.raises(NotAccepted):
        await receiver.take_in(latest(world))
    assistant.error = None
    await receiver.take_in(latest(world))
    assert len(assistant.moves) == 1


async def test_a_block_is_told(world: World, anna: Person, assistant: Assistant, receiver: Receiver) -> None:
    await anna.block()
    assert await receiver.take_in(latest(world)) is None
    assert assistant.reaches == [ReachChanged(ChatId("telegram", "7"), "blocked")]


async def test_a_topic_keeps_its_name_also_over_a_restart(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver, store: ChannelStore
) -> None:
    forum = world.forum("Allotment", anna)
    topic = await world.open_topic(forum, "Beans", anna)
    await receiver.take_in(latest(world))
    first = await anna.say("hello", forum, topic=topic)
    await receiver.take_in(latest(world))
    # A reply names what it replies to, and not the topic.
    await anna.say("again", forum, topic=topic, reply_to=first)
    await receiver_of(world, assistant, store).take_in(latest(world))
    await anna.say("in general", forum)
    await receiver.take_in(latest(world))
    assert [one.chat_name for one in assistant.messages] == [
        "Allotment › Beans",
        "Allotment › Beans",
        "Allotment",
    ]


async def test_a_topic_that_was_there_before_the_bot_gets_its_name_from_the_first_message(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    forum = world.forum("Allotment", anna)
    topic = await world.open_topic(forum, "Beans", anna)
    await anna.say("hello", forum, topic=topic)
    await receiver.take_in(latest(world))
    assert assistant.messages[0].chat_name == "Allotment › Beans"


async def test_all_of_an_album_is_for_the_bot_whose_caption_calls_it(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    room = world.supergroup("Allotment", anna)
    await anna.album(b"one", b"two", b"three", caption=f"@{USERNAME} what are these?", chat=room)
    await anna.album(b"four", b"five", caption="look, all of you", chat=room)
    for raw in world.bot.inbox.pending:
        await receiver.take_in(raw)
    assert [one.addressed for one in assistant.messages] == [True, True, True, False, False]


async def test_the_rest_of_a_long_text_is_for_the_bot_whose_name_begins_it(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    room = world.supergroup("Allotment", anna)
    await anna.paste(f"@{USERNAME} " + "bean " * 2000, room)
    await anna.say("and now to all", room)
    for raw in world.bot.inbox.pending:
        await receiver.take_in(raw)
    assert [one.addressed for one in assistant.messages] == [True, True, True, False]


async def test_a_later_message_is_no_rest_of_a_long_text(
    world: World, anna: Person, assistant: Assistant, receiver: Receiver
) -> None:
    room = world.supergroup("Allotment", anna)
    await anna.say(f"@{USERNAME} " + "bean " * 600, room)
    await receiver.take_in(latest(world))
    await anna.say("what else?", room)
    latest(world)["message"]["date"] += 60
    await receiver.take_in(latest(world))
    assert [one.addressed for one in assistant.messages] == [True, False]


async def test_nothing_is_logged_of_what_is_of_no_interest(
    world: World, anna: Person, receiver: Receiver, store: ChannelStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await anna.say("hello")
    other = {"update_id": 9, "poll_answer": {"poll_id": "1", "option_ids": [0], "user": anna.as_json()}}
    assert await receiver.take_in(other) is None
    assert (caplog.records, await store.count_unreadable()) == ([], 0)
