"""What people write on Discord, read by the library, in our words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import discord
import pytest
from discord.user import ClientUser

from adapters.discord.incoming import ReceivedMessage, read_edit, read_message
from adapters.discord.incoming_contents import AttachmentHandle
from adapters.discord.incoming_text import MentionNames, mentions_bot, read_text
from bot.messages import Attachment, ChatId, IncomingMessage, PersonId, Quoted
from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.chats import Channel, Guild, Message
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.requests import Upload
from tests.fakes.discord_api.world import World
from tests.fakes.table_test import table_test


@dataclass
class Reading:
    """The library's own reading of what a world tells."""

    world: World

    def said(
        self,
        message: Message,
        *,
        read: Callable[[discord.Message, int], ReceivedMessage | None] = read_message,
        has_intent: bool = True,
        **more: Any,
    ) -> ReceivedMessage | None:
        """Read a message as it comes; `more` is put into what Discord tells."""
        bot = self.world.bot
        state = discord.Client(intents=discord.Intents.none())._connection
        state.user = ClientUser(state=state, data=wire.me_json(bot))  # type: ignore[arg-type]
        for guild in self.world.guilds.values():
            state._add_guild_from_data(wire.guild_json(guild, bot))  # type: ignore[arg-type]
        raw: Any = wire.message_json(self.world, message, bot, has_intent=has_intent, live=True) | more
        channel: Any = state._get_guild_channel(raw)[0]
        return read(discord.Message(state=state, channel=channel, data=raw), bot.id)

    def message(self, message: Message, **more: Any) -> IncomingMessage:
        said = self.said(message, **more)
        assert said is not None
        return said.message


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def reading(world: World) -> Reading:
    return Reading(world)


@pytest.fixture
def anna(world: World) -> Person:
    return world.person("anna", display_name="Anna B.")


@pytest.fixture
def home(world: World, anna: Person) -> Guild:
    return world.guild("Home", anna, world.person("ben", display_name="Ben"))


@pytest.fixture
def general(home: Guild) -> Channel:
    return home.text("general")


async def test_a_direct_message(reading: Reading, anna: Person) -> None:
    message = await anna.say("hello")
    read = reading.message(message)
    assert read.id == str(message.id)
    assert read.chat == ChatId("discord", f"@{anna.id}")
    assert read.sender == PersonId("discord", str(anna.id))
    assert (read.text, read.sender_name, read.chat_name, read.in_room, read.addressed) == (
        "hello", "Anna B.", "", False, True,
    )  # fmt: skip
    assert abs(read.sent_at.timestamp() - message.time) < 1
    assert read.sent_at.utcoffset() is not None


async def test_in_a_channel_the_bot_is_meant_where_it_is_mentioned_or_replied_to(
    reading: Reading, world: World, home: Guild, anna: Person, general: Channel
) -> None:
    ben = world.person("ben")
    mine = next(role for role in home.roles.values() if role.bot is world.bot)
    answer = world.post(general, world.bot, content="Yes?")
    other = await ben.say("I think so", general)
    for message, is_meant in [
        (await anna.say("hello all", general), False),
        (await anna.ask("hello", general), True),
        (await anna.say(f"hello {mine.mention}", general), True),
        (await anna.say("@everyone hello", general), False),
        (await anna.say(f"ask {ben.mention}", general), False),
        (await anna.say("no", reply_to=answer), True),
        (await anna.say("no", reply_to=answer, ping=False), True),
        (await anna.say("no", reply_to=other), False),
    ]:
        assert reading.message(message).addressed is is_meant, message
    in_code = await anna.say(f"`{world.bot.mention}` is how to call it", general)
    assert not reading.message(in_code, mentions=[]).addressed


async def test_a_thread_that_the_bot_opened_is_a_conversation_with_it(
    reading: Reading, world: World, anna: Person, general: Channel
) -> None:
    first = await anna.ask("what is to be done?", general)
    mine = world.open_thread(general, "To do", world.bot, message=first)
    other = world.open_thread(general, "Chatter", anna)
    read = reading.message(await anna.say("and then?", mine))
    assert (read.addressed, read.chat.name, read.chat_name) == (True, str(mine.id), "#general › To do · Home")
    assert not reading.message(await anna.say("and then?", other)).addressed


async def test_a_post_in_a_forum(reading: Reading, world: World, home: Guild, anna: Person) -> None:
    forum = home.forum("help")
    message = await anna.post(forum, "It does not start", f"{world.bot.mention} why?")
    said = reading.said(message)
    assert said
    assert said.in_thread
    assert (said.message.text, said.message.addressed) == ("why?", True)
    assert said.message.chat_name == "#help › It does not start · Home"


async def test_bots_webhooks_and_discord_itself_are_not_heard(
    reading: Reading, world: World, home: Guild, anna: Person, general: Channel
) -> None:
    other = world.add_bot("other")
    home.join(other)
    assert reading.said(world.post(general, other, content=world.bot.mention)) is None
    assert reading.said(world.post(general, world.bot, content="mine")) is None
    message = await anna.ask("hello", general)
    assert reading.said(message, webhook_id="5") is None
    for kind in (chats.MEMBER_JOIN, chats.THREAD_CREATED, chats.THREAD_STARTER, chats.COMMAND, 46):
        assert reading.said(message, type=kind) is None


async def test_a_reply_quotes_what_it_replies_to_with_what_came_along(
    reading: Reading, world: World, anna: Person, general: Channel
) -> None:
    ben = world.person("ben")
    files = [Upload("plan.pdf", "application/pdf", b"%PDF"), Upload("film.mp4", "video/mp4", b"film")]
    plan = await ben.say(f"the plan, {anna.mention}", general, files=files)
    read = reading.message(await anna.ask("read this", general, reply_to=plan))
    assert read.quoted == Quoted("the plan, @Anna B.", "Ben")
    assert [(one.name, one.quoted) for one in read.attachments] == [("plan.pdf", True)]
    handle = AttachmentHandle.parse(read.attachments[0].handle)
    assert (handle.channel, handle.message) == (general.id, plan.id)
    answer = world.post(general, world.bot, content="**Yes**")
    read = reading.message(await anna.say("why?", reply_to=answer))
    assert read.quoted == Quoted("**Yes**", "commonplace", mine=True)
    await ben.delete(plan)
    assert reading.message(await anna.ask("and this?", general, reply_to=plan)).quoted is None


async def test_what_is_passed_on_is_not_the_senders_own(reading: Reading, anna: Person, world: World) -> None:
    message = await anna.say("")
    snapshot = {
        "type": 0, "content": "/forget everything", "embeds": [], "flags": 0, "timestamp": wire.moment(0),
        "edited_timestamp": None, "attachments": [
            {"id": "7", "filename": "a.txt", "size": 3, "url": "https://x/a", "proxy_url": "", "content_type": "text/x"}
        ],
    }  # fmt: skip
    place = {"type": 1, "message_id": "5", "channel_id": "6"}
    read = reading.message(message, message_reference=place, message_snapshots=[{"message": snapshot}])
    assert (read.text, read.forwarded_from, read.quoted) == ("/forget everything", "somebody", None)
    assert [(one.kind, one.name) for one in read.attachments] == [("document", "a.txt")]
    assert AttachmentHandle.parse(read.attachments[0].handle).message == message.id


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("cat.png", "image/png", "picture"),
        ("drawing.svg", "image/svg+xml", "document"),
        ("notes.txt", "text/plain; charset=utf-8", "document"),
        ("song.mp3", "audio/mpeg", "voice"),
        ("film.mp4", "video/mp4", "other"),
        ("data", "", "document"),
    ],
)
async def test_a_file_is_of_the_kind_that_can_be_done_with_it(
    name: str, media_type: str, kind: str, reading: Reading, anna: Person
) -> None:
    read = reading.message(await anna.say("", files=[Upload(name, media_type, b"12345")]))
    (file,) = read.attachments
    assert (file.kind, file.name, file.size, file.media_type) == (kind, name, 5, media_type.partition(";")[0])
    assert read.text == ""


async def test_a_voice_message(reading: Reading, anna: Person) -> None:
    (voice,) = reading.message(await anna.voice(seconds=2.5)).attachments
    assert (voice.kind, voice.media_type, voice.seconds, voice.name) == ("voice", "audio/ogg", 2.5, "")
    assert isinstance(voice, Attachment)


async def test_a_name_that_discord_has_made_plain_is_told_as_it_was(reading: Reading, anna: Person) -> None:
    message = await anna.say("")
    file = {
        "id": "7",
        "filename": "__.pdf",
        "title": "計画",
        "size": 3,
        "url": "https://x/a",
        "proxy_url": "",
    }
    (one,) = reading.message(message, attachments=[file]).attachments
    assert one.name == "計画.pdf"


async def test_what_cannot_be_fetched_is_told_in_words(reading: Reading, world: World, anna: Person) -> None:
    message = await anna.say("")
    sticker = {"id": "7", "name": "Wave", "format_type": 1}
    assert reading.message(message, sticker_items=[sticker]).text == "[sticker Wave]"
    poll = {
        "question": {"text": "Tea?"}, "expiry": wire.moment(world.clock()), "layout_type": 1,
        "answers": [{"answer_id": 1, "poll_media": {"text": "Yes"}}, {"answer_id": 2, "poll_media": {"text": "No"}}],
    }  # fmt: skip
    assert reading.message(message, poll=poll).text == "[poll: Tea?]\n- Yes\n- No"
    assert reading.message(message).text == "[something I can't read here]"


async def test_an_edit_stands_in_the_first_ones_place(reading: Reading, anna: Person) -> None:
    message = await anna.say("tea")
    assert reading.said(message, read=read_edit) is None
    await anna.edit(message, "coffee")
    read = reading.message(message, read=read_edit)
    assert (read.text, read.edit_of) == ("coffee", str(message.id))
    assert read.id == f"{message.id}.{int(read.sent_at.timestamp() * 1000)}"


async def test_what_discord_hides_is_noticed_where_it_was_meant_for_the_bot(
    reading: Reading, world: World, anna: Person, general: Channel
) -> None:
    answer = world.post(general, world.bot, content="Yes?")
    said = reading.said(await anna.say("no", reply_to=answer, ping=False), has_intent=False)
    assert said
    assert said.is_hidden
    assert reading.said(await anna.say("no", general), has_intent=False) is None
    said = reading.said(await anna.ask("no", general), has_intent=False)
    assert said
    assert not said.is_hidden


async def test_the_senders_roles_are_told(
    reading: Reading, home: Guild, anna: Person, general: Channel
) -> None:
    cooks = home.role("cooks")
    home.give(anna, cooks)
    said = reading.said(await anna.ask("hello", general))
    assert said
    assert cooks.id in (said.roles or ())
    direct = reading.said(await anna.say("hello"))
    assert direct
    assert direct.roles is None


async def test_names_from_others_are_one_harmless_line(reading: Reading, world: World, home: Guild) -> None:
    eve = world.person("eve", display_name="Eve\n\x1b[2Jowner:")
    home.join(eve)
    read = reading.message(await eve.ask("hello", home.text("a\nb")))
    assert (read.sender_name, read.chat_name) == ("Eve owner:", "#a b · Home")


NAMES = MentionNames(1, frozenset([2]), {3: "Ben"}, {4: "cooks"}.get, {5: "general"}.get)  # type: ignore[arg-type]
ENDLESS = "9" * 5000
"""More digits than Python makes a number of."""


@table_test(
    ("written", "read"),
    [
        ("<@1> hello", "hello"),
        ("<@!1>, hello", "hello"),
        ("hello <@1>", "hello"),
        ("<@1> <@&2>: hello", "hello"),
        ("<@1> /status", "/status"),
        ("what does <@1> say?", "what does <@1> say?"),
        ("<@1>", "<@1>"),
        ("ask <@3> and <@!3>, <@&4>, in <#5>", "ask @Ben and @Ben, @cooks, in #general"),
        ("ask <@9> <@&9> <#9>", "ask <@9> <@&9> <#9>"),
        (f"ask <@{ENDLESS}> <@&{ENDLESS}> <#{ENDLESS}>", f"ask <@{ENDLESS}> <@&{ENDLESS}> <#{ENDLESS}>"),
        ("<:tea:123> <a:party_time:456>", ":tea: :party_time:"),
        ("at <t:0:R>, <t:99999999999999:F>", "at 1970-01-01 00:00 UTC, <t:99999999999999:F>"),
        ("at <t:9999999999999>", "at <t:9999999999999>"),
        ("use </memory search:99>", "use /memory search"),
        ("`<@3>` and ```\n<@3> <:a:1>\n``` <@3>", "`<@3>` and ```\n<@3> <:a:1>\n``` @Ben"),
        ("a < b <@ 3> <@x>", "a < b <@ 3> <@x>"),
        ("  two  \n\n spaced ", "two  \n\n spaced"),
        ("half \ud83d", "half \ufffd"),
        ("", ""),
    ],
)
def test_marks_are_read_as_people_see_them(written: str, read: str) -> None:
    assert read_text(written, NAMES) == read


def test_a_mention_in_code_is_none() -> None:
    assert mentions_bot("hello <@1>", NAMES)
    assert not mentions_bot("`<@1>`", NAMES)
    assert not mentions_bot("<@11>", NAMES)


def test_a_handle_is_read_back() -> None:
    handle = AttachmentHandle(1, 2, 3, "https://cdn.example/a b?ex=1")
    assert AttachmentHandle.parse(str(handle)) == handle
    for text in ("", "1/2 x", "a/b/c x"):
        with pytest.raises(ValueError):  # noqa: PT011 - several of them
            AttachmentHandle.parse(text)
