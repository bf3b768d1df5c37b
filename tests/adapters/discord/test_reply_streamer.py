"""A reply on its way into a channel, by the real library against a server that behaves like Discord."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import discord
import pytest
from discord import InteractionResponseType
from discord.webhook.async_ import async_context, interaction_response_params

from adapters.api_errors import ChatGone
from adapters.discord.api_calls import ApiCalls
from adapters.discord.incoming import channel_chat, person_id
from adapters.discord.interaction_handle import InteractionHandle
from adapters.discord.invalid_requests import InvalidRequestLimit
from adapters.discord.markdown.messages import FORMAT
from adapters.discord.message_sender import DiscordSender
from adapters.discord.rate_limiter import RateLimiter
from adapters.discord.reply_targets import (
    ChannelTarget,
    InteractionTarget,
    OtherTarget,
    ReplyTarget,
    ShownMessages,
)
from adapters.reply_streamer import ReplyStreamer
from bot import phrases
from bot.messages import ChannelFault, Choice, IncomingMessage, ReplyPart
from tests.adapters.discord.commanding import open_client
from tests.adapters.markdown.story import story
from tests.adapters.reply_parts import at_once, said
from tests.fakes.discord_api.chats import Channel, Interaction, Message
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.table_test import first_at_once

HARD = Path(__file__).parent.parent / "markdown" / "hard.md"


@dataclass(slots=True)
class Stage:
    """A bot that has replies to show."""

    api: DiscordApi
    client: discord.Client
    calls: ApiCalls
    pace: RateLimiter
    settle_seconds: float = 0.0
    ours: ShownMessages = field(default_factory=ShownMessages)
    kept: list[list[str]] = field(default_factory=list)

    async def show(
        self,
        where: Channel | ReplyTarget,
        parts: AsyncIterator[ReplyPart],
        *,
        to: Message | None = None,
        shown: Sequence[str] = (),
        points: bool = False,
        elsewhere: OtherTarget | None = None,
        key: str = "reply-1",
        moment: datetime | None = None,
    ) -> None:
        """`to`: what is answered; `points`: the answer refers to it; `moment`: when it was said."""

        async def keep(ids: Sequence[str]) -> None:
            self.kept.append(list(ids))

        async def otherwise() -> OtherTarget:
            if elsewhere is None:
                raise ChatGone("nowhere else")
            return elsewhere

        sender = DiscordSender(
            ChannelTarget(self.calls, where.id) if isinstance(where, Channel) else where,
            self.pace,
            key=key,
            shown=shown,
            answers=said_by(to, moment) if to else None,
            reply_to=lambda: to.id if to and points else None,
            elsewhere=otherwise,
            ours=self.ours,
        )
        await ReplyStreamer(
            sender,
            FORMAT,
            shown=shown,
            keep=keep,
            is_answer=to is not None,
            settle_seconds=self.settle_seconds,
        ).show(parts)

    async def asked(
        self, person: Person, channel: Channel, *, private: bool = False, is_begun: bool = False
    ) -> tuple[Interaction, InteractionTarget]:
        """Somebody has used a command, and was told that an answer will come."""
        data = {"id": "5", "name": "status", "type": 1, "options": []}
        interaction = self.api.interact(person, channel, 2, data, bot=self.api.bot, name="status")
        await self.deferred(interaction, private=private)
        return interaction, self.answer_to(interaction, private=private, is_begun=is_begun)

    async def pressed(
        self, person: Person, message: Message, button: str, *, private: bool
    ) -> InteractionTarget:
        """Somebody has pressed a button, and the answer will take its place."""
        interaction = await person.press(message, button)
        await self.deferred(interaction, private=False, kind=InteractionResponseType.deferred_message_update)
        answerable = InteractionHandle(
            interaction.id, self.api.bot.id, interaction.token, private, replaces=True, buttons=message.id
        )
        return self.answer_to(interaction, private=private, is_begun=True, answerable=answerable)

    async def deferred(
        self,
        interaction: Interaction,
        *,
        private: bool,
        kind: InteractionResponseType = InteractionResponseType.deferred_channel_message,
    ) -> None:
        hook = discord.Webhook.partial(self.api.bot.id, interaction.token, client=self.client)
        data = {"flags": discord.MessageFlags(ephemeral=True).value} if private else None
        await async_context.get().create_interaction_response(
            interaction.id,
            interaction.token,
            session=hook.session,
            params=interaction_response_params(kind.value, data),
        )

    def answer_to(
        self,
        interaction: Interaction,
        *,
        private: bool = False,
        is_begun: bool = False,
        answerable: InteractionHandle | None = None,
    ) -> InteractionTarget:
        async def acknowledged() -> None:
            await interaction.acknowledgement()

        channel = ChannelTarget(self.calls, interaction.channel.id)
        return InteractionTarget(
            self.calls,
            answerable
            or InteractionHandle(interaction.id, self.api.bot.id, interaction.token, private=private),
            is_begun=is_begun,
            channel=None if private else channel,
            known=self.ours,
            acknowledged=acknowledged,
        )


def said_by(message: Message, moment: datetime | None) -> IncomingMessage:
    return IncomingMessage(
        id=str(message.id),
        chat=channel_chat(message.channel.id),
        sender=person_id(message.author.id),
        text=message.content,
        sent_at=moment or datetime.now(UTC),
        in_room=message.channel.guild is not None,
    )


async def staged(api: DiscordApi) -> AsyncIterator[Stage]:
    async with open_client(api, gateway=False) as client:

        async def logged_in() -> discord.Client:
            return client

        calls = ApiCalls(logged_in, pauses=(0.01, 0.02), call_seconds=0.5)
        api.calls.clear()
        yield Stage(api, client, calls, RateLimiter(channel_seconds=0.02, per_second=1000))


@pytest.fixture
async def stage(api: DiscordApi) -> AsyncIterator[Stage]:
    async for stage in staged(api):
        yield stage


async def shrinking(channel: Channel) -> AsyncIterator[ReplyPart]:
    """A reply of which more than one message stood there before it became short."""
    long = "\n\n".join(f"Paragraph {number}: {'word ' * 80}" for number in range(8))
    while len(channel.replies) < 2:
        yield ReplyPart(long)
        await asyncio.sleep(0.05)
    yield ReplyPart("In short: no.", final=True)


def code(lines: int) -> str:
    rows = "\n".join(f"print('line {number} of a long program')" for number in range(lines))
    return f"Here it is:\n\n```python\n{rows}\n```\n\nThat is all."


# -- as it should be ------------------------------------------------------------------------------------------


async def test_a_reply_that_is_there_at_once_is_one_message(stage: Stage, anna: Person) -> None:
    await stage.show(anna.dm, at_once("It is **blue**."))
    (message,) = anna.dm.replies
    assert (message.content, message.embeds_suppressed) == ("It is **blue**.", True)
    assert stage.kept == [[str(message.id)]]
    assert [call.name for call in stage.api.calls] == ["create_message"]


async def test_a_reply_grows_by_edits_of_one_message(stage: Stage, anna: Person) -> None:
    async def seen(*texts: str) -> AsyncIterator[ReplyPart]:
        for text in texts:
            yield ReplyPart(text)
            await stage.api.wait_until(partial(says, text), what=text)
        yield ReplyPart("It is blue.", final=True)

    def says(text: str) -> bool:
        return anna.dm.texts == [text]

    await stage.show(anna.dm, seen("It", "It is"))
    (message,) = anna.dm.replies
    assert [message.first_content, *(edit.content for edit in message.edits)] == [
        "It",
        "It is",
        "It is blue.",
    ]
    assert message.embeds_suppressed
    assert stage.kept == [[str(message.id)]]


async def test_what_was_said_already_is_not_edited_in_the_end(stage: Stage, anna: Person) -> None:
    await stage.show(anna.dm, said("It is blue."))
    assert len(stage.api.calls_of("create_message")) == 1
    assert not stage.api.calls_of("edit_message")


@pytest.mark.thorough
async def test_a_reply_that_is_soon_whole_is_not_shown_in_part(stage: Stage, anna: Person) -> None:
    stage.settle_seconds = 5
    await stage.show(anna.dm, said("It", "It is", "It is blue."))
    (message,) = anna.dm.replies
    assert (message.first_content, message.edits) == ("It is blue.", [])
    stage.settle_seconds = 0.02
    await stage.show(anna.dm, said("It", "It is", "It is blue.", pause=0.2), key="reply-2")
    assert anna.dm.replies[-1].first_content != "It is blue."


async def test_a_reply_is_shown_at_most_once_in_a_while(stage: Stage, anna: Person) -> None:
    stage.pace = RateLimiter(channel_seconds=0.2)
    words = [" ".join(["word"] * count) for count in range(1, 31)]
    await stage.show(anna.dm, said(*words, pause=0.02))
    assert anna.dm.texts == [words[-1]]
    times = [call.time for call in stage.api.calls_of("create_message", "edit_message")]
    # The end waits for nothing. One that comes late to the server, on a busy machine, shortens one gap alone.
    assert 2 < len(times) <= (times[-1] - times[0]) / 0.2 + 2


@pytest.mark.thorough
async def test_replies_that_grow_in_one_channel_share_its_pace(stage: Stage, anna: Person) -> None:
    stage.pace = RateLimiter(channel_seconds=0.1)
    words = [" ".join(["word"] * count) for count in range(1, 11)]
    shown = (stage.show(anna.dm, said(*words, pause=0.05), key=f"reply-{number}") for number in range(3))
    await asyncio.gather(*shown)
    assert anna.dm.texts == [words[-1]] * 3
    times = [call.time for call in stage.api.calls_of("create_message", "edit_message")]
    ends = 3
    assert len(times) <= (times[-1] - times[0]) / 0.1 + 1 + ends


async def test_a_channel_that_is_left_alone_holds_no_other() -> None:
    pace = RateLimiter(channel_seconds=0.02, per_second=1000)
    pace.pause(1, 60)
    waiting = asyncio.create_task(pace.wait_for_slot(1))
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await pace.wait_for_slot(2)
    assert not waiting.done()
    waiting.cancel()


async def test_nobody_is_called_by_what_a_reply_says(stage: Stage, anna: Person, general: Channel) -> None:
    text = f"@everyone @here {anna.mention} look"
    to = await anna.say("hi", general)
    await stage.show(general, said("@everyone", text), to=to, points=True)
    (message,) = general.replies
    assert message.pinged == []
    assert not message.mentions.pinged
    assert message.reference is to


async def test_what_was_answered_and_deleted_is_answered_all_the_same(
    stage: Stage, anna: Person, general: Channel
) -> None:
    to = await anna.say("hi", general)
    await anna.delete(to)
    await stage.show(general, at_once("Hello."), to=to, points=True)
    assert general.texts == ["Hello."]
    assert len(stage.api.calls) == 1


async def test_somebody_types_until_there_is_something_to_be_seen(
    stage: Stage, anna: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.reply_streamer.TYPING_AFTER", 0.02)
    monkeypatch.setattr(DiscordSender, "typing_seconds", 0.05)

    async def slow() -> AsyncIterator[ReplyPart]:
        await stage.api.wait_until(lambda: len(anna.dm.typing) >= 2, what="typing")
        async for part in said("It", "It is blue.", pause=0.2):
            yield part

    to = await anna.say("hi")
    await stage.show(anna.dm, slow(), to=to)
    (message,) = anna.dm.replies
    assert max(anna.dm.typing) <= message.time
    anna.dm.typing.clear()
    await stage.show(anna.dm, at_once("At once."), to=to, key="reply-2")
    await stage.show(anna.dm, said("Nobody", "Nobody waits for this.", pause=0.1), key="notice-1")
    assert anna.dm.typing == []


@pytest.mark.thorough
async def test_hard_markdown_of_twelve_thousand_characters(stage: Stage, anna: Person) -> None:
    text = HARD.read_text("utf-8")
    text = (text * (12_000 // len(text) + 1))[:12_000]
    steps = [text[:end] for end in (500, 3000, 7000, 12_000)]
    await stage.show(anna.dm, said(*steps, pause=0.1))
    replies = anna.dm.replies
    assert len(replies) > 5
    assert all(0 < len(message.content) <= 2000 for message in replies if not message.attachments)
    assert all(message.content.count("```") % 2 == 0 for message in replies)
    assert stage.kept[-1] == [f"{'f' * bool(one.attachments)}{one.id}" for one in replies]
    assert not stage.api.refusals


async def test_very_long_code_is_a_file_in_its_place(stage: Stage, anna: Person) -> None:
    text = code(200)
    await stage.show(anna.dm, said(text[:3000], text))
    before, file, after = anna.dm.replies
    assert (before.content, after.content) == ("Here it is:", "That is all.")
    assert file.attachments[0].name == "code.py"
    assert file.attachments[0].text.endswith("print('line 199 of a long program')\n")
    assert stage.kept[-1] == [str(before.id), f"f{file.id}", str(after.id)]


async def test_where_files_are_not_allowed_long_code_is_text(stage: Stage, general: Channel) -> None:
    general.deny(stage.api.bot, "attach_files")
    await stage.show(general, at_once(code(120)))
    assert "line 119" in general.texts[-2] + general.texts[-1]
    assert not any(message.attachments for message in general.replies)


async def test_messages_that_are_too_many_in_the_end_are_taken_back(stage: Stage, anna: Person) -> None:
    await stage.show(anna.dm, shrinking(anna.dm))
    assert anna.dm.texts == ["In short: no."]
    assert len(anna.dm.messages) > 1
    assert stage.kept[-1] == [str(anna.dm.replies[0].id)]


async def test_choices_are_buttons_below_the_last_message(stage: Stage, anna: Person) -> None:
    long = "\n\n".join(f"Paragraph {number}: {'word ' * 80}" for number in range(8))
    choices = (Choice("Yes", "/pair ABC"), Choice("No", "/deny 5"))
    await stage.show(anna.dm, said(long, choices=choices))
    *others, last = anna.dm.replies
    assert last.labels == ["Yes", "No"]
    assert [button["custom_id"] for button in last.buttons] == ["/pair ABC", "/deny 5"]
    assert others
    assert not any(message.labels for message in others)


async def test_buttons_that_discord_refuses_are_left_out(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.refuse(50109))
    await stage.show(anna.dm, at_once("Really?", (Choice("Yes", "/pair ABC"),)))
    (message,) = anna.dm.replies
    assert (message.content, message.labels) == ("Really?", [])


async def test_a_reply_to_what_may_not_be_read_points_to_nothing(
    stage: Stage, anna: Person, general: Channel
) -> None:
    general.deny(stage.api.bot, "read_message_history")
    to = await anna.say("hi", general)
    await stage.show(general, said("It", "It is blue."), to=to, points=True)
    (message,) = general.replies
    assert (message.content, message.reference) == ("It is blue.", None)


async def test_in_a_thread_and_in_a_post_of_a_forum(stage: Stage, anna: Person, general: Channel) -> None:
    thread = await anna.open_thread(await anna.say("look", general), "Look")
    await stage.show(thread, said("In", "In the thread."))
    assert general.guild
    post = (await anna.post(general.guild.forum(), "Help", "How?")).channel
    await stage.show(post, said("In", "In the post."))
    assert (thread.texts, post.texts) == (["In the thread."], ["In the post."])


async def test_a_thread_that_was_put_away_is_opened_again(
    stage: Stage, anna: Person, general: Channel
) -> None:
    thread = await anna.open_thread(await anna.say("look", general), "Look")
    await stage.show(thread, at_once("It is"))
    (message,) = thread.replies
    await anna.archive(thread)
    await stage.show(thread, at_once("It is blue."), shown=[str(message.id)])
    assert (thread.texts, thread.archived) == (["It is blue."], False)


# -- what goes wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", first_at_once(["user", "shared", "global"]))
async def test_every_kind_of_call_waits_for_every_kind_of_limit(
    stage: Stage, anna: Person, general: Channel, scope: str
) -> None:
    for name in ("create_message", "edit_message", "delete_message", "typing", "history"):
        stage.api.fail(name, Fault.rate_limit(0.05, scope))  # type: ignore[arg-type]
    to = await anna.say("hi", general)
    late = datetime.now(UTC) - timedelta(minutes=30)
    await ChannelTarget(stage.calls, general.id).typing()
    await stage.show(general, shrinking(general), to=to, points=True, moment=late)
    assert general.texts == ["In short: no."]
    limited = {call.name for call in stage.api.calls if call.status == 429}
    assert limited == {"create_message", "edit_message", "delete_message", "typing", "history"}


async def test_a_limit_that_lasts_is_for_the_next_try(stage: Stage, anna: Person) -> None:
    stage.client.http.max_ratelimit_timeout = 30.0
    stage.api.fail("create_message", Fault.rate_limit(90, "shared"))
    with pytest.raises(ChannelFault) as raised:
        await stage.show(anna.dm, at_once("It is blue."))
    assert raised.value.retry_after == 90
    await stage.show(anna.dm, at_once("It is blue."))
    assert anna.dm.texts == ["It is blue."]


async def test_a_ban_is_waited_for(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.ban())
    with pytest.raises(ChannelFault) as raised:
        await stage.show(anna.dm, at_once("It is blue."))
    assert raised.value.retry_after == 600


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fault", [Fault.status(503), Fault.reset_before(), Fault.reset_after(), Fault.hang(done=True)]
)
async def test_what_fails_on_its_way_is_there_once(stage: Stage, anna: Person, fault: Fault) -> None:
    stage.api.fail("create_message", fault)
    await stage.show(anna.dm, at_once("It is blue."))
    stage.api.fail("create_message", fault)
    await stage.show(anna.dm, said("And", "And warm."), key="reply-2")
    assert anna.dm.texts == ["It is blue.", "And warm."]
    assert len({call.fields["nonce"] for call in stage.api.calls_of("create_message")}) == 2


async def test_a_file_whose_answer_is_lost_is_there_once(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.reset_after(), after=1)
    await stage.show(anna.dm, at_once(code(200)))
    assert [len(message.attachments) for message in anna.dm.replies] == [0, 1, 0]


@pytest.mark.thorough
async def test_the_first_word_whose_answer_is_lost_grows_on(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.reset_after())
    await stage.show(anna.dm, said("It", "It is blue.", pause=0.3))
    (message,) = anna.dm.replies
    assert (message.first_content, message.content) == ("It", "It is blue.")


async def test_the_first_word_whose_answer_is_lost_has_its_buttons_in_the_end(
    stage: Stage, anna: Person
) -> None:
    stage.api.fail("create_message", Fault.reset_after())
    await stage.show(anna.dm, said("Really?", choices=(Choice("Yes", "/pair ABC"),)))
    (message,) = anna.dm.replies
    assert (message.content, message.labels) == ("Really?", ["Yes"])


async def test_an_edit_that_fails_while_it_grows_is_made_good(stage: Stage, anna: Person) -> None:
    stage.api.fail("edit_message", Fault.reset_after(), times=2)
    await stage.show(anna.dm, said("It", "It is", "It is blue."))
    assert anna.dm.texts == ["It is blue."]


async def test_what_fails_again_and_again_is_for_the_next_try(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.status(503), times=3)
    with pytest.raises(ChannelFault):
        await stage.show(anna.dm, at_once("It is blue."))
    await stage.show(anna.dm, at_once("It is blue."))
    assert anna.dm.texts == ["It is blue."]


async def test_a_message_that_is_deleted_while_it_grows_is_said_anew(stage: Stage, anna: Person) -> None:
    async def deleted() -> AsyncIterator[ReplyPart]:
        yield ReplyPart("It")
        await stage.api.wait_until(lambda: anna.dm.replies)
        await anna.delete(anna.dm.replies[0])
        async for part in said("It is", "It is blue."):
            yield part

    await stage.show(anna.dm, deleted())
    assert anna.dm.texts == ["It is blue."]
    nonces = [call.fields["nonce"] for call in stage.api.calls_of("create_message")]
    assert len(set(nonces)) == 2, "a nonce of what is deleted makes no message"


async def test_a_message_that_is_deleted_before_the_end_is_said_anew(stage: Stage, anna: Person) -> None:
    await stage.show(anna.dm, at_once("It is"))
    await anna.delete(anna.dm.replies[0])
    await stage.show(anna.dm, at_once("It is blue."), shown=stage.kept[-1])
    assert anna.dm.texts == ["It is blue."]


async def test_a_nonce_of_what_was_deleted_is_not_tried_for_ever(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.refuse(10008))
    await stage.show(anna.dm, at_once("It is blue."))
    assert anna.dm.texts == ["It is blue."]
    assert len({call.fields["nonce"] for call in stage.api.calls}) == 2


@pytest.mark.parametrize("code", [50007, 50278])
async def test_a_person_who_takes_no_messages_ends_the_reply(stage: Stage, anna: Person, code: int) -> None:
    anna.refuses = code
    with pytest.raises(ChatGone):
        await stage.show(anna.dm, said("It", "It is blue."))
    assert len(stage.api.refusals) == 1


async def test_a_channel_that_is_closed_to_the_bot_ends_the_reply(
    stage: Stage, anna: Person, general: Channel
) -> None:
    thread = await anna.open_thread(await anna.say("look", general), "Look")
    await anna.archive(thread, locked=True)
    general.deny(stage.api.bot, "send_messages")
    assert general.guild
    gone, hidden = general.guild.text("gone"), general.guild.text("hidden")
    stage.api.remove_channel(gone)
    hidden.deny(stage.api.bot, "view_channel")
    for channel in (thread, general, gone, hidden):
        with pytest.raises(ChatGone):
            await stage.show(channel, at_once("It is blue."))


async def test_where_it_may_not_type_it_tries_that_once(
    stage: Stage, anna: Person, general: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.reply_streamer.TYPING_AFTER", 0.0)
    monkeypatch.setattr(DiscordSender, "typing_seconds", 0.02)
    to = await anna.say("hi", general)
    general.deny(stage.api.bot, "send_messages")

    async def slow() -> AsyncIterator[ReplyPart]:
        await asyncio.sleep(0.2)
        yield ReplyPart("It is blue.", final=True)

    with pytest.raises(ChatGone):
        await stage.show(general, slow(), to=to)
    assert len(stage.api.calls_of("typing")) == 1


async def test_what_a_server_holds_back_is_told_in_other_words(stage: Stage, general: Channel) -> None:
    held = Fault("answer", 400, '{"code": 200000, "message": "Message was blocked by automatic moderation"}')
    stage.api.fail("create_message", held)
    await stage.show(general, at_once("A bad word."))
    assert general.texts == [phrases.REPLY_BLOCKED]


async def test_what_discord_does_not_take_at_all_is_told_in_other_words(stage: Stage, anna: Person) -> None:
    stage.api.fail("create_message", Fault.refuse(50109), times=2)
    await stage.show(anna.dm, at_once("It is blue.", (Choice("Yes", "/pair ABC"),)))
    assert anna.dm.texts == [phrases.NOT_SHOWN.format(platform="Discord")]


async def test_a_text_that_discord_finds_too_long_is_cut_smaller(stage: Stage, anna: Person) -> None:
    too_long = Fault(
        "answer",
        400,
        '{"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors": '
        '[{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}}}',
    )
    stage.api.fail("create_message", too_long)
    await stage.show(anna.dm, at_once("\n\n".join(["word " * 150] * 2)))
    assert [len(text) > 700 for text in anna.dm.texts] == [True, True]


async def test_what_somebody_in_between_says_is_for_the_next_try(stage: Stage, anna: Person) -> None:
    for fault in (Fault.status(403), Fault.status(404), Fault.status(400), Fault.status(200, "<html>")):
        stage.api.fail("create_message", fault, times=3)
        with pytest.raises(ChannelFault):
            await stage.show(anna.dm, at_once("It is blue."))
    await stage.show(anna.dm, at_once("It is blue."))
    assert anna.dm.texts == ["It is blue."]


async def test_who_is_refused_too_much_asks_nothing_for_a_while(
    stage: Stage, anna: Person, general: Channel
) -> None:
    now = 0.0
    budget = InvalidRequestLimit(limit=5, within=600, clock=lambda: now)

    async def logged_in() -> discord.Client:
        return stage.client

    stage.calls = ApiCalls(logged_in, pauses=(), budget=budget)
    general.deny(stage.api.bot, "send_messages")
    for number in range(5):
        now = float(number)
        with pytest.raises(ChatGone):
            await stage.show(general, at_once("It is blue."))
    with pytest.raises(ChannelFault) as raised:
        await stage.show(anna.dm, at_once("It is blue."))
    assert raised.value.retry_after == 596
    assert stage.api.invalid == {403: 5}
    now = 601.0
    await stage.show(anna.dm, at_once("It is blue."))
    assert anna.dm.texts == ["It is blue."]


# -- over a restart -------------------------------------------------------------------------------------------


async def test_what_was_begun_before_a_crash_is_edited(stage: Stage, anna: Person) -> None:
    long = "\n\n".join(f"Paragraph {number}: {'word ' * 80}" for number in range(8))
    await stage.show(anna.dm, at_once(long + "\n\n" + code(200)))
    before = [message.id for message in anna.dm.replies]
    await stage.show(anna.dm, at_once(long + "!\n\n" + code(200)), shown=stage.kept[-1])
    assert [message.id for message in anna.dm.replies] == before
    assert any("!" in text for text in anna.dm.texts)


async def test_what_was_sent_and_not_kept_is_there_once(stage: Stage, anna: Person) -> None:
    """Within some minutes by its nonce."""
    to = await anna.say("hi")
    await stage.show(anna.dm, at_once("It"), to=to)
    stage.ours = ShownMessages()
    await stage.show(anna.dm, at_once("It is blue."), to=to)
    assert anna.dm.texts == ["It is blue."]


async def test_the_same_key_for_another_message_is_another_reply(stage: Stage, anna: Person) -> None:
    """Such as after a backup was restored."""
    await stage.show(anna.dm, at_once("Hello."), to=await anna.say("hi"))
    await stage.show(anna.dm, at_once("Hello."), to=await anna.say("hi again"))
    assert anna.dm.texts == ["Hello.", "Hello."]


@pytest.mark.parametrize("points", [True, False])
async def test_after_a_long_stop_our_own_message_is_found_in_the_history(
    stage: Stage, anna: Person, general: Channel, points: bool
) -> None:
    channel = general if points else anna.dm
    to = await anna.say("hi", channel)
    await stage.show(channel, at_once("It is"), to=to, points=points)
    for message in channel.replies:
        message.nonce = None  # as after some minutes
    stage.ours = ShownMessages()
    late = datetime.now(UTC) - timedelta(minutes=30)
    await stage.show(channel, said("It is", "It is blue."), to=to, points=points, moment=late)
    assert channel.texts == ["It is blue."]
    assert stage.kept[-1] == [str(channel.replies[0].id)]


async def test_what_answers_something_else_is_not_taken_for_ours(stage: Stage, anna: Person) -> None:
    late = datetime.now(UTC) - timedelta(minutes=30)
    first, second = await anna.say("one"), await anna.say("two")
    await stage.show(anna.dm, at_once("Done."), to=first, key="reply-1", moment=late)
    await stage.show(anna.dm, at_once("Done."), to=second, key="reply-2", moment=late)
    assert anna.dm.texts == ["Done.", "Done."]


# -- answers to commands --------------------------------------------------------------------------------------


async def test_the_answer_to_a_command_takes_the_place_of_what_was_announced(
    stage: Stage, anna: Person, general: Channel
) -> None:
    interaction, place = await stage.asked(anna, general)
    long = "\n\n".join(f"Paragraph {number}: {'word ' * 80}" for number in range(8))
    await stage.show(place, said("It", long, choices=(Choice("Yes", "/pair ABC"),)))
    assert len(interaction.messages) > 1
    assert interaction.messages == general.replies
    assert interaction.messages[-1].labels == ["Yes"]
    assert stage.kept[-1] == [str(message.id) for message in interaction.messages]
    assert not stage.api.calls_of("create_message", "typing")


async def test_what_is_private_is_so_in_all_its_parts(stage: Stage, anna: Person, general: Channel) -> None:
    interaction, place = await stage.asked(anna, general, private=True)
    await stage.show(place, said("Secret", code(200)))
    assert len(interaction.messages) == 3
    assert all(message.ephemeral for message in interaction.messages)
    assert general.replies == []


async def test_an_answer_is_gone_on_with_after_a_crash(stage: Stage, anna: Person, general: Channel) -> None:
    interaction, place = await stage.asked(anna, general, private=True)
    await stage.show(place, at_once("It is"))
    again = stage.answer_to(interaction, private=True, is_begun=True)
    await stage.show(again, said("It is", "It is blue."), shown=stage.kept[-1])
    assert interaction.texts == ["It is blue."]


@pytest.mark.parametrize("private", [True, False])
async def test_what_is_chosen_takes_the_place_of_what_was_to_be_chosen_from(
    stage: Stage, anna: Person, general: Channel, private: bool
) -> None:
    interaction, place = await stage.asked(anna, general, private=private)
    await stage.show(place, at_once("Really?", (Choice("Yes", "/forget 1"),)))
    (message,) = interaction.messages
    place = await stage.pressed(anna, message, "Yes", private=private)
    await stage.show(place, said("Wait", "It is done."), shown=[str(message.id)], key="reply-2")
    assert (message.content, message.labels, message.ephemeral) == ("It is done.", [], private)
    assert len(general.messages) == 1


async def test_an_announcement_that_nothing_follows_is_taken_back(
    stage: Stage, anna: Person, general: Channel
) -> None:
    interaction, place = await stage.asked(anna, general)
    await stage.show(place, at_once(" "))
    assert [message.deleted for message in interaction.messages] == [True]


async def test_an_answer_that_is_deleted_while_it_grows_is_said_anew(
    stage: Stage, anna: Person, general: Channel
) -> None:
    interaction, place = await stage.asked(anna, general)

    async def deleted() -> AsyncIterator[ReplyPart]:
        yield ReplyPart("It")
        await stage.api.wait_until(lambda: general.replies)
        await anna.delete(general.replies[0])
        async for part in said("It is", "It is blue."):
            yield part

    await stage.show(place, deleted())
    assert interaction.texts == ["It is blue."]


@pytest.mark.parametrize("fault", [Fault.reset_after(), replace(Fault.status(502), done=True)])
async def test_a_further_part_whose_answer_is_lost_is_there_once(
    stage: Stage, anna: Person, general: Channel, fault: Fault
) -> None:
    stage.calls._call_seconds = 5
    interaction, place = await stage.asked(anna, general)
    stage.api.fail("followup", fault)
    await stage.show(place, at_once("\n\n".join(f"Part {number}: {'word ' * 200}" for number in range(3))))
    assert [text[:6] for text in interaction.texts] == ["Part 0", "Part 1", "Part 2"]


@pytest.mark.parametrize("fault", [Fault.reset_before(), Fault.reset_after(), Fault.rate_limit(0.05)])
async def test_answers_survive_faults(stage: Stage, anna: Person, general: Channel, fault: Fault) -> None:
    interaction, place = await stage.asked(anna, general, private=True)
    stage.api.fail("edit_original", fault)
    await stage.show(place, at_once("It is blue."))
    assert interaction.texts == ["It is blue."]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["edit_original", "followup", "edit_followup", "delete_followup"])
@pytest.mark.parametrize(
    "fault", [Fault.status(503), Fault.rate_limit(0.05), Fault.rate_limit(0.05, "global")]
)
async def test_every_call_of_an_answer_survives(
    stage: Stage, anna: Person, general: Channel, name: str, fault: Fault
) -> None:
    """The library waits a second after each 503."""
    stage.calls._call_seconds = 5
    interaction, place = await stage.asked(anna, general)
    stage.api.fail(name, fault)
    await stage.show(place, shrinking(general))
    assert interaction.texts == ["In short: no."]
    assert any(call.faulty for call in stage.api.calls_of(name))


@pytest.mark.parametrize("refusal", [10015, 10062, 50027, 50083])
async def test_an_answer_that_cannot_be_told_as_such_is_a_message_in_the_channel(
    stage: Stage, anna: Person, general: Channel, refusal: int
) -> None:
    _, place = await stage.asked(anna, general)
    stage.api.fail("edit_original", Fault.refuse(refusal), times=None)
    elsewhere = OtherTarget(ChannelTarget(stage.calls, general.id), is_direct=False)
    await stage.show(place, said("It", "It is blue."), elsewhere=elsewhere)
    assert general.texts == ["It is blue."]


async def test_an_answer_whose_time_ends_while_it_grows_is_edited_as_a_message(
    stage: Stage, anna: Person, general: Channel
) -> None:
    interaction, place = await stage.asked(anna, general)
    stage.api.fail("edit_followup", Fault.refuse(50027), after=1)
    elsewhere = OtherTarget(ChannelTarget(stage.calls, general.id), is_direct=False)
    await stage.show(place, said("It", "It is", "It is very", "It is very blue."), elsewhere=elsewhere)
    assert general.texts == ["It is very blue."]
    assert [message.content for message in interaction.messages] == ["It is very blue."]


async def test_what_was_private_is_told_in_private_after_its_time(
    stage: Stage, anna: Person, general: Channel
) -> None:
    _, place = await stage.asked(anna, general, private=True)
    stage.api.fail("edit_followup", Fault.refuse(50027), times=None)
    elsewhere = OtherTarget(ChannelTarget(stage.calls, anna.dm.id), is_direct=True)
    await stage.show(place, said("Sec", "Secret."), elsewhere=elsewhere)
    assert (general.texts, anna.dm.texts) == ([], ["Secret."])
    (message,) = anna.dm.replies
    assert stage.kept[-1] == [f"d{message.id}"]
    await stage.show(ChannelTarget(stage.calls, anna.dm.id), at_once("Secret!"), shown=stage.kept[-1])
    assert anna.dm.texts == ["Secret!"]


@pytest.mark.parametrize(
    ("length", "mark", "note"),
    [(8_000, "cut-2", phrases.SENDING_STOPPED), (60_000, "begun-2", "All of it is in the file")],
)
async def test_what_stood_where_it_was_begun_does_not_count_where_it_is_told_anew(
    stage: Stage, anna: Person, general: Channel, length: int, mark: str, note: str
) -> None:
    text = story(length)
    _, place = await stage.asked(anna, general, private=True, is_begun=True)
    stage.api.fail("edit_followup", Fault.refuse(50027), times=None)
    elsewhere = OtherTarget(ChannelTarget(stage.calls, anna.dm.id), is_direct=True)
    await stage.show(place, at_once(text), shown=["11", "12", mark], elsewhere=elsewhere)
    *beginning, told, _ = anna.dm.texts
    assert note in told
    assert len(beginning) == (0 if mark == "cut-2" else 1)
    assert [file.text for file in anna.dm.replies[-1].attachments] == [f"{text}\n"]


async def test_where_it_is_told_anew_files_may_be_sent_that_were_refused_before(
    stage: Stage, anna: Person, general: Channel
) -> None:
    text = story(60_000)
    _, place = await stage.asked(anna, general, private=True, is_begun=True)
    stage.api.fail("followup", Fault.refuse(50013), after=2)
    stage.api.fail("edit_followup", Fault.refuse(50027), times=None)
    elsewhere = OtherTarget(ChannelTarget(stage.calls, anna.dm.id), is_direct=True)
    await stage.show(place, at_once(text), elsewhere=elsewhere)
    assert [file.text for file in anna.dm.replies[-1].attachments] == [f"{text}\n"]


async def test_what_was_private_is_not_told_where_it_cannot_be_told_in_private(
    stage: Stage, anna: Person, general: Channel
) -> None:
    _, place = await stage.asked(anna, general, private=True)
    anna.refuses = 50007
    stage.api.fail("edit_original", Fault.refuse(50027), times=None)
    elsewhere = OtherTarget(ChannelTarget(stage.calls, anna.dm.id), is_direct=True)
    with pytest.raises(ChatGone):
        await stage.show(place, said("Sec", "Secret."), elsewhere=elsewhere)
    assert general.texts == []


async def test_nothing_is_asked_of_discord_for_what_is_over() -> None:
    async with DiscordApi(clock=lambda: time.time() - 900) as api:
        anna = api.person("anna")
        general = api.guild("Home", anna, api.bot).text()
        async for stage in staged(api):
            _, place = await stage.asked(anna, general)
            api.calls.clear()
            elsewhere = OtherTarget(ChannelTarget(stage.calls, general.id), is_direct=False)
            await stage.show(place, said("It", "It is blue."), elsewhere=elsewhere)
            assert general.texts == ["It is blue."]
            assert not api.calls_of("edit_original", "followup")


async def test_an_answer_waits_until_the_command_is_acknowledged(
    stage: Stage, anna: Person, general: Channel
) -> None:
    data = {"id": "5", "name": "status", "type": 1, "options": []}
    interaction = stage.api.interact(anna, general, 2, data, bot=stage.api.bot, name="status")
    showing = asyncio.create_task(stage.show(stage.answer_to(interaction), at_once("It is blue.")))
    await asyncio.sleep(0.1)
    assert not stage.api.calls_of("edit_original")
    await stage.deferred(interaction, private=False)
    await showing
    assert interaction.texts == ["It is blue."]


# -- stopped --------------------------------------------------------------------------------------------------


async def test_a_reply_whose_sending_was_stopped_stays_so_after_a_restart(
    stage: Stage, general: Channel
) -> None:
    text = story(10_000)
    await stage.show(general, at_once(text))
    whole = general.texts
    shown = [str(each.id) for each in general.replies][:2]
    await stage.show(general, at_once(text), shown=[*shown, "cut-2"], key="reply-2")
    assert len(whole) > 3
    assert general.texts[len(whole) :] == [phrases.SENDING_STOPPED, ""]
    (file,) = general.replies[-1].attachments
    assert (file.name, file.text) == ("reply.md", f"{text}\n")
    assert stage.kept[-1][-1] == "cut-2"
