"""A reply on its way into a chat, by the real library against a server that behaves like Telegram's."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from adapters.api_errors import ChatGone
from adapters.reply_streamer import ReplyStreamer
from adapters.telegram.api_calls import ApiCalls, Target
from adapters.telegram.markdown.messages import FORMAT
from adapters.telegram.message_sender import TelegramSender
from adapters.telegram.open_bot import open_bot
from adapters.telegram.rate_limiter import RateLimiter, Rates
from bot import phrases
from bot.messages import ChannelFault, Choice, ReplyPart
from tests.adapters.reply_parts import at_once, said
from tests.fakes.bot_api.chats import Chat
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi

GENERAL = 1
"""The topic that is always there."""
QUICK = Rates(0.02, 0.03, 1000, 900, 1000, 900)


@dataclass(slots=True)
class Stage:
    """A bot that has replies to show."""

    api: BotApi
    calls: ApiCalls
    pace: RateLimiter
    kept: list[list[str]] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)

    async def show(
        self,
        chat: Chat,
        parts: AsyncIterator[ReplyPart],
        *,
        shown: Sequence[str] = (),
        reply_to: int | None = None,
        thread: int | None = None,
        settle_seconds: float = 0.0,
    ) -> None:
        async def keep(ids: Sequence[str]) -> None:
            self.kept.append(list(ids))

        sender = TelegramSender(
            self.calls,
            self.pace,
            Target(chat.id, thread),
            key="reply-1",
            reply_to=lambda: reply_to,
            moved=lambda old, new: self.moved.append((old, new)),
        )
        streamer = ReplyStreamer(sender, FORMAT, shown=shown, keep=keep, settle_seconds=settle_seconds)
        await streamer.show(parts)


@pytest.fixture
async def stage(api: BotApi) -> AsyncIterator[Stage]:
    async with open_bot(api.token, api.url) as bot:
        pace = RateLimiter(QUICK)
        yield Stage(api, ApiCalls(bot, pace, pauses=(0.01, 0.02), call_seconds=0.5), pace)


@pytest.fixture
async def anna(api: BotApi) -> Person:
    anna = api.person(7, "Anna")
    await anna.say("hi")
    return anna


@pytest.fixture
async def group(api: BotApi, anna: Person) -> Chat:
    return api.supergroup("Friends", anna)


async def growing(shown: Callable[[], list[str]], *texts: str) -> AsyncIterator[ReplyPart]:
    """A reply of which each part is shown before the next one is said, however long that takes."""
    for text in texts:
        yield ReplyPart(text)
        async with asyncio.timeout(20):
            while shown()[-1:] != [text]:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    yield ReplyPart(texts[-1], final=True)


def drafts_of(person: Person) -> Callable[[], list[str]]:
    return lambda: [draft.text for draft in person.chat.drafts]


# -- as it should be ------------------------------------------------------------------------------------------


async def test_a_reply_that_is_there_at_once_is_one_message(stage: Stage, anna: Person) -> None:
    await stage.show(anna.chat, at_once("It is **blue**."))
    (message,) = anna.chat.replies
    assert (message.text, [each["type"] for each in message.entities]) == ("It is blue.", ["bold"])
    assert stage.kept == [[str(message.id)]]
    assert [call.method for call in stage.api.calls] == ["sendMessage"]


async def test_in_private_a_reply_grows_as_a_draft_and_is_sent_once(stage: Stage, anna: Person) -> None:
    await stage.show(anna.chat, growing(drafts_of(anna), "It", "It is", "It is blue."))
    assert [draft.text for draft in anna.chat.drafts] == ["It", "It is", "It is blue."]
    assert len({draft.id for draft in anna.chat.drafts}) == 1
    (message,) = anna.chat.replies
    assert (message.text, message.edits) == ("It is blue.", [])


async def test_a_reply_that_is_written_quickly_is_sent_at_once_and_never_drafted(
    stage: Stage, anna: Person
) -> None:
    began = time.monotonic()
    await stage.show(anna.chat, said("It", "It is", "It is blue.", pause=0.01), settle_seconds=5.0)
    assert time.monotonic() - began < 4.5
    assert (anna.chat.texts, anna.chat.drafts) == (["It is blue."], [])


async def test_a_server_without_drafts_sees_edits_and_is_asked_once(stage: Stage, anna: Person) -> None:
    stage.api.knows_drafts = False
    for reply in (("It", "It is", "It is blue."), ("And", "And warm.")):
        await stage.show(anna.chat, growing(lambda: anna.chat.texts, *reply))
    assert anna.chat.texts == ["It is blue.", "And warm."]
    assert anna.chat.replies[0].edits
    assert len(stage.api.calls_of("sendMessageDraft")) == 1


async def test_in_a_group_a_reply_is_put_to_its_message_and_grows_by_edits(
    stage: Stage, group: Chat, anna: Person
) -> None:
    asked = await anna.say("@commonplace_bot what is it?", group)
    await stage.show(group, growing(lambda: group.texts, "It", "It is", "It is blue."), reply_to=asked.id)
    (message,) = group.replies
    assert (message.first_text, message.text, message.reply_to) == ("It", "It is blue.", asked.id)
    assert group.drafts == []


async def test_typing_is_shown_until_there_is_something_to_be_seen(
    stage: Stage, anna: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.reply_streamer.TYPING_AFTER", 0.0)
    monkeypatch.setattr(TelegramSender, "typing_seconds", 0.02)

    async def slowly() -> AsyncIterator[ReplyPart]:
        await asyncio.sleep(0.15)
        yield ReplyPart("It")
        await asyncio.sleep(0.15)
        yield ReplyPart("It is blue.", final=True)

    await stage.show(anna.chat, slowly())
    actions = [action.time for action in anna.chat.actions]
    assert len(actions) > 2
    assert max(actions) <= anna.chat.drafts[0].time + 0.02


async def test_a_long_reply_is_several_messages_in_order_each_kept_at_once(
    stage: Stage, anna: Person
) -> None:
    text = "\n\n".join(f"Paragraph {number} " + "word " * 150 for number in range(16))
    await stage.show(anna.chat, said(text[:3000], text[:7000], text))
    shown = anna.chat.texts
    assert len(shown) == 4
    assert " ".join(shown).split() == text.split()
    ids = [str(message.id) for message in anna.chat.replies]
    assert stage.kept == [ids[:1], ids[:2], ids[:3], ids]
    assert [message.edits for message in anna.chat.replies] == [[], [], [], []]


async def test_very_long_code_goes_as_a_file_in_its_place(stage: Stage, anna: Person) -> None:
    code = "\n".join(f"print({number})" for number in range(2000))
    await stage.show(anna.chat, at_once(f"Here it is:\n\n```python\n{code}\n```\n\nThat is all."))
    first, file, last = anna.chat.replies
    assert (first.text, last.text) == ("Here it is:", "That is all.")
    assert file.document
    assert file.document.data.decode().strip() == code
    assert stage.kept[-1] == [str(first.id), f"f{file.id}", str(last.id)]


async def test_choices_are_buttons_below_the_last_message(stage: Stage, anna: Person) -> None:
    choices = (
        Choice("Yes", "/forget yes ABCD"),
        Choice("No", "/forget no ABCD"),
        Choice("?", "/x " + "y" * 70),
    )
    await stage.show(anna.chat, at_once("Really?", choices))
    assert anna.chat.replies[0].labels == ["Yes", "No"]


# -- after a restart ------------------------------------------------------------------------------------------


async def test_what_was_shown_before_a_crash_is_edited(stage: Stage, group: Chat) -> None:
    await stage.show(group, at_once("It is"))
    await stage.show(group, said("It is bl", "It is blue."), shown=stage.kept[-1])
    assert group.texts == ["It is blue."]


async def test_what_was_shown_whole_before_a_crash_stays(stage: Stage, group: Chat) -> None:
    await stage.show(group, at_once("It is blue."))
    await stage.show(group, at_once("It is blue."), shown=stage.kept[-1])
    (message,) = group.replies
    assert message.edits == []


async def test_messages_that_are_too_many_are_taken_back(stage: Stage, group: Chat) -> None:
    await stage.show(group, at_once("word " * 1500))
    assert len(group.texts) == 2
    await stage.show(group, at_once("All of that was wrong."), shown=stage.kept[-1])
    assert group.texts == ["All of that was wrong."]


async def test_a_message_that_somebody_has_deleted_is_sent_anew(
    stage: Stage, group: Chat, anna: Person
) -> None:
    await stage.show(group, at_once("It is"))
    await anna.delete(group.replies[0])
    await stage.show(group, at_once("It is blue."), shown=stage.kept[-1])
    assert group.texts == ["It is blue."]


async def test_files_and_texts_in_another_order_than_before_end_up_right(stage: Stage, group: Chat) -> None:
    code = "\n".join(f"print({number})" for number in range(2000))
    await stage.show(group, at_once(f"One\n\n```python\n{code}\n```\n\nTwo"))
    await stage.show(group, at_once("One\n\nTwo\n\nThree"), shown=stage.kept[-1])
    assert " ".join(group.texts).split() == ["One", "Two", "Three"]


# -- what fails -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sendMessage", "sendMessageDraft", "editMessageText", "sendChatAction"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault.status(502),
        *(
            pytest.param(fault, marks=pytest.mark.thorough)
            for fault in (Fault.retry_after(1), Fault.reset_before(), Fault.hang(), Fault.drip())
        ),
    ],
)
async def test_the_whole_reply_arrives_whatever_fails_on_the_way(
    stage: Stage, anna: Person, group: Chat, method: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.reply_streamer.TYPING_AFTER", 0.0)
    monkeypatch.setattr("adapters.reply_streamer.AFTER_FAULT", 0.05)
    chat = group if method == "editMessageText" else anna.chat
    stage.api.fail(method, fault)
    await stage.show(chat, said("It", "It is", "It is blue."))
    assert chat.texts == ["It is blue."]


async def test_an_answer_that_is_lost_on_its_way_costs_a_second_message_and_never_the_first(
    stage: Stage, anna: Person
) -> None:
    stage.api.fail("sendMessage", Fault.reset_after())
    await stage.show(anna.chat, at_once("It is blue."))
    assert anna.chat.texts == ["It is blue.", "It is blue."]


@pytest.mark.thorough
async def test_telegrams_wish_to_be_left_alone_is_heeded(stage: Stage, anna: Person) -> None:
    stage.api.fail("sendMessage", Fault.retry_after(1))
    await stage.show(anna.chat, at_once("It is blue."))
    first, second = stage.api.calls_of("sendMessage")
    assert second.time - first.time >= 1


async def test_a_long_wish_to_be_left_alone_is_handed_on(stage: Stage, anna: Person) -> None:
    stage.api.fail("sendMessage", Fault.retry_after(100))
    with pytest.raises(ChannelFault) as caught:
        await stage.show(anna.chat, at_once("It is blue."))
    assert caught.value.retry_after == 100


async def test_an_outage_is_the_channels_fault_and_what_stands_there_is_gone_on_with(
    stage: Stage, group: Chat
) -> None:
    stage.api.fail("editMessageText", Fault.status(502), times=None)
    with pytest.raises(ChannelFault):
        await stage.show(group, said("It", "It is blue."))
    stage.api.clear_faults()
    await stage.show(group, at_once("It is blue."), shown=stage.kept[-1])
    assert group.texts == ["It is blue."]


@pytest.mark.parametrize(
    "refusal",
    [
        "Bad Request: can't parse entities: no end",
        "Bad Request: ENTITY_BOUNDS_INVALID",
        "Bad Request: SOMETHING_NEW",
    ],
)
async def test_a_format_that_is_refused_costs_the_format_alone(
    stage: Stage, anna: Person, refusal: str
) -> None:
    stage.api.fail("sendMessage", Fault.refuse(400, refusal))
    await stage.show(anna.chat, at_once("It is **blue**."))
    (message,) = anna.chat.replies
    assert (message.text, message.entities) == ("It is blue.", [])


async def test_a_text_that_is_too_long_after_all_is_cut_smaller(stage: Stage, anna: Person) -> None:
    stage.api.fail("sendMessage", Fault.refuse(400, "Bad Request: message is too long"))
    text = "word " * 700
    await stage.show(anna.chat, at_once(text))
    assert len(anna.chat.texts) == 2
    assert " ".join(anna.chat.texts).split() == text.split()


async def test_a_file_that_is_refused_comes_as_text(stage: Stage, group: Chat) -> None:
    refusal = "Bad Request: not enough rights to send documents to the chat"
    stage.api.fail("sendDocument", Fault.refuse(400, refusal), times=None)
    code = "\n".join(f"print({number})" for number in range(1000))
    await stage.show(group, at_once(f"Here it is:\n\n```python\n{code}\n```\n\nThat is all."))
    assert " ".join(group.texts).split() == f"Here it is: {code} That is all.".split()
    assert stage.kept[-1] == [str(message.id) for message in group.replies]


@pytest.mark.parametrize(
    "refusal",
    [
        "Bad Request: MESSAGE_EDIT_TIME_EXPIRED",
        "Bad Request: message can't be edited",
        "Bad Request: SOMETHING_NEW",
    ],
)
async def test_a_message_that_cannot_be_edited_any_more_is_sent_anew(
    stage: Stage, group: Chat, refusal: str
) -> None:
    await stage.show(group, at_once("It is"))
    stage.api.fail("editMessageText", Fault.refuse(400, refusal), times=None)
    await stage.show(group, at_once("It is blue."), shown=stage.kept[-1])
    assert group.texts == ["It is blue."]


async def test_a_message_that_is_deleted_while_the_reply_grows_doubles_none_behind_it(
    stage: Stage, group: Chat, anna: Person
) -> None:
    text = "word " * 1500
    await stage.show(group, at_once(text))
    await anna.delete(group.replies[0])
    await stage.show(group, said(text + "and", text + "and more."), shown=stage.kept[-1])
    assert " ".join(group.texts).split() == f"{text}and more.".split()


async def test_a_message_that_cannot_be_replied_to_costs_no_answer(
    stage: Stage, group: Chat, anna: Person
) -> None:
    asked = await anna.say("@commonplace_bot what is it?", group)
    stage.api.fail("sendMessage", Fault.refuse(400, "Bad Request: REPLY_MESSAGE_ID_INVALID"))
    await stage.show(group, at_once("It is blue."), reply_to=asked.id)
    assert group.texts == ["It is blue."]


@pytest.mark.parametrize("method", ["sendMessage", "editMessageText"])
async def test_a_proxy_that_knows_no_bot_api_just_now_is_the_channels_fault(
    stage: Stage, group: Chat, method: str
) -> None:
    await stage.show(group, at_once("It is"))
    shown = stage.kept[-1] if method == "editMessageText" else ()
    stage.api.fail(method, Fault.status(404))
    with pytest.raises(ChannelFault):
        await stage.show(group, at_once("It is blue."), shown=shown)


@pytest.mark.parametrize(
    "refusal", ["Bad Request: can't parse entities: no end", "Bad Request: text is too long"]
)
async def test_a_draft_that_is_refused_for_its_text_ends_drafts_for_nobody(
    stage: Stage, anna: Person, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.reply_streamer.AFTER_FAULT", 0.0)
    stage.api.fail("sendMessageDraft", Fault.refuse(400, refusal))
    await stage.show(anna.chat, said("It", "It is", "It is blue."))
    await stage.show(anna.chat, growing(drafts_of(anna), "And", "And warm."))
    assert [draft.text for draft in anna.chat.drafts][-2:] == ["And", "And warm."]
    assert anna.chat.texts == ["It is blue.", "And warm."]


async def test_whoever_has_blocked_the_bot_is_gone(stage: Stage, anna: Person) -> None:
    await anna.block()
    with pytest.raises(ChatGone):
        await stage.show(anna.chat, said("It", "It is blue."))


async def test_a_group_that_has_thrown_the_bot_out_is_gone(stage: Stage, group: Chat, anna: Person) -> None:
    await anna.kick_bot(group)
    with pytest.raises(ChatGone):
        await stage.show(group, at_once("It is blue."))


async def test_a_group_in_which_the_bot_may_not_write_is_gone(stage: Stage, group: Chat) -> None:
    group.may_write = False
    with pytest.raises(ChatGone):
        await stage.show(group, at_once("It is blue."))


async def test_a_group_that_becomes_a_supergroup_gets_the_reply_under_its_new_id(
    stage: Stage, api: BotApi, anna: Person
) -> None:
    old = api.group("Friends", anna)
    await stage.show(old, at_once("It is"))
    new = await api.migrate(old, anna)
    await stage.show(old, at_once("It is blue."), shown=stage.kept[-1])
    assert new.texts == ["It is blue."]
    assert stage.moved == [(old.id, new.id)]


async def test_a_topic_that_is_gone_gets_its_reply_in_the_group(
    stage: Stage, api: BotApi, anna: Person
) -> None:
    forum = api.forum("Club", anna)
    topic = await api.open_topic(forum, "Plans", anna)
    await stage.show(forum, at_once("One."), thread=topic.id)
    await api.delete_topic(forum, topic)
    await stage.show(forum, at_once("Two."), thread=topic.id)
    assert [(message.text, message.thread) for message in forum.replies if message.text == "Two."] == [
        ("Two.", GENERAL)
    ]


async def test_a_topic_that_is_closed_is_gone(stage: Stage, api: BotApi, anna: Person) -> None:
    forum = api.forum("Club", anna)
    topic = await api.open_topic(forum, "Plans", anna)
    await api.close_topic(forum, topic, anna)
    with pytest.raises(ChatGone):
        await stage.show(forum, at_once("One."), thread=topic.id)


async def test_a_reply_that_goes_on_later_sends_nothing_in_the_end(stage: Stage, anna: Person) -> None:
    async def broken_off() -> AsyncIterator[ReplyPart]:
        yield ReplyPart("It")
        await asyncio.sleep(0.05)
        yield ReplyPart("It is")

    await stage.show(anna.chat, broken_off())
    assert anna.chat.texts == []


async def test_who_shows_it_can_be_cancelled_and_the_parts_be_closed(stage: Stage, anna: Person) -> None:
    async def without_end() -> AsyncIterator[ReplyPart]:
        while True:
            yield ReplyPart("It")
            await asyncio.sleep(0.01)

    parts = without_end()
    showing = asyncio.create_task(stage.show(anna.chat, parts))
    await stage.api.wait_until(lambda: anna.chat.drafts)
    showing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await showing
    await parts.aclose()  # type: ignore[attr-defined]


async def test_a_reply_that_telegram_refuses_for_good_is_told_in_other_words(
    stage: Stage, group: Chat
) -> None:
    stage.api.fail("sendMessage", Fault.refuse(400, "Bad Request: SOMETHING_NEW"), times=2)
    await stage.show(group, at_once("It is **blue**."))
    assert group.texts == [phrases.NOT_SHOWN.format(platform="Telegram")]


# -- stopped --------------------------------------------------------------------------------------------------


async def test_a_reply_whose_sending_was_stopped_stays_so_after_a_restart(stage: Stage, anna: Person) -> None:
    story = "\n\n".join(f"Line {number} of a long story." for number in range(600))
    await stage.show(anna.chat, at_once(story))
    whole = anna.chat.texts
    shown = [str(each.id) for each in anna.chat.replies][:2]
    await stage.show(anna.chat, at_once(story), shown=[*shown, "cut-2"])
    assert len(whole) > 3
    assert anna.chat.texts[len(whole) :] == [phrases.SENDING_STOPPED.strip("*"), ""]
    file = anna.chat.replies[-1].document
    assert file
    assert (file.name, file.data.decode()) == ("reply.md", f"{story}\n")
    assert stage.kept[-1][-1] == "cut-2"


async def test_a_single_message_that_is_left_is_sent_all_the_same(stage: Stage, anna: Person) -> None:
    story = "\n\n".join(f"Line {number} of a long story." for number in range(250))
    await stage.show(anna.chat, at_once(story), shown=["cut-1"])
    assert len(anna.chat.texts) == 2
    assert "stopped" not in "".join(anna.chat.texts)


async def test_a_stopped_reply_whose_chat_moves_stays_stopped_in_the_new_one(
    stage: Stage, api: BotApi, anna: Person
) -> None:
    story = "\n\n".join(f"Line {number} of a long story." for number in range(600))
    old = api.group("Friends", anna)
    await stage.show(old, at_once(story))
    shown = [str(each.id) for each in old.replies][:2]
    new = await api.migrate(old, anna)
    await stage.show(old, at_once(story), shown=[*shown, "cut-2"])
    assert new.texts == [phrases.SENDING_STOPPED.strip("*"), ""]
