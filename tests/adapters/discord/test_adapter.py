"""Discord as people have it: they write, the whole assistant answers, by the real library over real sockets."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.discord.access_groups import access_groups
from adapters.discord.incoming import ReceivedMessage
from bot import phrases
from bot.messages import ChatId, PersonId
from tests.adapters.discord.life import IMPATIENT, Life, life
from tests.adapters.discord.listening import QUICK
from tests.fakes.discord_api.chats import Channel
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import message

SLOWLY = 0.08
"""Seconds between two pieces of an answer."""


@pytest.fixture
def olga(api: DiscordApi) -> Person:
    """The owner."""
    return api.person("olga")


@pytest.fixture
def stranger(api: DiscordApi) -> Person:
    return api.person("mallory")


@pytest.fixture
def general(api: DiscordApi, olga: Person, anna: Person, stranger: Person) -> Channel:
    return api.guild("Home", olga, anna, stranger, api.bot).text("general")


@pytest.fixture
async def here(
    api: DiscordApi, tmp_path: Path, olga: Person, anna: Person, general: Channel
) -> AsyncIterator[Life]:
    async with life(api, tmp_path, owners=[olga], allow=[anna]) as here:
        yield here


async def quiet(here: Life) -> None:
    """Wait until all is answered, and shown."""
    await asyncio.sleep(0.02)
    await here.house.wait_until_idle()


# -- talking --------------------------------------------------------------------------------------------------


async def test_a_direct_message_is_answered_as_the_answer_grows(here: Life, anna: Person) -> None:
    here.model.enqueue(["It is ", "**blue** ", "today."], delay=SLOWLY)
    await anna.say("What colour is the sky?")
    answer = await anna.dm.answer()
    await quiet(here)
    assert answer.first_content != answer.content
    assert (answer.content, answer.reference) == ("It is **blue** today.", None)
    assert anna.dm.texts == ["It is **blue** today."]
    assert await here.house.history(f"discord:@{anna.id}") == [
        "What colour is the sky?",
        "It is **blue** today.",
    ]
    assert not here.api.refusals


@pytest.mark.thorough
async def test_an_answer_that_comes_late_in_a_conversation_points_to_its_question(
    here: Life, anna: Person
) -> None:
    here.model.enqueue(["One", " moment."], delay=0.15)
    here.model.enqueue("Two.")
    first = await anna.say("one")
    await here.house.wait_until_asked(1)
    await anna.say("two")
    await anna.dm.answer(containing="Two.")
    await quiet(here)
    one, two = anna.dm.replies
    assert (one.reference, two.reference) == (first, None)


async def test_in_a_channel_only_who_calls_is_answered(here: Life, anna: Person, general: Channel) -> None:
    here.model.enqueue("Blue.")
    here.model.enqueue("And warm.")
    await anna.say("Who is there?", general)
    asked = await anna.ask("which colour?", general)
    answer = await general.answer(asked)
    await quiet(here)
    again = await anna.say("and?", general, reply_to=answer)
    await general.answer(again)
    await quiet(here)
    assert [(reply.content, reply.reference) for reply in general.replies] == [
        ("Blue.", asked),
        ("And warm.", again),
    ]
    assert all(not reply.pinged for reply in general.replies)
    assert len(here.model.history) == 2


async def test_a_thread_and_a_post_of_a_forum_are_conversations_apart(
    here: Life, anna: Person, general: Channel
) -> None:
    assert general.guild
    thread = await anna.open_thread(await anna.say("look", general), "Look")
    here.model.enqueue("In the thread.")
    await anna.ask("the tap drips", thread)
    await thread.answer()
    await quiet(here)
    here.model.enqueue("In the post.")
    post = await anna.post(general.guild.forum(), "Roses", f"{here.api.bot.mention} need water")
    await post.channel.answer()
    await quiet(here)
    assert (thread.texts, post.channel.texts) == (["In the thread."], ["In the post."])
    heard = [str(getattr(each, "text", "")) for each in here.model.history[1].messages]
    assert not any("tap drips" in text for text in heard)


async def test_what_is_edited_while_it_is_answered_is_answered_anew(here: Life, anna: Person) -> None:
    here.model.enqueue(["Milk is", " white."], hang=True)
    here.model.enqueue("Cream is rich.")
    said = await anna.say("milk?")
    await anna.dm.answer(containing="Milk is")
    await anna.edit(said, "cream?")
    await anna.dm.answer(containing="Cream is rich.")
    await quiet(here)
    assert [text for text in anna.dm.texts if "Milk" not in text] == ["Cream is rich."]


async def test_what_is_deleted_while_it_waits_is_not_answered(
    here: Life, anna: Person, general: Channel
) -> None:
    here.model.enqueue(["One", " moment."], delay=0.3)
    here.model.enqueue("Three.")
    await anna.say("one")
    await here.house.wait_until_asked(1)
    two = await anna.say("two")
    await here.house.wait_until_accepted(2)
    await anna.delete(two)
    await anna.say("three")
    await anna.dm.answer(containing="Three.")
    await quiet(here)
    assert anna.dm.texts == ["One moment.", "Three."]
    assert "two" not in await here.house.history(f"discord:@{anna.id}")
    assert await here.house.count_undelivered() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("threads", [False, True])
async def test_what_a_moderator_clears_while_it_waits_is_not_answered(
    threads: bool, api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    async with life(api, tmp_path, allow=[anna], threads=threads, turns_at_once=1) as here:
        here.model.enqueue(["One", " moment."], delay=0.3)
        here.model.enqueue("Four.")
        await anna.ask("one", general)
        await here.house.wait_until_asked(1)
        cleared = [await anna.ask("two", general), await anna.ask("three", general)]
        await here.house.wait_until_accepted(3)
        api.delete_messages(*cleared)
        await anna.ask("four", general)
        await here.house.wait_until_asked(2)
        await quiet(here)
        assert [here.heard(0), here.heard(1)] == ["anna: one", "anna: four"]
        assert await here.house.count_undelivered() == 0


@pytest.mark.thorough
async def test_an_answer_that_is_begun_goes_on_when_its_question_is_deleted(here: Life, anna: Person) -> None:
    here.model.enqueue(["It is ", "blue."], delay=0.2)
    said = await anna.say("Which colour?")
    await here.house.wait_until_asked(1)
    await anna.delete(said)
    await anna.dm.answer(containing="It is blue.")
    await quiet(here)


async def test_what_was_deleted_while_we_were_away_is_not_answered(
    api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    async with life(api, tmp_path, allow=[anna]) as here:
        here.model.enqueue(["One"], hang=True)
        await anna.ask("one", general)
        await here.house.wait_until_asked(1)
        waiting = [await anna.ask("two", general), await anna.ask("three", general)]
        await here.house.wait_until_accepted(3)
    missed = await anna.ask("four", general)
    await anna.delete(waiting[0])
    await anna.delete(missed)
    model = ScriptedModel()
    model.enqueue("One.")
    model.enqueue("Three.")
    patient = replace(IMPATIENT, call=5, receiving=replace(IMPATIENT.receiving, client=5))
    async with life(api, tmp_path, allow=[anna], model=model, times=patient) as here:
        await general.answer(waiting[1], containing="Three.")
        await quiet(here)
        assert here.heard() == "anna: three"
        assert len(model.history) == 2
        assert await here.house.count_undelivered() == 0


@pytest.mark.thorough
async def test_what_was_deleted_while_the_connection_was_lost_is_not_answered(
    here: Life, anna: Person
) -> None:
    here.model.enqueue(["One", " moment."], delay=1.0)
    here.model.enqueue("Three.")
    await anna.say("one")
    await here.house.wait_until_asked(1)
    two = await anna.say("two")
    await here.house.wait_until_accepted(2)
    here.api.gateway.forget()
    async with here.api.outage():
        await anna.delete(two)
    await here.api.wait_until_connected()
    await anna.say("three")
    await anna.dm.answer(containing="Three.")
    await quiet(here)
    assert "two" not in await here.house.history(f"discord:@{anna.id}")


# -- commands and buttons -------------------------------------------------------------------------------------


async def test_a_slash_command_is_answered_in_its_place(here: Life, anna: Person, general: Channel) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("status"))
    begun = time.monotonic()
    asked = await anna.use("status", general)
    answer = await asked.answer(containing="scripted/model")
    assert time.monotonic() - begun < 2
    assert answer.ephemeral
    assert general.replies == []
    await quiet(here)
    assert not here.api.calls_of("create_message")


async def test_reminders_can_be_picked_where_they_were_set(
    here: Life, anna: Person, general: Channel
) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("reminders"))
    for place, text in ((anna.dm, "dinner"), (general, "the plants")):
        asked = await anna.use("remind", place, when="2h", text=text)
        await asked.answer(containing="Reminder")
        picking = await anna.complete("reminders", "number", "", place)
        await picking.acknowledgement()
        assert [text in choice["name"] for choice in picking.choices] == [True]


@pytest.mark.thorough
async def test_a_slash_command_that_asks_the_model_grows_in_its_place(
    here: Life, anna: Person, general: Channel
) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("retry"))
    here.model.enqueue("It is green.")
    await anna.ask("which colour?", general)
    await general.answer(containing="green")
    await quiet(here)
    here.model.enqueue(["It is ", "blue."], delay=0.15)
    asked = await anna.use("retry", general)
    await asked.answer(containing="blue.")
    await quiet(here)
    assert asked.texts == ["It is blue."]
    assert len(general.replies) == 2


@pytest.mark.parametrize(("command", "is_private"), [("status", True), ("retry", False)])
async def test_what_cannot_be_answered_in_its_place_is_told_where_it_may_be_read(
    here: Life, anna: Person, general: Channel, command: str, is_private: bool
) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("retry"))
    for words in ("It is green.", "It is blue."):
        here.model.enqueue(words)
    await anna.ask("which colour?", general)
    await general.answer(containing="green")
    await quiet(here)
    here.api.fail("edit_original", Fault.refuse(50027), times=None)
    await anna.use(command, general)
    if is_private:
        await here.api.wait_until(lambda: any("scripted/model" in text for text in anna.dm.texts))
    else:
        await general.answer(containing="It is blue.")
    await quiet(here)
    assert (len(general.replies), len(anna.dm.replies)) == ((1, 1) if is_private else (2, 0))


async def test_reminders_of_a_direct_conversation_can_be_picked_there(here: Life, anna: Person) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("reminders"))
    await (await anna.use("remind", when="2h", text="water the roses")).answer()
    await quiet(here)
    typing = await anna.complete("reminders", "number", "ros", action="cancel")
    await typing.acknowledgement()
    assert [choice["name"] for choice in typing.choices] == ["#1 water the roses"]


async def test_a_command_is_answered_where_nothing_may_be_written(
    here: Life, anna: Person, general: Channel
) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("usage"))
    general.deny(here.api.bot, "send_messages")
    here.model.enqueue("Nobody hears this.")
    await anna.ask("which colour?", general)
    await here.house.wait_until_asked(1)
    await quiet(here)
    assert general.replies == []
    asked = await anna.use("status", general)
    await asked.answer(containing="scripted/model")
    await quiet(here)


async def test_what_is_private_is_told_nowhere_if_not_in_private(
    here: Life, anna: Person, general: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("status"))
    anna.refuses = 50007
    here.api.fail("edit_original", Fault.refuse(50027), times=None)
    await anna.use("status", general)
    await here.api.wait_until(lambda: "can no longer be answered" in caplog.text)
    here.model.enqueue("It is blue.")
    await anna.ask("which colour?", general)
    await general.answer(containing="blue")
    await quiet(here)
    assert (general.texts, anna.dm.texts) == (["It is blue."], [])


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_stranger_is_announced_to_the_owner_and_let_in_by_a_button(
    here: Life, olga: Person, stranger: Person, is_late: bool
) -> None:
    """`is_late`: the press cannot be answered as such any more."""
    if is_late:
        here.api.fail("edit_original", Fault.refuse(50027), times=None)
    here.model.enqueue("Welcome.")
    await stranger.say("hello?")
    code = (await stranger.dm.answer()).content
    asked = await olga.dm.answer(containing="mallory")
    assert asked.labels
    assert here.model.history == []
    pressed = next(button for button in asked.buttons if button["custom_id"].startswith("/pair"))
    await olga.press(asked, pressed["label"])
    await here.api.wait_until(lambda: not asked.labels, what="the buttons' end")
    await quiet(here)
    assert code
    assert len(olga.dm.replies) == 1, "what is chosen takes the place of what was to be chosen from"
    await stranger.say("hello again")
    await stranger.dm.answer(containing="Welcome.")
    await quiet(here)


async def test_a_stranger_in_a_channel_learns_nothing_by_a_command(
    here: Life, stranger: Person, general: Channel
) -> None:
    await here.api.wait_until(lambda: here.api.bot.command("status"))
    asked = await stranger.use("status", general)
    answer = await asked.answer()
    assert (answer.content, answer.ephemeral) == (phrases.NO_ANSWER_HERE, True)
    assert general.replies == []


# -- over outages and restarts --------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_a_call_that_is_left_off_while_all_calls_are_held_holds_no_other(
    api: DiscordApi, tmp_path: Path, anna: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.reply_streamer.TYPING_AFTER", 0.0)
    api.fail("typing", Fault.rate_limit(1.5, "global"))
    async with life(api, tmp_path, allow=[anna], times=replace(IMPATIENT, call=5, settle=10)) as here:
        here.model.enqueue("Blue.", delay=0.1)
        await anna.say("which colour?")
        await anna.dm.answer(containing="Blue.")
        assert [call.status for call in api.calls_of("typing")] == [429]


@pytest.mark.thorough
async def test_an_answer_is_told_once_discord_is_there_again(here: Life, anna: Person) -> None:
    here.model.enqueue(["It is ", "blue."], delay=0.2)
    await anna.say("Which colour?")
    await here.house.wait_until_asked(1)
    async with here.api.outage():
        await asyncio.sleep(0.5)
    await anna.dm.answer(containing="It is blue.", within=10)
    await quiet(here)
    assert anna.dm.texts == ["It is blue."]


async def test_an_answer_that_was_cut_off_by_a_crash_goes_on_where_it_stands(
    api: DiscordApi, tmp_path: Path, anna: Person
) -> None:
    async with life(api, tmp_path, allow=[anna]) as here:
        here.model.enqueue(["It is"], hang=True)
        await anna.say("Which colour?")
        await anna.dm.answer(containing="It is")
    model = ScriptedModel()
    model.enqueue("It is blue.")
    async with life(api, tmp_path, allow=[anna], model=model) as here:
        await anna.dm.answer(containing="It is blue.")
        await quiet(here)
    assert anna.dm.texts == ["It is blue."]


async def test_what_was_missed_is_answered_in_each_channel(
    api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    async with life(api, tmp_path, allow=[anna]) as here:
        here.model.enqueue("Hello.")
        await anna.say("hi")
        await anna.dm.answer()
        await asyncio.sleep(10 * QUICK.guilds)  # all guilds are known: from here on something may be missed
        await quiet(here)
    await anna.say("are you there?")
    asked = await anna.ask("and here?", general)
    async with life(api, tmp_path, allow=[anna], is_up=False) as here:
        here.model.enqueue("I am.")
        here.model.enqueue("I am.")
        await anna.dm.answer(containing="I am.")
        await general.answer(asked)
        await quiet(here)
    assert (anna.dm.texts, general.texts) == (["Hello.", "I am."], ["I am."])


@pytest.mark.thorough
async def test_a_chat_that_is_closed_to_the_bot_is_told_once(
    here: Life, anna: Person, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna.refuses = 50007
    monkeypatch.setattr("adapters.discord.adapter.GONE_SECONDS", 0.0)
    for number in range(4):
        here.model.enqueue("Nobody hears this.")
        await anna.say(f"one {number}")
        await here.house.wait_until_asked(number + 1)
        await quiet(here)
    assert await here.house.count_undelivered() == 0
    assert caplog.text.count("cannot send messages in discord:@") == 1
    assert "Traceback" not in caplog.text
    assert len(here.api.calls_of("create_message")) == 4, "each is tried once"
    monkeypatch.setattr("adapters.discord.adapter.GONE_SECONDS", 1.0)
    anna.refuses = 0
    here.model.enqueue("Here I am.")
    await anna.say("and now?")
    await here.house.wait_until_asked(5)
    await asyncio.sleep(0.1)
    assert len(here.api.calls_of("create_message")) == 4, "so soon after a refusal it waits"
    await anna.dm.answer(containing="Here I am.")
    await quiet(here)


# -- threads --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_an_answer_opens_a_thread_where_that_is_wanted(
    api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    async with life(api, tmp_path, allow=[anna], threads=True, times=replace(IMPATIENT, call=20)) as here:
        here.model.enqueue(["It is ", "blue."], delay=SLOWLY)
        here.model.enqueue("And warm.")
        asked = await anna.ask("which colour?", general)
        await api.wait_until(lambda: asked.thread and asked.thread.texts[-1:] == ["It is blue."])
        await quiet(here)
        assert asked.thread
        assert (asked.thread.name, general.texts) == ("which colour?", [])
        await anna.say("and?", asked.thread)
        await asked.thread.answer(containing="And warm.")
        await quiet(here)
        heard = [str(getattr(each, "text", "")) for each in here.model.history[1].messages]
        assert any("which colour?" in text for text in heard), (
            "the thread is one conversation with its question"
        )
        assert not api.refusals


async def test_an_answer_in_a_thread_goes_on_after_a_crash(
    api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    async with life(api, tmp_path, allow=[anna], threads=True) as here:
        here.model.enqueue(["It is"], hang=True)
        asked = await anna.ask("which colour?", general)
        await api.wait_until(lambda: asked.thread and asked.thread.texts[-1:] == ["It is"])
    model = ScriptedModel()
    model.enqueue("It is blue.")
    async with life(api, tmp_path, allow=[anna], threads=True, model=model) as here:
        await api.wait_until(lambda: asked.thread and asked.thread.texts[-1:] == ["It is blue."])
        await quiet(here)
    assert asked.thread
    assert (asked.thread.texts[1:], general.texts) == (["It is blue."], [])


async def test_where_no_thread_may_be_opened_the_answer_stands_in_the_channel(
    api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    general.deny(api.bot, "create_public_threads")
    async with life(api, tmp_path, allow=[anna], threads=True) as here:
        here.model.enqueue("It is blue.")
        asked = await anna.ask("which colour?", general)
        answer = await general.answer(asked)
        await quiet(here)
        assert (answer.content, answer.reference, asked.thread) == ("It is blue.", asked, None)
        assert await here.house.history(f"discord:{general.id}"), (
            "it is told in the channel's own conversation"
        )
        here.model.enqueue("It is warm.")
        general.reset(api.bot)
        api.fail("thread_from_message", Fault.refuse(50013))
        await asyncio.sleep(0.05)  # until the bot knows of the permission
        asked = await anna.ask("and?", general)
        answer = await general.answer(asked)
        await quiet(here)
        assert (answer.content, answer.reference, asked.thread) == ("It is warm.", asked, None)
        assert api.calls_of("thread_from_message")


# -- who may talk by where they are ---------------------------------------------------------------------------


async def test_a_role_lets_its_people_talk_and_command_in_its_guild_and_nowhere_else(
    api: DiscordApi, tmp_path: Path, anna: Person, stranger: Person, general: Channel
) -> None:
    home = general.guild
    assert home
    cooks = home.role("cooks")
    home.give(anna, cooks)
    away = api.guild("Away", anna, stranger).text("general")
    async with life(api, tmp_path, groups=[f"discord:{home.id}/@{cooks.id}"]) as here:
        here.model.enqueue("Tea.")
        answer = await general.answer(await anna.ask("what is there?", general))
        assert answer.content == "Tea."
        asked = await anna.use("status", general)
        await api.wait_until(lambda: asked.original and asked.original.content)
        assert asked.original
        assert "scripted/model" in asked.original.content
        await stranger.ask("and for me?", general)
        await anna.ask("and here?", away)
        await anna.say("and alone?")
        await api.wait_until(lambda: anna.dm.texts)
        await quiet(here)
        assert anna.dm.texts[0].startswith(phrases.PAIRING.partition("{")[0]), "they are a stranger there"
        assert len(here.model.history) == 1


@pytest.mark.thorough
async def test_a_channel_lets_people_talk_in_its_threads_also_in_one_that_was_closed_meanwhile(
    api: DiscordApi, tmp_path: Path, anna: Person, general: Channel
) -> None:
    thread = await anna.open_thread(await anna.say("something", general), "A plan")
    assert general.guild
    groups = [f"discord:{general.guild.id}/#{general.id}"]
    async with life(api, tmp_path, groups=groups) as here:
        here.model.enqueue("One.")
        await thread.answer(await anna.ask("one?", thread))
        await asyncio.sleep(0.5)  # until it knows that it has missed nothing before
        await quiet(here)
    asked = await anna.ask("two?", thread)
    await anna.archive(thread)
    async with life(api, tmp_path, groups=groups) as here:
        here.model.enqueue("Two.")
        assert (await thread.answer(asked)).content == "Two."
        await quiet(here)


# -- what others rely on --------------------------------------------------------------------------------------


async def test_a_person_has_one_home(here: Life) -> None:
    assert here.adapter.home_of(PersonId("discord", "7")) == ChatId("discord", "@7")
    assert here.adapter.home_of(PersonId("discord", "*")) is None
    assert here.adapter.home_of(PersonId("discord", "²")) is None
    served = ("discord:7", "discord:@7", "discord:general", "telegram:7")
    assert [here.adapter.serves(ChatId.parse(name)) for name in served] == [True, True, False, False]


async def test_a_wrong_token_is_told_and_ends_nothing(api: DiscordApi, tmp_path: Path, anna: Person) -> None:
    api.bot.token = "another"
    async with life(api, tmp_path, allow=[anna], is_up=False) as here:
        api.bot.token = "yet another"
        await api.wait_until(lambda: here.adapter.health.state == "down")
        assert "token" in here.adapter.health.detail


def test_groups_are_those_of_the_guild_where_something_is_said() -> None:
    said = message("hi", chat="discord:33", sender="discord:7", in_room=True)
    assert access_groups(ReceivedMessage(said, guild=11, parent=32, roles=(11, 21, 22))) == (
        "11",
        "11/#33",
        "11/#32",
        "11/@21",
        "11/@22",
    )
    assert access_groups(ReceivedMessage(said, guild=11)) == ("11", "11/#33")
    direct = message("hi", chat="discord:44", sender="discord:7")
    assert access_groups(ReceivedMessage(direct, roles=(21,))) == ()


# -- commands -------------------------------------------------------------------------------------------------


async def test_commands_are_made_known_to_the_servers_of_the_settings_alone(
    api: DiscordApi, tmp_path: Path, olga: Person, general: Channel
) -> None:
    (home,) = api.guilds.values()
    async with life(api, tmp_path, owners=[olga], servers=[home.id]):
        await api.wait_until(lambda: api.bot.commands.get(home.id))
    assert not api.bot.commands.get(0)
