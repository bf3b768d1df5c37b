"""Messages come in through the real library over real sockets: all, once, in order."""

import asyncio
import dataclasses
import logging
from pathlib import Path

import pytest

from adapters.discord.access_groups import access_groups
from adapters.discord.incoming import ReceivedMessage
from adapters.discord.receiving import MAX_WAITING_MESSAGES
from bot.channel_store import ChannelStore
from bot.config.settings import Settings
from bot.messages import NotAccepted
from bot.searchable_chats import is_private
from bot.state.database import State
from tests.adapters.discord.listening import PAUSES, Ear, listening, refuses_all
from tests.fakes.discord_api.chats import Channel, Guild
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi


@pytest.fixture
def ben(api: DiscordApi) -> Person:
    return api.person("ben")


@pytest.fixture
def home(api: DiscordApi, anna: Person, ben: Person) -> Guild:
    return api.guild("Home", anna, ben)


@pytest.fixture
def general(home: Guild) -> Channel:
    return home.text("general")


async def test_what_is_said_comes_in_where_it_is_meant_for_the_bot(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.say("just between us", general)
        await anna.ask("hello", general)
        await anna.say("in private")
        await ear.until(lambda: len(ear.messages) == 2)
    in_room, direct = ear.messages if ear.messages[0].in_room else ear.messages[::-1]
    assert (in_room.text, in_room.chat.name, in_room.chat_name) == (
        "hello",
        str(general.id),
        "#general · Home",
    )
    assert (direct.text, direct.chat.name, direct.in_room) == ("in private", f"@{anna.id}", False)
    # What may be searched there depends on it:
    channels = Settings().channels
    assert is_private(direct.sender, direct.chat, channels)
    assert not is_private(in_room.sender, in_room.chat, channels)


async def test_messages_of_a_channel_come_in_their_order(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        for number in range(50):
            await anna.ask(f"{number}", general)
            await anna.say(f"{number}")
        await ear.until(lambda: len(ear.messages) == 100)
    assert ear.texts_in(general.id) == ear.texts_in(f"@{anna.id}") == [str(number) for number in range(50)]


async def test_what_is_not_accepted_is_offered_again_and_nothing_overtakes_it(
    api: DiscordApi, anna: Person, ben: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    tries = 3

    def refuses(message: object) -> Exception | None:
        nonlocal tries
        if getattr(message, "text", "") == "one" and tries:
            tries -= 1
            return NotAccepted("the disk is full: make room")
        return None

    ear.refuses = refuses
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await ben.ask("two", general)
        await ear.until(lambda: len(ear.messages) == 2)
        await ear.until(lambda: ear.health[-1].detail == "")
    assert ear.texts == ["one", "two"]
    assert "the disk is full: make room" in [health.detail for health in ear.health]


async def test_what_is_deleted_before_it_can_be_accepted_is_never_accepted(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    ear.refuses = refuses_all
    async with listening(api, tmp_path, ear):
        one, two = await anna.ask("one", general), await anna.ask("two", general)
        await ear.until(lambda: ear.health[-1].detail)
        await anna.delete(one)
        await anna.delete(two)
        await ear.until(lambda: (str(general.id), str(two.id)) in ear.withdrawn)
        ear.refuses = lambda _: None
        await anna.ask("three", general)
        await ear.until(lambda: ear.messages)
    assert ear.texts == ["three"]


async def test_what_is_deleted_while_it_is_accepted_is_withdrawn_afterwards(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    accept = ear.accept

    async def slow(said: ReceivedMessage) -> bool:
        await anna.delete(general.messages[-1])
        await ear.until(lambda: ear.withdrawn)
        ear.withdrawn.clear()
        return await accept(said)

    ear.accept = slow  # type: ignore[method-assign]
    async with listening(api, tmp_path, ear):
        one = await anna.ask("one", general)
        await ear.until(lambda: ear.messages and (str(general.id), str(one.id)) in ear.withdrawn)
    assert ear.texts == ["one"]


@pytest.mark.thorough
@pytest.mark.parametrize("call", ["history", "member"])
async def test_a_request_that_is_not_answered_holds_up_nobody_for_long(
    call: str, api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await ear.until(lambda: ear.messages)
        await asyncio.sleep(10 * PAUSES.save)
    await anna.ask("missed", general)
    api.fail(call, Fault.hang(), times=2)
    async with listening(api, tmp_path, ear, pauses=dataclasses.replace(PAUSES, answer=0.2)):
        await anna.ask("live", general)
        await ear.until(lambda: "live" in ear.texts)
        assert len(api.calls_of(call)) > 2
    assert ear.texts == ["before", "missed", "live"]


async def test_another_channel_goes_on_while_one_is_not_accepted(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    ear.refuses = lambda message: NotAccepted("no") if message.in_room else None
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await anna.say("two")
        await ear.until(lambda: ear.texts == ["two"])


async def test_a_restart_takes_in_ten_missed_messages_in_three_channels_once_and_in_order(
    api: DiscordApi, anna: Person, home: Guild, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    news = home.text("news")
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await anna.say("before")
        await ear.until(lambda: len(ear.messages) == 2)
        await asyncio.sleep(0.5)  # else it may end before it knows that they were accepted
    for number in range(10):
        await anna.ask(f"{number}", general)
        await anna.ask(f"{number}", news)
        await anna.say("not for the bot", news)
        await anna.say(f"{number}")
    async with listening(api, tmp_path, ear):
        await anna.ask("after", general)
        await ear.until(lambda: len(ear.messages) == 33)
        await asyncio.sleep(0.1)
    ten = [str(number) for number in range(10)]
    assert ear.texts_in(general.id) == ["before", *ten, "after"]
    assert ear.texts_in(news.id) == ten
    assert ear.texts_in(f"@{anna.id}") == ["before", *ten]
    assert ear.twice == 0


async def test_more_than_a_page_of_history_is_read(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await ear.until(lambda: ear.messages)
    for number in range(230):
        await anna.ask(f"{number}", general)
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: len(ear.messages) == 231)
    assert ear.texts[1:] == [str(number) for number in range(230)]
    assert len(api.calls_of("history")) == 3


async def test_live_messages_wait_until_what_was_missed_before_them_is_taken_in(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await ear.until(lambda: ear.messages)
    for number in range(3):
        await anna.ask(f"{number}", general)
    api.fail("history", Fault.status(503), times=3)
    async with listening(api, tmp_path, ear):
        await anna.ask("live", general)
        await ear.until(lambda: len(ear.messages) == 5)
        await asyncio.sleep(0.05)
    assert ear.texts == ["before", "0", "1", "2", "live"]


async def test_what_is_said_while_it_connects_waits_for_what_was_missed(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await ear.until(lambda: ear.messages)
    for number in range(3):
        await anna.ask(f"{number}", general)
    api.fail("history", Fault.delay(0.1))
    async with listening(api, tmp_path, ear, is_up=False):
        await api.wait_until_connected()
        await anna.ask("live", general)
        await ear.until(lambda: len(ear.messages) == 5)
    assert ear.texts == ["before", "0", "1", "2", "live"]


async def test_nothing_of_before_the_bot_came_is_taken_in(
    api: DiscordApi, anna: Person, ben: Person, tmp_path: Path
) -> None:
    ear = Ear()
    first = api.guild("First", anna)
    general = first.text("general")
    await anna.ask("long ago", general)
    async with listening(api, tmp_path, ear):
        await anna.ask("now", general)
        await ear.until(lambda: ear.messages)
    late = api.guild("Late", anna)
    late.kick(api.bot)
    offtopic = late.text("offtopic")
    await anna.say(f"{api.bot.mention} you are not there yet", offtopic)
    await asyncio.sleep(0.01)
    late.join(api.bot)
    await anna.ask("welcome", offtopic)
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: len(ear.messages) == 2)
        await asyncio.sleep(0.1)
    assert ear.texts == ["now", "welcome"]


async def test_what_an_owner_wrote_before_the_bot_ever_heard_them_is_found(
    api: DiscordApi, anna: Person, ben: Person, home: Guild, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, people=(anna,)):
        await asyncio.sleep(0.1)
    await anna.say("are you there?")
    await ben.say("I am new")
    async with listening(api, tmp_path, ear, people=(anna,)):
        await ear.until(lambda: ear.texts == ["are you there?"])
        await ben.say("hello?")
        await ear.until(lambda: len(ear.messages) == 3)
    assert ear.texts_in(f"@{ben.id}") == ["I am new", "hello?"]


async def test_a_thread_that_was_closed_meanwhile_is_read(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    thread = await anna.open_thread(await anna.say("something", general), "A plan")
    async with listening(api, tmp_path, ear):
        await anna.ask("one", thread)
        await ear.until(lambda: ear.messages)
        await asyncio.sleep(0.05)
    await anna.ask("two", thread)
    await anna.archive(thread)
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: ear.texts == ["one", "two"])
    assert {message.chat_name for message in ear.messages} == {"#general › A plan · Home"}


async def test_a_channel_without_its_history_is_told_with_the_mend(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
    assert general.guild
    general.deny(general.guild.everyone, "read_message_history")
    await anna.ask("two", general)
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: "Read Message History" in ear.health[-1].detail)
        assert "#general" in ear.health[-1].detail
        assert ear.health[-1].state == "up"
        await anna.ask("three", general)
        await ear.until(lambda: len(ear.messages) == 2)
    assert ear.texts == ["one", "three"]


async def test_what_could_not_be_accepted_before_a_restart_is_taken_in_after_it(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        ear.refuses = lambda message: refuses_all(message) if message.in_room else None
        await anna.ask("two", general)
        await anna.say("direct")
        await ear.until(lambda: "direct" in ear.texts)
    ear.refuses = lambda _: None
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: len(ear.messages) == 3)
    assert ear.texts_in(general.id) == ["one", "two"]


@pytest.mark.thorough
async def test_more_than_can_be_held_is_read_from_the_history_later(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        ear.refuses = refuses_all
        for number in range(250):
            await anna.ask(f"{number}", general)
        await ear.until(lambda: ear.health[-1].detail)
        await asyncio.sleep(0.3)
        ear.refuses = lambda _: None
        await ear.until(lambda: len(ear.messages) == 250)
    assert ear.texts == [str(number) for number in range(250)]


@pytest.mark.thorough
async def test_what_cannot_be_held_while_a_history_is_read_is_read_from_it_too(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await ear.until(lambda: ear.messages)
    await anna.ask("missed", general)
    ear.refuses = refuses_all
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: ear.health[-1].detail)
        for number in range(250):
            await anna.ask(f"{number}", general)
        await asyncio.sleep(0.3)
        ear.refuses = lambda _: None
        await ear.until(lambda: len(ear.messages) == 252)
    assert ear.texts == ["before", "missed", *(str(number) for number in range(250))]


async def test_of_edits_that_cannot_be_accepted_the_latest_are_held(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        message = await anna.ask("tea", general)
        await ear.until(lambda: ear.messages)
        ear.refuses = refuses_all
        for number in range(MAX_WAITING_MESSAGES + 20):
            await anna.edit(message, f"{api.bot.mention} tea {number}")
            await asyncio.sleep(0.001)  # else several were made in the same moment
        await asyncio.sleep(0.1)
        ear.refuses = lambda _: None
        await ear.until(lambda: ear.texts[-1] == f"tea {MAX_WAITING_MESSAGES + 19}")
    assert len(ear.messages) <= MAX_WAITING_MESSAGES + 2


async def test_a_reply_with_nothing_that_can_be_read_is_not_taken_for_one_that_discord_hides(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        answer = api.post(general, api.bot, content="Yes?")
        await anna.say("", general, reply_to=answer, ping=False)
        await anna.ask("next", general)
        await ear.until(lambda: ear.messages)
        assert ear.health[-1].detail == ""


async def test_what_was_edited_before_it_was_taken_in_is_no_edit_when_a_thread_is_opened_below_it(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("before", general)
        await ear.until(lambda: ear.messages)
    message = await anna.ask("tea", general)
    await anna.edit(message, f"{api.bot.mention} coffee")
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: len(ear.messages) == 2)
        api.tell_message("MESSAGE_UPDATE", message)
        await anna.ask("next", general)
        await ear.until(lambda: "next" in ear.texts)
    assert ear.texts == ["before", "coffee", "next"]


async def test_an_edit_of_long_ago_that_is_told_again_is_none(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    now = api.clock()
    api.clock = lambda: now - 30 * 24 * 3600
    message = await anna.ask("tea", general)
    await anna.edit(message, f"{api.bot.mention} coffee")
    api.clock = lambda: now
    async with listening(api, tmp_path, ear):
        api.tell_message("MESSAGE_UPDATE", message)
        await anna.ask("next", general)
        await ear.until(lambda: "next" in ear.texts)
    assert ear.texts == ["next"]


async def test_who_wrote_what_was_missed_is_known_with_name_and_roles(
    api: DiscordApi, anna: Person, ben: Person, home: Guild, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    cooks = home.role("cooks")
    home.give(anna, cooks)
    home.members[anna.id].nick = "The chef"
    async with listening(api, tmp_path, ear):
        await anna.ask("live", general)
        await ear.until(lambda: ear.messages)
    for _ in range(3):
        await anna.ask("missed", general)
    await ben.ask("missed", general)
    home.kick(ben)
    api.fail("member", Fault.status(503))
    async with listening(api, tmp_path, ear):
        await ear.until(lambda: len(ear.messages) == 5)
    assert [one.message.sender_name for one in ear.said] == ["The chef"] * 4 + ["ben"]
    assert [cooks.id in (one.roles or ()) for one in ear.said] == [True] * 4 + [False]
    assert access_groups(ear.said[-1]) == (), "who has left counts as nobody there"
    assert len(api.calls_of("member")) == 3


async def test_a_new_session_takes_in_nothing_twice(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, pauses=dataclasses.replace(PAUSES, slack=5.0)) as life:
        for session in range(3):
            await anna.ask(f"{session}", general)
            await anna.say(f"{session}")
            await ear.until(lambda: len(ear.messages) == 2 * session + 2)  # noqa: B023 - awaited at once
            await api.gateway.invalidate()
            await ear.until(lambda: len(life.ready) == session + 2)  # noqa: B023
        await asyncio.sleep(0.1)
        assert api.calls_of("history"), "it has looked whether something was missed"
    assert ear.texts_in(general.id) == ear.texts_in(f"@{anna.id}") == ["0", "1", "2"]
    assert ear.twice == 0


class SlowEar(Ear):
    """One whose disk is slow: it is done with a message only once it may be."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = asyncio.Event()

    async def accept(self, said: ReceivedMessage) -> bool:
        is_new = await super().accept(said)
        await self.may_end.wait()
        return is_new


async def test_what_is_said_between_two_sessions_is_not_missed_while_the_first_message_of_all_is_accepted(
    api: DiscordApi, anna: Person, tmp_path: Path
) -> None:
    ear = SlowEar()
    async with listening(api, tmp_path, ear) as life:
        await anna.say("one")
        await ear.until(lambda: ear.messages)
        await api.gateway.close(4009)
        await anna.say("two")
        await ear.until(lambda: len(life.ready) == 2)
        ear.may_end.set()
        await ear.until(lambda: len(ear.messages) == 2)
    assert ear.texts == ["one", "two"]


async def test_what_is_said_between_two_sessions_is_not_missed_while_a_history_is_taken_in(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    async with listening(api, tmp_path, Ear()):
        pass
    await anna.ask("one", general)
    ear = SlowEar()
    async with listening(api, tmp_path, ear) as life:
        await ear.until(lambda: ear.messages)
        await api.gateway.close(4009)
        await anna.ask("two", general)
        await ear.until(lambda: len(life.ready) == 2)
        ear.may_end.set()
        await ear.until(lambda: len(ear.messages) == 2)
    assert ear.texts == ["one", "two"]


async def test_a_guild_that_the_bot_comes_into_is_heard(
    api: DiscordApi, anna: Person, tmp_path: Path
) -> None:
    ear = Ear()
    late = api.guild("Late", anna)
    late.kick(api.bot)
    offtopic = late.text("offtopic")
    await anna.say(f"{api.bot.mention} you are not there yet", offtopic)
    async with listening(api, tmp_path, ear):
        await asyncio.sleep(0.01)
        late.join(api.bot)
        await anna.ask("welcome", offtopic)
        await ear.until(lambda: ear.messages)
    assert ear.texts == ["welcome"]


async def test_an_edit_is_another_message_in_the_first_ones_place(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        message = await anna.ask("tea", general)
        await anna.edit(message, f"{api.bot.mention} coffee")
        await ear.until(lambda: len(ear.messages) == 2)
    first, second = ear.messages
    assert (second.text, second.edit_of) == ("coffee", first.id)
    assert second.id.startswith(f"{first.id}.")


async def test_a_preview_that_discord_adds_is_no_edit(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        message = await anna.ask("https://example.org", general)
        message.embeds = [{"type": "link", "title": "Example"}]
        api.tell_message("MESSAGE_UPDATE", message)
        await anna.ask("next", general)
        await ear.until(lambda: len(ear.messages) == 2)
    assert ear.texts == ["https://example.org", "next"]


async def test_an_event_that_the_library_cannot_read_is_set_aside_without_its_words(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    bad = {"id": "5", "channel_id": str(general.id), "content": "my secret diary"}
    odd = {"guild_id": "my secret"}
    async with listening(api, tmp_path, ear):
        await api.gateway.send_raw({"op": 0, "t": "MESSAGE_CREATE", "s": None, "d": bad})
        await api.gateway.send_raw({"op": 0, "t": "GUILD_ROLE_CREATE", "s": None, "d": odd})
        await anna.ask("next", general)
        await ear.until(lambda: ear.texts == ["next"])
    async with State(tmp_path / "state.db") as state:
        assert await ChannelStore(state, "discord").count_unreadable() == 1
    told = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(told) == 2
    assert not any("secret" in record.getMessage() or record.exc_info for record in told)
    assert len(api.gateway.identified) == 1


async def test_the_mark_is_kept_while_it_runs(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        message = await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        async with State(tmp_path / "state.db") as state, asyncio.timeout(5):
            store = ChannelStore(state, "discord")
            while await store.get("heard") != str(message.id) or await store.list_prefix("behind:"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
