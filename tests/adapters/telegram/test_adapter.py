"""Telegram as people have it: they write, the whole assistant answers, by the real library over real sockets."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from apsw import Connection

from adapters.telegram.rate_limiter import RateLimiter
from adapters.telegram.reactions import RECEIVED_EMOJI
from bot import phrases
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate, Route
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import Answer, ModelRequest, TextDelta, UserMessage
from bot.models.retry import RetryPolicy as ModelPatience
from bot.models.routing import Routing
from bot.state import access
from bot.state.database import State
from tests.adapters.telegram.life import Life, life
from tests.fakes.bot_api.chats import Chat, Message
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.limits import Limits
from tests.fakes.bot_api.people import Person, from_hidden_user
from tests.fakes.bot_api.server import BotApi, Call
from tests.fakes.scripted_model import ScriptedModel, shown_text
from tests.fakes.turns import NOW

SLOWLY = 0.08
"""Seconds between two pieces of an answer."""


@pytest.fixture(autouse=True)
def _no_long_wait_for_albums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.assistant.MORE_PARTS_SECONDS", 0.1)


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(webhook_pause=0.02) as api:
        api.bot.inbox.conflict_pause = 0.02
        yield api


@pytest.fixture
def olga(api: BotApi) -> Person:
    """The owner."""
    return api.person(1, "Olga")


@pytest.fixture
def anna(api: BotApi) -> Person:
    return api.person(2, "Anna")


@pytest.fixture
def gus(api: BotApi) -> Person:
    """A guest."""
    return api.person(3, "Gus")


@pytest.fixture
async def here(api: BotApi, tmp_path: Path) -> AsyncIterator[Life]:
    async with life(api, tmp_path) as here:
        yield here


async def begun(chat: Chat, words: str) -> None:
    """Wait until the beginning of an answer is seen."""
    await chat.watch(
        lambda: (
            any(words in draft.text for draft in chat.drafts) or any(words in text for text in chat.texts)
        ),
        what=f"{words!r} in {chat.id}",
    )


async def quiet(here: Life) -> None:
    """Wait until all is answered, and shown."""
    await here.api.wait_until_confirmed()
    await here.house.wait_until_idle()
    await asyncio.sleep(0.05)


def reactions(api: BotApi, message: Message) -> list[str]:
    return message.reactions.get(api.bot.id, [])


def refused(api: BotApi) -> list[Call]:
    """What Telegram would not have; menus aside, for people who have not written yet have none."""
    return [call for call in api.refusals if call.method != "setMyCommands"]


# -- in private -----------------------------------------------------------------------------------------------


async def test_an_answer_streams_as_a_draft_and_then_stands_there_whole(here: Life, anna: Person) -> None:
    here.model.enqueue(["It is ", "**blue** ", "today."], delay=SLOWLY)
    await anna.say("What colour is the sky?")
    answer = await anna.chat.answer()
    assert anna.chat.drafts[0].text == "It is"
    assert (answer.text, answer.edits, answer.reply_to) == ("It is blue today.", [], None)
    assert answer.entities == [{"type": "bold", "offset": 6, "length": 4}]
    await quiet(here)
    assert anna.chat.texts == ["It is blue today."]
    assert refused(here.api) == []


async def test_what_is_answered_at_once_gets_no_sign_of_having_to_wait(here: Life, anna: Person) -> None:
    for number in range(3):
        here.model.enqueue(f"Answer {number}.")
        said = await anna.say(f"Question {number}")
        await anna.chat.answer(said)
        await quiet(here)
    assert here.api.calls_of("setMessageReaction") == []


async def test_messages_in_a_row_are_answered_together_and_marked_while_they_wait(
    here: Life, anna: Person
) -> None:
    here.model.enqueue(["One", " moment."], delay=0.15)
    here.model.enqueue("Two and three.")
    first = await anna.say("one")
    await here.house.wait_until_asked(1)
    second, third = await anna.say("two"), await anna.say("three")
    await here.api.wait_until(lambda: reactions(here.api, third) == [RECEIVED_EMOJI])
    assert (reactions(here.api, first), reactions(here.api, second)) == ([], [RECEIVED_EMOJI])
    await anna.chat.answer(containing="Two and three.")
    await quiet(here)
    assert anna.chat.texts == ["One moment.", "Two and three."]
    assert [getattr(each, "text", "") for each in here.model.history[1].messages[-2:]] == ["two", "three"]
    assert (reactions(here.api, second), reactions(here.api, third)) == ([], [])


@pytest.mark.thorough
@pytest.mark.parametrize("slow", [pytest.param(0.0, marks=pytest.mark.thorough), 0.2])
async def test_a_mark_is_taken_off_in_the_end_however_quick_the_answer(
    here: Life, anna: Person, slow: float
) -> None:
    here.model.enqueue(["One", " moment."], delay=0.15)
    await anna.say("one")
    await here.house.wait_until_asked(1)
    if slow:  # the mark arrives after it was to be taken off
        here.api.fail("setMessageReaction", Fault.delay(slow))
    status = await anna.say("/status")
    await anna.chat.answer(containing="scripted/model")
    await quiet(here)
    assert anna.chat.texts[-1] == "One moment."
    assert reactions(here.api, status) == []


@pytest.mark.thorough
async def test_a_mark_goes_though_the_program_ends_before_it_was_taken_off(
    api: BotApi, anna: Person, tmp_path: Path
) -> None:
    api.fail("setMessageReaction", Fault.hang(), after=1, times=1)
    async with life(api, tmp_path) as here:
        here.model.enqueue(["One", " moment."], delay=0.15)
        here.model.enqueue("Done.")
        await anna.say("one")
        await here.house.wait_until_asked(1)
        second = await anna.say("two")
        await anna.chat.answer(containing="Done.")
        await api.wait_until(lambda: any(call.faulty for call in api.calls_of("setMessageReaction")))
        assert reactions(api, second) == [RECEIVED_EMOJI]
    async with life(api, tmp_path) as here:
        await api.wait_until(lambda: reactions(api, second) == [])
        await quiet(here)
        assert here.model.history == []
    assert anna.chat.texts == ["One moment.", "Done."]


async def test_an_album_is_one_question(here: Life, anna: Person) -> None:
    here.model.enqueue("Two letters.")
    await anna.album((b"alpha alpha", "a.txt"), (b"beta beta", "b.txt"), caption="What are these?")
    await anna.chat.answer()
    await quiet(here)
    assert anna.chat.texts == ["Two letters."]
    heard = "\n".join(map(shown_text, here.model.history[0].messages))
    assert all(words in heard for words in ("What are these?", "alpha alpha", "beta beta"))


@pytest.mark.thorough
async def test_what_is_edited_before_it_is_heard_is_heard_as_it_is_then(here: Life, anna: Person) -> None:
    here.model.enqueue(["One", " moment."], delay=0.15)
    here.model.enqueue("Done.")
    await anna.say("one")
    await here.house.wait_until_asked(1)
    said = await anna.say("buy milk")
    await here.api.wait_until_confirmed()
    await anna.edit(said, "buy cream")
    await anna.chat.answer(containing="Done.")
    await quiet(here)
    assert here.heard() == "buy cream"
    assert anna.chat.texts == ["One moment.", "Done."]
    assert reactions(here.api, said) == []


async def test_what_is_edited_while_it_is_answered_is_answered_anew(here: Life, anna: Person) -> None:
    here.model.enqueue(["Milk is", " white."], hang=True)
    here.model.enqueue("Cream is rich.")
    said = await anna.say("milk?")
    await begun(anna.chat, "Milk is")
    await anna.edit(said, "cream?")
    await anna.chat.answer(containing="Cream is rich.")
    await quiet(here)
    assert here.heard() == "cream?"
    assert [text for text in anna.chat.texts if "Milk" not in text] == ["Cream is rich."]
    assert reactions(here.api, said) == []


async def test_what_is_edited_after_it_was_answered_is_answered_once_more(here: Life, anna: Person) -> None:
    here.model.enqueue("Milk is white.")
    here.model.enqueue("Cream is rich.")
    said = await anna.say("milk?")
    await anna.chat.answer()
    await quiet(here)
    await anna.edit(said, "cream?")
    await anna.chat.answer(containing="Cream")
    await quiet(here)
    assert anna.chat.texts == ["Milk is white.", "Cream is rich."]
    assert reactions(here.api, said) == []


async def test_edits_within_one_second_are_each_answered_and_one_that_comes_again_is_not(
    here: Life, anna: Person
) -> None:
    here.api.clock = lambda: 1_790_000_000.25
    for answer in ("Milk is white.", "Cream is rich.", "Tea is hot."):
        here.model.enqueue(answer)
    said = await anna.say("milk?")
    await anna.chat.answer()
    await quiet(here)
    await anna.edit(said, "cream?")
    again = dict(here.api.bot.inbox.pending[-1])
    await anna.chat.answer(containing="Cream")
    await quiet(here)
    await anna.edit(said, "tea?")
    await anna.chat.answer(containing="Tea")
    await here.api.push_raw(again)
    await anna.say("/help")
    await anna.chat.answer(containing="/stop")
    await quiet(here)
    assert anna.chat.texts[:-1] == ["Milk is white.", "Cream is rich.", "Tea is hot."]


async def test_an_edit_that_an_earlier_version_has_answered_is_not_answered_again(
    here: Life, anna: Person
) -> None:
    here.api.clock = lambda: 1_790_000_000.25
    here.model.enqueue("Milk is white.")
    said = await anna.say("milk?")
    await anna.chat.answer()
    await quiet(here)
    sender = PersonId("telegram", str(anna.id))
    moment = datetime.fromtimestamp(1_790_000_000, UTC)
    stored = IncomingMessage(
        f"{said.id}.1790000000",
        ChatId("telegram", str(anna.id)),
        sender,
        "cream?",
        moment,
        edit_of=str(said.id),
    )
    received = await here.house.inbox.accept(stored)
    assert received
    await here.house.inbox.mark_delivered(received.number)
    await anna.edit(said, "cream?")
    await quiet(here)
    assert anna.chat.texts == ["Milk is white."]
    assert len(here.model.history) == 1


async def test_what_is_replied_to_and_quoted_reaches_the_model(here: Life, anna: Person) -> None:
    here.model.enqueue("The shop is open until six, the bank until four.")
    here.model.enqueue("Four.")
    await anna.say("When do they close?")
    answer = await anna.chat.answer()
    await quiet(here)
    await anna.say("Sure?", reply_to=answer, quote="the bank until four")
    await anna.chat.answer(containing="Four.")
    assert "> the bank until four" in here.heard()
    assert "> The shop" not in here.heard()
    assert here.heard().endswith("Sure?")


async def test_a_forwarded_command_is_no_command(here: Life, olga: Person) -> None:
    here.model.enqueue("Somebody wants something forgotten.")
    await olga.forward("/forget x", from_hidden_user("Mallory"))
    await olga.chat.answer(containing="Somebody wants")
    assert "Forwarded from Mallory" in here.heard()


async def test_stop_ends_an_answer_while_it_streams(here: Life, anna: Person) -> None:
    here.model.enqueue(["It is a long", " story."], hang=True)
    await anna.say("Tell me")
    await begun(anna.chat, "It is a long")
    await anna.say("/stop")
    await anna.chat.answer(containing=phrases.STOPPED)
    await quiet(here)
    told = next(text for text in anna.chat.texts if "long" in text)
    assert told.endswith("(stopped)")
    assert len(anna.chat.texts) == 2


async def test_very_long_code_comes_as_a_file(here: Life, anna: Person) -> None:
    code = "\n".join(f"line {number} = {number}" for number in range(1200))
    here.model.enqueue(f"Here:\n\n```python\n{code}\n```\n\nThat is all.")
    await anna.say("Write it")
    await anna.chat.answer(containing="That is all.")
    await quiet(here)
    first, file, last = anna.chat.replies
    assert (first.text, last.text) == ("Here:", "That is all.")
    assert file.document is not None
    assert file.document.data.decode() == code + "\n"


# -- in groups ------------------------------------------------------------------------------------------------


async def test_in_a_group_only_who_calls_is_answered_and_the_answer_is_put_to_the_message(
    here: Life, anna: Person, olga: Person
) -> None:
    group = here.api.supergroup("Friends", olga, anna)
    await olga.promote_bot(group)  # it hears everything
    here.model.enqueue(["Blue", " it is."], delay=SLOWLY)
    here.model.enqueue("And warm.")
    await anna.say("Who is there?", group)
    asked = await anna.say("@commonplace_bot which colour?", group)
    answer = await group.answer(asked)
    await here.api.wait_until_unchanged(answer)
    await quiet(here)
    assert (answer.text, answer.reply_to) == ("Blue it is.", asked.id)
    again = await olga.say("and?", group, reply_to=answer)
    warm = await group.answer(again)
    await quiet(here)
    assert (warm.text, warm.reply_to) == ("And warm.", again.id)
    assert group.texts == ["Blue it is.", "And warm."]
    assert len(here.model.history) == 2
    assert here.model.history[1].messages[-1] is not None
    assert here.heard().startswith("Olga: ")


async def test_topics_are_conversations_apart(here: Life, anna: Person, olga: Person) -> None:
    forum = here.api.forum("House", olga, anna)
    kitchen, garden = [await here.api.open_topic(forum, name, olga) for name in ("Kitchen", "Garden")]
    here.model.enqueue("Kitchen noted.")
    here.model.enqueue("Garden noted.")
    await anna.say("@commonplace_bot the tap drips", forum, topic=kitchen)
    assert (await forum.answer(thread=kitchen.id)).text == "Kitchen noted."
    await quiet(here)
    await anna.say("@commonplace_bot roses need water", forum, topic=garden)
    assert (await forum.answer(thread=garden.id)).text == "Garden noted."
    await quiet(here)
    heard = [str(getattr(each, "text", "")) for each in here.model.history[1].messages]
    assert not any("tap drips" in text for text in heard)


@pytest.mark.thorough
async def test_a_message_that_was_deleted_meanwhile_is_answered_all_the_same(
    here: Life, anna: Person, olga: Person
) -> None:
    group = here.api.supergroup("Friends", olga, anna)
    here.model.enqueue(["Blue", " it is."], delay=0.1)
    asked = await anna.say("@commonplace_bot which colour?", group)
    await here.house.wait_until_asked(1)
    await anna.delete(asked)
    answer = await group.answer(asked)
    await here.api.wait_until_unchanged(answer)
    assert (answer.text, answer.reply_to) == ("Blue it is.", None)
    await quiet(here)
    assert refused(here.api) == []


@pytest.mark.thorough
async def test_an_answer_that_somebody_deletes_while_it_grows_stands_there_in_the_end(
    here: Life, anna: Person, olga: Person
) -> None:
    group = here.api.supergroup("Friends", olga, anna)
    here.model.enqueue(["Blue", " it", " is."], delay=0.3)
    await anna.say("@commonplace_bot which colour?", group)
    growing = await group.answer()
    growing.deleted = True
    await quiet(here)
    assert group.texts == ["Blue it is."]


# -- buttons --------------------------------------------------------------------------------------------------


async def test_a_model_is_chosen_by_its_button_and_the_answer_takes_the_place_of_the_question(
    api: BotApi, tmp_path: Path, anna: Person
) -> None:
    first, second = ScriptedModel("first/model"), ScriptedModel("second/model")

    def two(state: State) -> FallbackModel:
        candidates = tuple(
            ModelCandidate(each.name, (Route(each, RouteName(each.name)),)) for each in (first, second)
        )
        return FallbackModel(Routing(candidates, retry=ModelPatience(0, 0)), health=Breakers(state))

    async with life(api, tmp_path, chain_of=two) as here:
        await anna.say("/model")
        asked = await anna.chat.answer()
        assert asked.labels == ["first/model", "second/model", "✓ Usual order"]
        press = await anna.press(asked, "second/model")
        await api.wait_until(lambda: "This chat now uses" in asked.text)
        await quiet(here)
        assert press.answered
        assert anna.chat.texts == [asked.text]
        assert "This chat now uses second/model" in asked.text
        assert asked.labels == []
        second.enqueue("It is me.")
        await anna.say("Who is it?")
        await anna.chat.answer(containing="It is me.")
        assert first.history == []


async def test_what_is_to_be_forgotten_is_forgotten_by_a_button(here: Life, olga: Person) -> None:
    await olga.say("/remember the gate code is 4711")
    await olga.chat.answer(containing="Noted")
    await olga.say("/forget gate code")
    asked = await olga.chat.answer(containing="gate code")
    assert len(asked.labels) == 2
    await olga.press(asked, asked.labels[0])
    await says(olga.chat, asked, "removed from the notes: 1")
    await quiet(here)
    assert asked.labels == []
    assert not (await here.house.memory.search("gate code")).hits


async def says(chat: Chat, message: Message, words: str) -> None:
    """Wait until a message says something else."""
    await chat.watch(lambda: words in message.text, what=f"{words!r} in {message!r}")


async def test_an_owner_lets_somebody_in_by_a_button(here: Life, olga: Person) -> None:
    olga.chat.started = True
    stranger = here.api.person(9, "Nina")
    await stranger.say("Hello?")
    told = await stranger.chat.answer()
    assert "/pair" in told.text
    asks = await olga.chat.watch(lambda: olga.chat.replies and olga.chat.replies[-1], what="a notice")
    assert "Nina" in asks.text
    await olga.press(asks, asks.labels[0])
    await stranger.chat.answer(told, containing="You can talk with me now.")
    here.model.enqueue("Hello, Nina.")
    await stranger.say("Hello!")
    await stranger.chat.answer(containing="Hello, Nina.")
    await quiet(here)
    assert olga.chat.replies == [asks]
    assert "can talk with me now" in asks.text


async def test_a_stranger_who_forges_a_press_gets_nowhere(here: Life, olga: Person) -> None:
    group = here.api.supergroup("Friends", olga)
    mallory = here.api.person(9, "Mallory")
    group.members[mallory.id] = mallory
    await olga.say("/remember the gate code is 4711")
    await olga.chat.answer(containing="Noted")
    await olga.say("/forget gate code")
    asked = await olga.chat.answer(containing="gate code")
    code = asked.buttons[0][0].data
    shown = await olga.say("/status@commonplace_bot", group)
    status = await group.answer(shown)
    await quiet(here)
    before = (status.text, len(group.texts), olga.chat.texts)
    for data in (code, "/allow telegram:9", "/memory on", "not a command", "/"):
        await mallory.press(status, data, forged=True)
    await here.api.wait_until(lambda: all(press.answered for press in here.api.presses.values()))
    await quiet(here)
    assert (status.text, len(group.texts), olga.chat.texts) == before
    assert here.model.history == []


async def offer_a_reminder(here: Life, person: Person, group: Chat) -> Message:
    """Have a button to end a reminder shown in a group."""
    await person.say("/remind@commonplace_bot 2h tea", group)
    await person.say("/reminders@commonplace_bot", group)
    offered = await group.answer(containing="Upcoming")
    await quiet(here)
    return offered


@pytest.mark.thorough
async def test_in_a_group_a_press_counts_for_whoever_was_answered_with_the_buttons(
    here: Life, olga: Person, gus: Person
) -> None:
    group = here.api.supergroup("Friends", olga, gus)
    offered = await offer_a_reminder(here, olga, group)
    before = group.texts
    others = await gus.press(offered, offered.labels[0])
    await here.api.wait_until(lambda: others.answered)
    await quiet(here)
    assert others.text == phrases.NOT_YOUR_BUTTONS
    assert group.texts == before
    assert len(offered.labels) == 1
    own = await olga.press(offered, offered.labels[0])
    await says(group, offered, "Cancelled reminder 1")
    await quiet(here)
    assert (own.answered, own.text, offered.labels) == (True, "", [])
    assert group.texts == [before[0], offered.text]


async def test_a_press_below_a_message_of_before_the_restart_takes_its_buttons_off(
    api: BotApi, tmp_path: Path, olga: Person
) -> None:
    group = api.supergroup("Friends", olga)
    async with life(api, tmp_path) as here:
        offered = await offer_a_reminder(here, olga, group)
    async with life(api, tmp_path) as here:
        text = offered.text
        await olga.press(offered, offered.labels[0])
        answer = await group.answer(offered)
        await api.wait_until(lambda: offered.labels == [])
        await quiet(here)
        assert "Cancelled reminder 1" in answer.text
        assert offered.text == text
        assert refused(api) == []


async def test_the_answer_to_a_press_in_a_group_stands_there_once_though_the_program_ends_over_it(
    api: BotApi, tmp_path: Path, olga: Person
) -> None:
    group = api.supergroup("Friends", olga)
    async with life(api, tmp_path) as here:
        offered = await offer_a_reminder(here, olga, group)
        before = len(group.texts)
        api.fail("editMessageText", Fault.hang(done=True), times=None)
        await olga.press(offered, offered.labels[0])
        await says(group, offered, "Cancelled reminder 1")
    api.clear_faults()
    async with life(api, tmp_path) as here:
        await quiet(here)
        assert await here.house.count_undelivered() == 0
    assert len(group.texts) == before
    assert "Cancelled reminder 1" in offered.text


async def test_a_press_that_comes_too_soon_leaves_the_question_as_it_is(
    api: BotApi, tmp_path: Path, anna: Person
) -> None:
    async with life(api, tmp_path, per_minute=2) as here:
        await anna.say("/remind 2h tea")
        await anna.say("/reminders")
        offered = await anna.chat.answer(containing="Upcoming")
        text, labels = offered.text, offered.labels
        await anna.press(offered, labels[0])
        await anna.chat.answer(containing="too much at once")
        await quiet(here)
        assert (offered.text, offered.labels) == (text, labels)


async def test_a_double_press_counts_once(here: Life, olga: Person) -> None:
    await olga.say("/remind 2h tea")
    await olga.say("/reminders")
    offered = await olga.chat.answer(containing="Upcoming")
    label = offered.labels[0]
    presses = [await olga.press(offered, label) for _ in range(2)]
    await here.api.wait_until(lambda: all(press.answered for press in presses))
    await says(olga.chat, offered, "Cancelled reminder 1")
    await quiet(here)
    assert offered.edits[-1].text == offered.text
    assert len(offered.edits) == 1


async def test_a_press_below_a_message_that_is_gone_is_answered_in_a_new_one(
    here: Life, olga: Person
) -> None:
    await olga.say("/remember the gate code is 4711")
    await olga.chat.answer(containing="Noted")
    await olga.say("/forget gate code")
    asked = await olga.chat.answer(containing="gate code")
    label = asked.labels[0]
    asked.deleted = True
    await olga.press(asked, label)
    await olga.chat.answer(containing="removed from the notes: 1")
    await quiet(here)


# -- chats that go away, move, and come back --------------------------------------------------------------------


async def test_who_has_not_pressed_start_yet_is_told_of_as_that_and_hears_then_who_asks(
    here: Life, olga: Person, caplog: pytest.LogCaptureFixture
) -> None:
    await here.api.person(9, "Nina").say("Hello?")
    await here.api.wait_until(
        lambda: any("has not pressed Start yet" in each.message for each in caplog.records)
    )
    assert not any("cannot send messages in" in each.message for each in caplog.records)
    await olga.say("/start")
    told = await olga.chat.answer(containing="Nina")
    assert len(told.labels) == 3


async def test_who_blocks_the_bot_is_told_of_once_in_the_log_and_is_answered_again_later(
    here: Life, anna: Person, caplog: pytest.LogCaptureFixture
) -> None:
    here.model.enqueue(["It is ", "a long", " story."], delay=0.15)
    await anna.say("Tell me")
    await begun(anna.chat, "It is")
    await anna.block()
    await quiet(here)
    assert await here.house.count_undelivered() == 0
    assert len([record for record in caplog.records if "cannot send messages" in record.getMessage()]) == 1
    await anna.unblock()
    here.model.enqueue("Welcome back.")
    await anna.say("Hello again")
    await anna.chat.answer(containing="Welcome back.")


async def test_a_group_that_becomes_another_while_an_answer_runs_has_it_there_whole(
    here: Life, anna: Person, olga: Person
) -> None:
    group = here.api.group("Friends", olga, anna)
    here.model.enqueue(["It is ", "a long", " story."], delay=0.15)
    here.model.enqueue("And a second one.")
    await anna.say("@commonplace_bot tell me", group)
    await begun(group, "It is")
    waiting = await anna.say("@commonplace_bot and another", group)
    await here.api.wait_until_confirmed()
    new = await here.api.migrate(group, olga)
    await new.answer(containing="It is a long story.")
    await new.answer(containing="And a second one.")
    await quiet(here)
    assert new.texts == ["It is a long story.", "And a second one."]
    assert waiting.chat is group
    here.model.enqueue("A third.")
    await olga.say("@commonplace_bot more", new)
    await new.answer(containing="A third.")
    await quiet(here)
    told = [str(getattr(each, "text", "")) for each in here.model.history[-1].messages]
    assert any("tell me" in text for text in told)
    assert await here.house.count_undelivered() == 0


@pytest.mark.thorough
async def test_the_group_moves_unannounced(here: Life, anna: Person, olga: Person) -> None:
    group = here.api.group("Friends", olga, anna)
    here.model.enqueue(["It is ", "a long", " story."], delay=0.15)
    await anna.say("@commonplace_bot tell me", group)
    await begun(group, "It is")
    here.api.bot.inbox.kinds = frozenset()  # the two messages that tell of it come much later
    new = await here.api.migrate(group, olga)
    await new.answer(containing="It is a long story.")
    await quiet(here)
    assert new.texts == ["It is a long story."]


@pytest.mark.thorough
async def test_a_topic_that_is_deleted_meanwhile_has_its_answer_in_the_group(
    here: Life, anna: Person, olga: Person
) -> None:
    forum = here.api.forum("House", olga, anna)
    kitchen = await here.api.open_topic(forum, "Kitchen", olga)
    here.model.enqueue(["It drips", " no more."], delay=0.3)
    await anna.say("@commonplace_bot the tap drips", forum, topic=kitchen)
    await here.house.wait_until_asked(1)
    await here.api.delete_topic(forum, kitchen)
    answer = await forum.answer(containing="It drips")
    await quiet(here)
    assert answer.text == "It drips no more."
    assert await here.house.count_undelivered() == 0


@pytest.mark.thorough
async def test_a_reminder_comes_by_itself(api: BotApi, anna: Person, tmp_path: Path) -> None:
    async with life(api, tmp_path, now=lambda: datetime.now(UTC)) as here:
        await anna.say("/remind 1s feed the cat")
        told = await anna.chat.answer()
        await anna.chat.answer(told, containing="feed the cat", within=12)
        await quiet(here)
    assert len(anna.chat.texts) == 2


# -- much at once -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_twenty_messages_in_a_burst_are_all_answered_once_and_within_the_limits(
    tmp_path: Path,
) -> None:
    async with BotApi(limits=Limits()) as api, life(api, tmp_path, rate_limiter=RateLimiter()) as here:
        anna = api.person(2, "Anna")
        here.model.enqueue(["Let", " me see."], delay=0.1)
        here.model.enqueue("That was all of them.")
        for number in range(20):
            await anna.say(f"line {number}")
            await asyncio.sleep(0.01)
        await anna.chat.answer(containing="That was all", within=10)
        await quiet(here)
        heard = [str(getattr(each, "text", "")) for each in here.model.history[-1].messages]
        assert [text for text in heard if text.startswith("line")] == [f"line {n}" for n in range(20)]
        assert anna.chat.texts == ["Let me see.", "That was all of them."]
        assert (api.floods, refused(api)) == ([], [])


@pytest.mark.thorough
async def test_twenty_people_at_once_are_each_answered_once_and_in_order(tmp_path: Path) -> None:
    model = Echo()
    async with (
        BotApi(limits=Limits()) as api,
        life(api, tmp_path, rate_limiter=RateLimiter(), model=model) as here,
    ):
        await let_in(here, range(20, 40))
        people = [api.person(number) for number in range(20, 40)]
        for turn in ("first", "second"):
            for person in people:
                await person.say(f"{turn} of {person.id}")
        for person in people:
            await person.chat.answer(containing=f"second of {person.id}", within=15)
        await quiet(here)
        for person in people:
            told = " ".join(person.chat.texts)
            assert told.count(f"first of {person.id}") == told.count(f"second of {person.id}") == 1
            assert told.index("first") < told.index("second")
            assert told.count(" of ") == 2
        assert (api.floods, refused(api)) == ([], [])


class Echo(ScriptedModel):
    """Says again what was said since its last answer."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        said: list[str] = []
        for each in reversed(request.messages):
            if not isinstance(each, UserMessage):
                break
            said.insert(0, each.text)
        self.enqueue(["; ".join(said), "."], delay=0.02)
        async for part in ScriptedModel.stream(self, request):
            yield part


async def let_in(here: Life, people: range) -> None:
    def work(db: Connection) -> None:
        for number in people:
            person = f"telegram:{number}"
            access.save_decision(db, person, "allowed", name="", by="telegram:1", at=NOW.isoformat())

    await here.house.state.change(work)
