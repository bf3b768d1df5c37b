"""The fake Discord behaves like the real one, for the real discord.py and over real sockets."""

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import discord
import pytest
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.fakes.discord_api import wire
from tests.fakes.discord_api.chats import Channel, Interaction, Message
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.limits import Limits, Meter
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.permissions import USUAL, Permission
from tests.fakes.discord_api.requests import Upload
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.threaded_server import run_in_thread

pytestmark = pytest.mark.thorough  # of the stand-in alone: what it stands in for is tested everywhere


class Clock:
    """Real time, and as much more as is asked for."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Client(discord.Client):
    """Keeps what it hears, and does not wait for 5 s before it identifies again."""

    def __init__(self, **options: Any) -> None:
        intents = options.pop("intents", None) or discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=True
        )
        super().__init__(
            intents=intents,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            guild_ready_timeout=0.05,
            **options,
        )
        self.heard: list[discord.Message] = []
        self.events: list[str] = []
        self.raw: list[Any] = []
        self.spoken_to = asyncio.Event()
        self.answering: Callable[[Any], Awaitable[Any]] | None = None
        """What is done with each interaction that is no command."""

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        pass

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)
        self.spoken_to.set()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self.answering is not None:
            await self.answering(interaction)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        self.raw.append(("edit", payload.message_id, payload.message.content))

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self.raw.append(("delete", payload.message_id))

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        self.raw.append(("reaction", payload.message_id, str(payload.emoji)))

    async def on_thread_create(self, thread: discord.Thread) -> None:
        self.raw.append(("thread", thread.id, thread.name))

    async def hears(self, count: int) -> None:
        """Wait for so many messages in all."""
        async with asyncio.timeout(5):
            while len(self.heard) < count:
                self.spoken_to.clear()
                await self.spoken_to.wait()

    @property
    def texts(self) -> list[str]:
        return [message.content for message in self.heard]

    async def on_socket_event_type(self, name: str) -> None:
        self.events.append(name)


@pytest.fixture(autouse=True)
def routes_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Route, "BASE", Route.BASE)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", DiscordWebSocket.DEFAULT_GATEWAY)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(clock: Clock) -> AsyncIterator[DiscordApi]:
    async with DiscordApi(clock=clock) as server:
        yield server


@pytest.fixture
def anna(api: DiscordApi) -> Person:
    return api.person("anna", display_name="Anna")


@pytest.fixture
def general(api: DiscordApi, anna: Person) -> Channel:
    return api.guild("Home", anna).text("general")


@asynccontextmanager
async def logged_in(api: DiscordApi, **options: Any) -> AsyncIterator[Client]:
    """Without a gateway."""
    Route.BASE = api.api_base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(api.gateway_url)
    client = Client(**options)
    try:
        await client.login(api.token)
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def connected(api: DiscordApi, **options: Any) -> AsyncIterator[Client]:
    async with logged_in(api, **options) as client, following(client):
        yield client


@asynccontextmanager
async def following(client: Client) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(client.connect())
    try:
        async with asyncio.timeout(5):
            await client.wait_until_ready()
        yield task
    finally:
        await client.close()
        await asyncio.gather(task, return_exceptions=True)


def place(client: Client, channel: Channel) -> discord.PartialMessageable:
    guild = channel.guild.id if channel.guild else None
    return client.get_partial_messageable(channel.id, guild_id=guild)


async def asked(
    api: DiscordApi, method: str, path: str, given: Any = None, *, token: str = ""
) -> tuple[int, Any, dict[str, str]]:
    """The API without a library in between: status, body, headers."""
    headers = {"Authorization": f"Bot {token or api.token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"{api.api_base}{path}", json=given, headers=headers) as response,
    ):
        text = await response.text()
        read = json.loads(text) if response.content_type == "application/json" else text
        return response.status, read, dict(response.headers)


# -- messages --------------------------------------------------------------------------------------------------


async def test_a_direct_message_is_heard_and_answered(api: DiscordApi, anna: Person) -> None:
    async with connected(api) as client:
        await anna.say("hi")
        await api.wait_until(lambda: client.heard)
        assert isinstance(client.heard[0].channel, discord.DMChannel)
        await client.heard[0].channel.send("Hello.", nonce="n1")
        assert (await anna.dm.answer()).content == "Hello."
        await api.wait_until(lambda: len(client.heard) == 2)
        assert client.texts == ["hi", "Hello."]
        assert client.heard[1].nonce == "n1"
        assert not api.refusals


async def test_a_guild_brings_its_channels_roles_and_last_messages(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    assert general.guild
    staff = general.guild.role("staff")
    message = await anna.say("hi", general)
    thread = await anna.open_thread(message, "tea")
    async with connected(api) as client:
        channel = client.get_channel(general.id)
        assert isinstance(channel, discord.TextChannel)
        assert channel.last_message_id == message.id
        assert channel.guild.get_role(staff.id)
        assert [one.id for one in channel.threads] == [thread.id]
        assert channel.permissions_for(channel.guild.me).send_messages


async def test_mentions_and_replies_are_told_apart(api: DiscordApi, anna: Person, general: Channel) -> None:
    async with connected(api) as client:
        await anna.say("nobody", general)
        first = await anna.ask("you", general)
        await api.wait_until(lambda: len(client.heard) == 2)
        sent = await client.heard[1].reply("yes?", mention_author=False)
        answer = await general.answer(first)
        await anna.say("loud", reply_to=answer)
        await anna.say("quiet", reply_to=answer, ping=False)
        await api.wait_until(lambda: len(client.heard) == 5)
        assert [client.user in one.mentions for one in client.heard] == [False, True, False, True, False]
        for message in client.heard[3:]:
            assert message.reference
            assert isinstance(message.reference.resolved, discord.Message)
            assert message.reference.message_id == sent.id
            assert message.reference.resolved.author.id == api.bot.id
        assert answer.reference is first
        assert answer.pinged == []


async def test_without_the_intent_content_is_empty_but_for_what_is_meant_for_the_bot(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
    async with connected(api, intents=intents) as client:
        await anna.say("secret", general, files=[Upload("a.txt", "text/plain", b"a")])
        await anna.ask("open", general)
        await anna.say("private")
        await place(client, general).send("own")
        await api.wait_until(lambda: len(client.heard) == 4)
        assert client.texts == ["", f"{api.bot.mention} open", "private", "own"]
        assert client.heard[0].attachments == []
        # HTTP goes by what is switched on, whatever was asked of the gateway.
        there = [one.content async for one in place(client, general).history()]
        assert "secret" in there
        api.bot.granted = 0
        assert "secret" not in [one.content async for one in place(client, general).history()]


async def test_edits_deletions_and_reactions_are_told(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True, reactions=True)
    async with connected(api, intents=intents) as client:
        message = await anna.say("one", general)
        await anna.edit(message, "two")
        await anna.react(message, "👍")
        await anna.delete(message)
        await api.wait_until(lambda: len(client.raw) == 3)
        # Each in a task of its own: their order is luck.
        assert sorted(client.raw) == [
            ("delete", message.id),
            ("edit", message.id, "two"),
            ("reaction", message.id, "👍"),
        ]


async def test_the_history_is_read_from_the_last_seen_message_on(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    said = [await anna.say(str(number), general) for number in range(230)]
    await anna.delete(said[100])
    async with logged_in(api) as client:
        mark = discord.Object(said[49].id)
        there = place(client, general).history(after=mark, oldest_first=True, limit=None)
        assert [int(one.content) async for one in there] == [n for n in range(50, 230) if n != 100]
        assert [call.query["limit"] for call in api.calls_of("history")] == ["100", "100"]
        assert general.guild
        general.deny(api.bot, "read_message_history")
        assert [one async for one in place(client, general).history()] == []
    status, newest_first, _ = await asked(api, "GET", f"/channels/{general.id}/messages?limit=101")
    assert (status, newest_first["code"]) == (400, 50035)


async def test_the_same_nonce_gives_the_same_message(api: DiscordApi, anna: Person, clock: Clock) -> None:
    async with logged_in(api) as client:
        channel = await client.create_dm(discord.Object(anna.id))
        first = await channel.send("one", nonce="0123456789abcdef")
        again = await channel.send("other", nonce="0123456789abcdef")
        assert (again.id, again.content, len(anna.dm.messages)) == (first.id, "one", 1)
        clock.ahead = 400
        assert (await channel.send("later", nonce="0123456789abcdef")).id != first.id
        with pytest.raises(discord.HTTPException, match=r"nonce: Must be 25 or fewer"):
            await channel.send("x", nonce="0" * 26)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("👍" * 2000, ""),
        ("👍" * 2001, "Must be 2000 or fewer in length."),
        ("x" * 4001, "Must be 4000 or fewer in length."),
        (" \n ", "Cannot send an empty message"),
    ],
)
async def test_length_is_counted_in_code_points(
    api: DiscordApi, anna: Person, text: str, reason: str
) -> None:
    status, told, _ = await asked(api, "POST", f"/channels/{anna.dm.id}/messages", {"content": text})
    if not reason:
        assert (status, anna.dm.texts) == (200, [text])
    elif told["code"] == 50006:
        assert told == {"message": reason, "code": 50006}
    else:
        wrong = {"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": reason}]}}
        assert (status, told) == (400, {"message": "Invalid Form Body", "code": 50035, "errors": wrong})


async def test_who_is_woken_is_decided_by_allowed_mentions(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    assert general.guild
    ben, cleo = api.person("ben"), api.person("cleo")
    team = general.guild.role("team", mentionable=True)
    general.guild.join(ben)
    general.guild.join(cleo, team)
    text = f"@everyone {ben.mention} {team.mention}"
    async with logged_in(api) as client:
        channel = place(client, general)
        await channel.send(text)
        await channel.send(text, allowed_mentions=discord.AllowedMentions.none())
        await channel.send(text, allowed_mentions=discord.AllowedMentions(everyone=False, users=False))
        general.deny(api.bot, "mention_everyone")
        await channel.send(text)
        quiet = await channel.send("hi", allowed_mentions=discord.AllowedMentions.none())
        await quiet.edit(content=text)
    loud, silent, by_role, allowed, edited = general.replies
    assert loud.mentions.everyone
    assert set(loud.pinged) == {anna, ben, cleo}
    assert (silent.pinged, silent.mentions.everyone) == ([], False)
    assert by_role.pinged == [cleo]
    assert (set(allowed.pinged), allowed.mentions.everyone) == ({ben, cleo}, False)
    # An edit wakes nobody, but without its own word on it the message mentions again.
    assert (edited.pinged, edited.mentions.users) == ([], [ben])
    status, told, _ = await asked(
        api,
        "POST",
        f"/channels/{general.id}/messages",
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": [str(ben.id)]}},
    )
    assert (status, told["code"]) == (400, 50035)


async def test_a_message_is_changed_and_taken_back(api: DiscordApi, anna: Person, general: Channel) -> None:
    async with logged_in(api) as client:
        sent = await place(client, general).send("https://example.org", suppress_embeds=True)
        await sent.edit(content="two", suppress=True)
        shown = general.replies[0]
        assert (shown.first_content, shown.content, len(shown.edits)) == ("https://example.org", "two", 1)
        assert shown.embeds_suppressed
        await place(client, general).get_partial_message(sent.id).edit(content="three")
        assert shown.embeds_suppressed
        # Of itself the library brings previews back with each edit of a whole message.
        await sent.edit(content="four")
        assert not shown.embeds_suppressed
        foreign = await anna.say("hers", general)
        with pytest.raises(discord.Forbidden) as refused:
            await place(client, general).get_partial_message(foreign.id).edit(content="mine")
        assert refused.value.code == 50005
        await sent.delete()
        assert general.replies == []
        with pytest.raises(discord.NotFound) as gone:
            await sent.edit(content="five")
        assert gone.value.code == 10008


async def test_files_go_both_ways_and_their_addresses_end(
    api: DiscordApi, anna: Person, general: Channel, clock: Clock
) -> None:
    async with connected(api) as client:
        await anna.say("look", general, files=[Upload("a.png", "image/png", b"PNG", size=99_000_000)])
        await anna.voice(b"OggS hello", general, seconds=2.5)
        await api.wait_until(lambda: len(client.heard) == 2)
        picture, sound = (message.attachments[0] for message in client.heard)
        assert (picture.filename, picture.content_type, picture.size) == ("a.png", "image/png", 99_000_000)
        assert await picture.read() == b"PNG"
        assert client.heard[1].flags.voice
        assert (sound.is_voice_message(), sound.duration, client.texts[1]) == (True, 2.5, "")
        file = discord.File(io.BytesIO("naïve".encode()), "code.py")
        await place(client, general).send(file=file)
        shown = await general.answer()
        assert (shown.attachments[0].name, shown.attachments[0].text) == ("code.py", "naïve")
        clock.ahead = 25 * 3600
        with pytest.raises(discord.NotFound):
            await picture.read()
        fresh = await place(client, general).fetch_message(client.heard[0].id)
        assert await fresh.attachments[0].read() == b"PNG"
        with pytest.raises(discord.HTTPException) as refused:
            await place(client, general).send(file=discord.File(io.BytesIO(bytes(10 * 1024 * 1024 + 1)), "x"))
        assert (refused.value.status, refused.value.code) == (413, 40005)


async def test_a_preview_is_an_update_that_is_no_edit(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    async with connected(api) as client:
        message = await anna.say("see https://example.org and <https://example.com>", general)
        api.unfurl(message)
        await api.wait_until(lambda: client.raw)
        assert client.raw == [("edit", message.id, message.content)]
        there = await place(client, general).fetch_message(message.id)
        assert (len(there.embeds), there.edited_at) == (1, None)
        silent = await place(client, general).send("https://example.org", suppress_embeds=True)
        assert [one.previews for one in general.replies if one.id == silent.id] == [[]]


async def test_typing_is_seen(api: DiscordApi, anna: Person) -> None:
    async with logged_in(api) as client:
        async with place(client, anna.dm).typing():
            await api.wait_until(lambda: anna.dm.typing)
        assert len(api.calls_of("typing", channel=anna.dm.id)) == 1


# -- threads and forums ----------------------------------------------------------------------------------------


async def test_threads_and_posts_are_opened_by_both_sides(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    assert general.guild
    forum = general.guild.forum("help", tags=["bug"])
    async with connected(api) as client:
        post = await anna.post(forum, "It breaks", "Why?")
        message = await anna.say("root", general)
        await api.wait_until(lambda: "root" in client.texts)
        opened = await client.heard[-1].create_thread(name="about it")
        assert opened.id == message.id
        assert message.thread
        await opened.send("here")
        assert (await message.thread.answer(containing="here")).content == "here"
        await anna.say("in the thread", message.thread)
        await api.wait_until(lambda: "in the thread" in client.texts)
        heard = {one.content: one for one in client.heard}
        assert isinstance(heard["in the thread"].channel, discord.Thread)
        first = heard["Why?"]
        assert isinstance(first.channel, discord.Thread)
        assert isinstance(first.channel.parent, discord.ForumChannel)
        assert first.id == first.channel.id == post.id
        assert ("thread", post.id, "It breaks") in client.raw
        with pytest.raises(discord.HTTPException) as twice:
            await place(client, general).get_partial_message(message.id).create_thread(name="again")
        assert twice.value.code == 160004
        channel = client.get_channel(forum.id)
        assert isinstance(channel, discord.ForumChannel)
        made = await channel.create_thread(name="News", content="from the bot")
        assert api.channels[made.thread.id].texts == ["from the bot"]


async def test_an_archived_thread_opens_again_and_a_locked_one_does_not(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    thread = await anna.start_thread(general, "tea")
    async with logged_in(api) as client:
        await anna.archive(thread)
        await place(client, thread).send("still there")
        assert not thread.archived
        await anna.archive(thread, locked=True)
        with pytest.raises(discord.HTTPException) as refused:
            await place(client, thread).send("locked")
        assert refused.value.code == 160005


# -- what is refused -------------------------------------------------------------------------------------------


async def test_a_wrong_token_is_refused(api: DiscordApi) -> None:
    Route.BASE = api.api_base
    client = Client()
    with pytest.raises(discord.LoginFailure):
        await client.login("wrong")
    await client.close()
    status, told, _ = await asked(api, "GET", "/users/@me", token="wrong")
    assert (status, told) == (401, {"message": "401: Unauthorized", "code": 0})
    assert api.invalid == {401: 2}


async def test_permissions_are_those_of_the_channel(api: DiscordApi, anna: Person, general: Channel) -> None:
    assert general.guild
    other = general.guild.text("other")
    thread = await anna.start_thread(general, "tea")
    general.deny(api.bot, "send_messages")
    other.deny(general.guild.everyone, "view_channel")
    async with connected(api) as client:
        for channel, code in ((general, 50013), (other, 50001)):
            with pytest.raises(discord.Forbidden) as refused:
                await place(client, channel).send("hi")
            assert refused.value.code == code
        await place(client, thread).send("threads have a permission of their own")
        other.allow(anna, "view_channel")
        await anna.say("not for bots", other)
        await anna.say("for all", general)
        await api.wait_until(lambda: "for all" in client.texts)
        assert "not for bots" not in client.texts
        other.allow(api.bot, "view_channel")
        general.deny(api.bot, "attach_files")
        general.allow(api.bot, "send_messages")
        with pytest.raises(discord.Forbidden):
            await place(client, general).send(file=discord.File(io.BytesIO(b"x"), "x"))
        await place(client, other).send("now")
    assert [call.code for call in api.refusals] == [50013, 50001, 50013]


@pytest.mark.parametrize("code", [50007, 50278])
async def test_somebody_may_refuse_messages_of_bots(api: DiscordApi, anna: Person, code: int) -> None:
    anna.refuses = code
    async with logged_in(api) as client:
        channel = await client.create_dm(discord.Object(anna.id))
        with pytest.raises(discord.Forbidden) as refused:
            await channel.send("hi")
        assert refused.value.code == code


@pytest.mark.parametrize(
    "path",
    [
        "/", "/gateway", "/v10/gateway", "/api/gateway", "/api/v9/gateway", "/api/v10", "/api/v10/",
        "/api/v10/gateway/", "/api/v10/gateway/bots", "/api/v10/users/@me/", "/api/v10/channels",
        "/api/v10/channels/1/messages/2/extra", "/api/v10/api/v10/users/@me", "/attachment/1/2/x.png",
    ],
)  # fmt: skip
async def test_what_is_served_nowhere_is_not_found(api: DiscordApi, path: str) -> None:
    headers = {"Authorization": f"Bot {api.token}"}
    async with aiohttp.ClientSession() as session, session.get(api.url + path, headers=headers) as response:
        assert (response.status, await response.json()) == (404, {"message": "404: Not Found", "code": 0})
    assert [call.status for call in api.refusals] == [404]


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("POST", "/gateway"),
        ("PUT", "/users/@me"),
        ("DELETE", "/channels/1/messages"),
        ("POST", "/channels/1/messages/2"),
        ("PATCH", "/guilds/1/members"),
        ("GET", "/channels/1/typing"),
        ("GET", "/interactions/1/token/callback"),
    ],
)
async def test_a_verb_that_a_path_does_not_take_is_not_allowed(api: DiscordApi, verb: str, path: str) -> None:
    status, told, _ = await asked(api, verb, path)
    assert (status, told) == (405, {"message": "405: Method Not Allowed", "code": 0})


@pytest.mark.parametrize("path", ["/gateway", "/api/v10", "/api/v10/gateway", "/ws", "/resume/more"])
async def test_the_gateway_is_at_its_own_address_only(api: DiscordApi, path: str) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"{api.url}{path}?v=10&encoding=json")
    assert api.gateway.connections == []


async def test_a_file_can_only_be_fetched(api: DiscordApi) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{api.url}/attachments/1/2/x.png") as response,
    ):
        assert response.status == 404


async def test_what_is_not_there_is_not_found(api: DiscordApi, anna: Person) -> None:
    assert (await asked(api, "GET", "/channels/17"))[1] == {"message": "Unknown Channel", "code": 10003}
    assert (await asked(api, "GET", "/nothing"))[0] == 404
    assert (await asked(api, "DELETE", "/users/@me"))[0] == 405
    assert (await asked(api, "GET", "/channels/abc"))[1]["code"] == 50035
    status, told, _ = await asked(
        api,
        "POST",
        f"/channels/{anna.dm.id}/messages",
        {"content": "x", "message_reference": {"message_id": "17"}},
    )
    assert (status, list(told["errors"])) == (400, ["message_reference"])
    soft = {"content": "x", "message_reference": {"message_id": "17", "fail_if_not_exists": False}}
    assert (await asked(api, "POST", f"/channels/{anna.dm.id}/messages", soft))[0] == 200


# -- limits and faults -----------------------------------------------------------------------------------------


async def test_limits_are_told_by_headers_and_enforced(anna: Person) -> None:
    async with DiscordApi(limits=Limits(routes={"create_message": (2, 0.2)})) as api:
        ben = api.person("ben")
        path = f"/channels/{ben.dm.id}/messages"
        told = [await asked(api, "POST", path, {"content": "x"}) for _ in range(3)]
        assert [status for status, _, _ in told] == [200, 200, 429]
        assert [headers["X-RateLimit-Remaining"] for _, _, headers in told] == ["1", "0", "0"]
        _, body, headers = told[2]
        assert (headers["X-RateLimit-Scope"], body["global"]) == ("user", False)
        assert 0 < body["retry_after"] <= 0.2
        assert (api.invalid, len(api.floods)) == ({429: 1}, 1)
        async with logged_in(api) as client:
            for number in range(3):
                await place(client, ben.dm).send(str(number))
        assert ben.dm.texts == ["x", "x", "0", "1", "2"]


def test_all_calls_together_have_a_limit_but_those_of_interactions() -> None:
    now = 0.0
    meter = Meter(Limits(per_second=3), enforced=True, clock=lambda: now)
    assert [meter.take("me", 0) for _ in range(3)] == [None] * 3
    flood = meter.take("me", 0)
    assert flood
    assert (flood.scope, flood.retry_after) == ("global", 1.0)
    assert meter.take("callback", 0) is None
    now = 1.01
    assert meter.take("me", 0) is None


@pytest.mark.parametrize("scope", ["user", "shared", "global"])
async def test_the_library_waits_out_a_429(api: DiscordApi, anna: Person, scope: Any) -> None:
    api.fail("create_message", Fault.rate_limit(0.05, scope))
    async with logged_in(api) as client:
        await place(client, anna.dm).send("hi")
    assert [call.status for call in api.calls_of("create_message")] == [429, 200]
    assert api.invalid == ({} if scope == "shared" else {429: 1})


async def test_too_many_invalid_requests_are_a_ban(anna: Person) -> None:
    async with DiscordApi(limits=Limits(invalid=3)) as api:
        for _ in range(3):
            assert (await asked(api, "GET", "/users/@me", token="wrong"))[0] == 401
        status, told, headers = await asked(api, "GET", "/users/@me", token="wrong")
        assert (status, told) == (429, "error code: 1015")
        assert "Via" not in headers
        assert (await asked(api, "GET", "/users/@me"))[0] == 200


async def test_what_the_library_does_not_retry(api: DiscordApi, anna: Person) -> None:
    async with logged_in(api) as client:
        channel = place(client, anna.dm)
        api.fail("create_message", Fault.status(503))
        with pytest.raises(discord.DiscordServerError):
            await channel.send("one")
        api.fail("create_message", Fault.reset_before())
        with pytest.raises(aiohttp.ClientOSError):
            await channel.send("one")
        api.fail("create_message", Fault.reset_after(), channel=anna.dm.id)
        with pytest.raises(aiohttp.ClientOSError):
            await channel.send("one", nonce="abc")
        again = await channel.send("one", nonce="abc")
        assert ([again.id], anna.dm.texts) == ([one.id for one in anna.dm.replies], ["one"])
        api.fail("create_message", Fault.ban())
        with pytest.raises(discord.HTTPException) as banned:
            await channel.send("two")
        assert banned.value.status == 429
        api.fail("create_message", Fault.refuse(50013))
        with pytest.raises(discord.Forbidden):
            await channel.send("two")
        api.fail("create_message", Fault.drip())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await channel.send("two")
        api.fail("create_message", Fault.hang(done=True))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await channel.send("three")
        assert anna.dm.texts == ["one", "three"]


# -- the gateway -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [1000, 1001, 1006, 4000, 4001, 4002, 4005, 4008])
async def test_after_these_codes_a_session_goes_on(api: DiscordApi, anna: Person, code: int) -> None:
    async with connected(api) as client:
        await anna.say("before")
        await api.wait_until(lambda: client.heard)
        await api.gateway.close(code)
        await anna.say("meanwhile")
        await api.wait_until(lambda: "meanwhile" in client.texts)
        await anna.say("after")
        await api.wait_until(lambda: len(client.heard) == 3)
        assert client.texts == ["before", "meanwhile", "after"]
        assert (len(api.gateway.identified), len(api.gateway.resumed)) == (1, 1)
        assert api.gateway.resumed[0].path == "/resume"
        assert "RESUMED" in client.events


@pytest.mark.parametrize("code", [4003, 4007, 4009])
async def test_after_these_codes_a_session_is_new_and_what_was_missed_is_in_the_history(
    api: DiscordApi, anna: Person, code: int
) -> None:
    async with connected(api) as client:
        await anna.say("before")
        await api.wait_until(lambda: client.heard)
        await api.gateway.close(code)
        await anna.say("meanwhile")
        await api.wait_until(lambda: len(api.gateway.identified) == 2)
        await api.wait_until_connected()
        await anna.say("after")
        await api.wait_until(lambda: "after" in client.texts)
        assert client.texts == ["before", "after"]
        history = place(client, anna.dm).history(after=discord.Object(client.heard[0].id))
        assert [one.content async for one in history] == ["meanwhile", "after"]
        # The library goes on at the address for resuming.
        assert [one.path for one in api.gateway.identified] == ["/", "/resume"]


@pytest.mark.parametrize("code", [4004, 4010, 4011, 4012, 4013])
async def test_after_these_codes_the_library_gives_up(api: DiscordApi, code: int) -> None:
    async with logged_in(api) as client, following(client) as task:
        await api.gateway.close(code)
        with pytest.raises(discord.ConnectionClosed) as closed:
            await task
        assert closed.value.code == code


async def test_an_intent_that_is_not_switched_on_is_refused(api: DiscordApi) -> None:
    api.bot.granted = 0
    async with logged_in(api) as client:
        assert not client.application_flags.gateway_message_content_limited
        with pytest.raises(discord.PrivilegedIntentsRequired):
            await client.connect()
    api.bot.granted = wire.CONTENT
    async with logged_in(api) as client:
        assert client.application_flags.gateway_message_content_limited


async def test_a_gateway_may_ask_to_reconnect_or_end_a_session(api: DiscordApi, anna: Person) -> None:
    async with connected(api) as client:
        await api.gateway.reconnect()
        await api.wait_until(lambda: len(api.gateway.resumed) == 1)
        await api.wait_until_connected()
        await api.gateway.invalidate(resumable=True)
        await api.wait_until(lambda: len(api.gateway.resumed) == 2)
        await api.wait_until_connected()
        await api.gateway.invalidate()
        await api.wait_until(lambda: len(api.gateway.identified) == 2)
        await api.wait_until_connected()
        await anna.say("hi")
        await api.wait_until(lambda: client.texts == ["hi"])


async def test_a_zombie_is_noticed_when_nothing_comes_any_more(api: DiscordApi, anna: Person) -> None:
    api.gateway.heartbeat_interval = 0.05
    async with connected(api, heartbeat_timeout=1.0) as client:
        await api.wait_until(lambda: api.gateway.open[0].heartbeats)
        # Heartbeats alone do not matter to it: any event shows life.
        api.gateway.silent = True
        await anna.say("into the void")
        await api.wait_until(lambda: len(api.gateway.connections) == 2)
        api.gateway.silent = False
        await api.wait_until(lambda: client.texts == ["into the void"])


async def test_sessions_outlive_an_outage(
    api: DiscordApi, anna: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discord.backoff.ExponentialBackoff.delay", lambda self: 0.05)
    async with connected(api) as client:
        async with api.outage():
            await anna.say("is anybody there?")
        await api.wait_until(lambda: client.texts == ["is anybody there?"])
        assert len(api.gateway.identified) == 1
        api.fail("connect", Fault.status(503), times=2)
        await api.gateway.close(4000)
        await anna.say("and now?")
        await api.wait_until(lambda: client.texts[1:] == ["and now?"])


async def test_a_session_is_kept_for_some_minutes(api: DiscordApi, anna: Person, clock: Clock) -> None:
    async with connected(api) as client:
        api.fail("connect", Fault.delay(0.05))
        await api.gateway.close(4000)
        clock.ahead = 200
        await api.wait_until(lambda: len(api.gateway.identified) == 2)
        await api.wait_until_connected()
        await anna.say("hi")
        await api.wait_until(lambda: client.texts == ["hi"])


async def spoken(
    api: DiscordApi, *said: Any, query: str = "v=10&encoding=json"
) -> tuple[int | None, list[Any]]:
    """The gateway without a library: how it closes, and what it says."""
    heard: list[Any] = []
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{api.gateway_url}?{query}") as socket:
        for one in said:
            await socket.send_str(one if isinstance(one, str) else json.dumps(one))
        try:
            while (message := await socket.receive(timeout=0.1)).type is aiohttp.WSMsgType.TEXT:
                heard.append(json.loads(message.data))
        except TimeoutError:
            return None, heard
        return socket.close_code, heard


async def test_the_gateway_closes_with_the_code_for_each_mistake(api: DiscordApi) -> None:
    properties = {"os": "linux", "browser": "x", "device": "x"}
    good = {"token": api.token, "intents": 1 << 9, "properties": properties}

    def identify(**changes: Any) -> dict[str, Any]:
        return {"op": 2, "d": {**good, **changes}}

    codes: dict[int, list[Any]] = {
        4001: [identify(), {"op": 99, "d": None}],
        4002: ["{nothing"],
        4003: [{"op": 3, "d": {}}],
        4004: [identify(token="wrong")],
        4005: [identify(), identify()],
        4010: [identify(shard=[2, 2])],
        4013: [identify(intents=1 << 30)],
        4014: [identify(intents=1 << 1)],
    }
    for code, said in codes.items():
        assert (await spoken(api, *said))[0] == code
    assert (await spoken(api, query="v=3"))[0] == 4012
    assert (await spoken(api, "x" * 5000))[0] == 4002
    api.bot.shards = 2
    assert (await spoken(api, identify()))[0] == 4011
    api.bot.shards = 1
    resume = {"token": api.token, "session_id": "none", "seq": 1}
    assert (await spoken(api, {"op": 6, "d": resume}))[1][-1] == {"op": 9, "t": None, "s": None, "d": False}
    session = api.gateway.sessions[0]
    ahead = {"op": 6, "d": {**resume, "session_id": session.id, "seq": 1000}}
    assert (await spoken(api, ahead))[0] == 4007
    assert (await spoken(api, *[{"op": 1, "d": None}] * 121))[0] == 4008


async def test_starts_are_counted_and_may_be_too_soon(api: DiscordApi) -> None:
    api.gateway.enforces_starts = True
    identify = {"op": 2, "d": {"token": api.token, "intents": 1}}
    assert (await spoken(api, identify))[1][-1]["t"] == "READY"
    assert (await spoken(api, identify))[1][-1]["op"] == 9
    _, told, _ = await asked(api, "GET", "/gateway/bot")
    assert (told["shards"], told["session_start_limit"]["remaining"]) == (1, 999)
    assert told["url"] == (await asked(api, "GET", "/gateway", token="wrong"))[1]["url"]


async def test_shards_have_their_guilds_and_the_first_has_direct_messages(
    api: DiscordApi, anna: Person, clock: Clock
) -> None:
    api.bot.shards = 2
    rooms: list[Channel] = []
    while len({(room.guild.id >> 22) % 2 for room in rooms if room.guild}) < 2:
        # What is made within one millisecond is on one shard.
        clock.ahead += 0.001
        rooms.append(api.guild(f"Home {len(rooms)}", anna).text())
    for number in range(2):
        async with connected(api, shard_id=number, shard_count=2) as client:
            for room in rooms:
                await anna.say(room.guild.name if room.guild else "", room)
            await anna.say("private")
            mine = [room.guild.name for room in rooms if room.guild and (room.guild.id >> 22) % 2 == number]
            mine += [] if number else ["private"]
            await client.hears(len(mine))
            assert sorted(client.texts) == sorted(mine)


async def test_a_bot_is_thrown_out_and_asked_in_again(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    guild = general.guild
    assert guild
    async with connected(api) as client:
        guild.kick(api.bot)
        await api.wait_until(lambda: not client.guilds)
        with pytest.raises(discord.Forbidden) as refused:
            await place(client, general).send("hi")
        assert refused.value.code == 50001
        guild.join(api.bot)
        await api.wait_until(lambda: client.guilds)
        guild.lose()
        await api.wait_until(lambda: "GUILD_DELETE" in client.events and client.guilds[0].unavailable)
        guild.recover()
        await api.wait_until(lambda: not client.guilds[0].unavailable)
        api.remove_channel(general)
        await api.wait_until(lambda: client.get_channel(general.id) is None)
        with pytest.raises(discord.NotFound):
            await place(client, general).send("hi")


# -- commands and interactions ---------------------------------------------------------------------------------


def remembering(client: Client) -> app_commands.CommandTree[Client]:
    """A few commands of each kind."""
    tree = app_commands.CommandTree(client)

    @tree.command(name="remind", description="Remind me.")
    @app_commands.describe(when="When", times="How often", whom="Whom")
    async def remind(
        interaction: discord.Interaction[Client],
        when: str,
        times: app_commands.Range[int, 1, 9] = 1,
        whom: discord.Member | None = None,
    ) -> None:
        name = whom.name if whom else "you"
        await interaction.response.send_message(f"{when} {times} {name}", ephemeral=True)

    @remind.autocomplete("when")
    async def whens(interaction: discord.Interaction[Client], typed: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=f"{typed} 9:00", value=f"{typed} 9:00")]

    @tree.command(name="think", description="Think.")
    async def think(interaction: discord.Interaction[Client], private: bool = False) -> None:
        await interaction.response.defer(ephemeral=private, thinking=True)
        await interaction.edit_original_response(content="thought @everyone")
        await interaction.followup.send("more")

    group = app_commands.Group(
        name="memory",
        description="Memory.",
        default_permissions=discord.Permissions(administrator=True),
        guild_only=True,
    )

    @group.command(name="status", description="How it is.")
    @app_commands.choices(form=[app_commands.Choice(name="Short", value="short")])
    async def status(interaction: discord.Interaction[Client], form: str = "") -> None:
        await interaction.response.send_message(f"fine {form}".strip())

    tree.add_command(group)
    return tree


async def test_commands_are_offered_used_and_answered(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    assert general.guild
    ben = api.person("ben")
    general.guild.join(ben)
    async with connected(api) as client:
        tree = remembering(client)
        assert [one.name for one in await tree.sync()] == ["remind", "think", "memory"]
        assert anna.menu(general) == ["remind", "think", "memory"]
        assert ben.menu(general) == ben.menu() == ["remind", "think"]
        used = await ben.use("remind", general, when="3m", times=2, whom=anna)
        assert (await used.answer()).content == "3m 2 anna"
        assert (used.ephemeral, used.callback, general.texts) == (True, 4, [])
        assert used.seconds < 1
        used = await ben.use("think")
        assert (await used.answer(containing="more")).from_bot
        assert (used.texts, ben.dm.texts) == (["thought @everyone", "more"], ["thought @everyone", "more"])
        assert [one.mentions.everyone for one in used.messages] == [False, False]
        used = await anna.use("memory status", general, form="short")
        assert (await used.answer()).content == "fine short"
        with pytest.raises(AssertionError, match="not offered"):
            await ben.use("memory status", general)
        forged = await ben.use("memory status", general, forged=True)
        await forged.acknowledgement()
        offered = await ben.complete("remind", "when", "monday", general)
        await offered.acknowledgement()
        assert offered.choices == [{"name": "monday 9:00", "value": "monday 9:00"}]
        hidden = await ben.use("think", general, private=True)
        await hidden.answer(containing="thought")
        # The author of an ephemeral answer hears of it as of a direct message.
        own = next(one for one in client.heard if one.id == hidden.messages[0].id)
        assert own.guild is None
        status, _, _ = await asked(api, "GET", f"/channels/{general.id}/messages/{own.id}")
        assert status == 404


async def test_commands_that_stay_keep_their_ids_and_versions(api: DiscordApi) -> None:
    async with logged_in(api) as client:
        tree = remembering(client)
        await tree.sync()
        before = {one["name"]: (one["id"], one["version"]) for one in api.bot.commands[0]}
        tree.remove_command("think")
        await tree.sync()
        after = {one["name"]: (one["id"], one["version"]) for one in api.bot.commands[0]}
        assert after == {name: told for name, told in before.items() if name != "think"}
        assert api.bot.commands_written == 2
        assert [one.name for one in await tree.fetch_commands()] == list(after)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ({"name": "Upper"}, "0.name: APPLICATION_COMMAND_INVALID_NAME"),
        ({"name": "two words"}, "0.name: APPLICATION_COMMAND_INVALID_NAME"),
        ({"name": "x" * 33}, "0.name: BASE_TYPE_BAD_LENGTH"),
        ({"description": ""}, "0.description: BASE_TYPE_BAD_LENGTH"),
        ({"description": "x" * 101}, "0.description: BASE_TYPE_BAD_LENGTH"),
        (
            {"options": [{"type": 3, "name": f"n{n}", "description": "d"} for n in range(26)]},
            "0.options: BASE_TYPE_MAX_LENGTH",
        ),
        (
            {
                "options": [
                    {"type": 3, "name": "a", "description": "d"},
                    {"type": 3, "name": "b", "description": "d", "required": True},
                ]
            },
            "0.options.1: APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        ),
        (
            {
                "options": [
                    {
                        "type": 3,
                        "name": "a",
                        "description": "d",
                        "choices": [{"name": str(n), "value": str(n)} for n in range(26)],
                    }
                ]
            },
            "0.options.0.choices: BASE_TYPE_MAX_LENGTH",
        ),
    ],
)
async def test_a_command_that_is_not_in_order_is_refused(
    api: DiscordApi, command: dict[str, Any], reason: str
) -> None:
    path = f"/applications/{api.bot.id}/commands"
    status, _, _ = await asked(api, "PUT", path, [{"name": "ok", "description": "d", **command}])
    assert (status, api.calls[-1].reasons) == (400, [reason])
    fine = {"name": "größe-1", "description": "Unicode is fine"}
    assert (await asked(api, "PUT", path, [fine]))[0] == 200
    many = [{"name": f"n{number}", "description": "d"} for number in range(101)]
    assert (await asked(api, "PUT", path, many))[1]["code"] == 30032


async def test_a_guild_has_commands_of_its_own(api: DiscordApi, anna: Person, general: Channel) -> None:
    assert general.guild
    path = f"/applications/{api.bot.id}/guilds/{general.guild.id}/commands"
    assert (await asked(api, "PUT", path, [{"name": "here", "description": "d"}]))[0] == 200
    assert (anna.menu(general), anna.menu()) == (["here"], [])
    general.guild.kick(api.bot)
    assert (await asked(api, "PUT", path, []))[1]["code"] == 50001


async def test_interactions_have_deadlines(api: DiscordApi, anna: Person, clock: Clock) -> None:
    path = f"/applications/{api.bot.id}/commands"
    await asked(api, "PUT", path, [{"name": "go", "description": "d"}])

    async def called_back(used: Interaction, kind: int = 5) -> tuple[int, int]:
        where = f"/interactions/{used.id}/{used.token}/callback"
        status, told, _ = await asked(api, "POST", where, {"type": kind})
        return status, told["code"] if isinstance(told, dict) else 0

    late = await anna.use("go")
    clock.ahead = 3.5
    assert await called_back(late) == (404, 10062)
    used = await anna.use("go")
    clock.ahead += 2.5
    answer = f"/webhooks/{api.bot.id}/{used.token}"
    assert (await asked(api, "PATCH", f"{answer}/messages/@original", {"content": "x"}))[1]["code"] == 10015
    assert await called_back(used, 6) == (400, 50035)
    assert await called_back(used) == (204, 0)
    assert used.original
    assert (used.original.loading, anna.dm.texts) == (True, [])
    assert 2.5 <= used.seconds < 3
    assert await called_back(used) == (400, 40060)
    clock.ahead += 20
    assert (await asked(api, "POST", answer, {"content": "first"}))[0] == 200
    # Right after a deferral a followup is the answer itself.
    assert (used.original.content, used.original.loading, len(used.messages)) == ("first", False, 1)
    assert (await asked(api, "POST", answer, {"content": "second"}))[0] == 200
    assert used.texts == ["first", "second"]
    clock.ahead += 900
    status, told, _ = await asked(api, "PATCH", f"{answer}/messages/@original", {"content": "x"})
    assert (status, told["code"]) == (401, 50027)


async def shown_with(api: DiscordApi, client: Client, channel: Channel, view: discord.ui.View) -> Message:
    sent = await place(client, channel).send("choose", view=view)
    message = channel.message(sent.id)
    assert message
    return message


async def test_buttons_and_selects_are_pressed_and_picked(
    api: DiscordApi, anna: Person, general: Channel
) -> None:
    async with connected(api) as client:

        async def answering(interaction: Any) -> None:
            chosen = interaction.data.get("values", [interaction.data["custom_id"]])
            if chosen == ["later"]:
                await interaction.response.defer()
                await interaction.edit_original_response(content="edited later", view=None)
            elif chosen == ["no"]:
                await interaction.response.send_message("Not you.", ephemeral=True)
            else:
                await interaction.response.edit_message(content=f"{chosen[0]} it is", view=None)

        client.answering = answering
        view = discord.ui.View(timeout=None)
        for name in ("yes", "no", "later"):
            view.add_item(discord.ui.Button(label=name.title(), custom_id=name))
        view.add_item(
            discord.ui.Select(
                custom_id="model", options=[discord.SelectOption(label="Best", value="openai/gpt")]
            )
        )
        message = await shown_with(api, client, general, view)
        assert message.labels == ["Yes", "No", "Later"]
        with pytest.raises(AssertionError, match="no button"):
            await anna.press(message, "Maybe")
        refused = await anna.press(message, "No")
        assert (await refused.answer()).ephemeral
        picked = await anna.pick(message, "Best")
        await picked.acknowledgement()
        assert (message.content, message.labels, picked.callback) == ("openai/gpt it is", [], 7)
        forged = await anna.press(message, "later", forged=True)
        await api.wait_until(lambda: message.content == "edited later")
        assert (forged.callback, len(general.replies)) == (6, 1)


async def test_a_form_is_shown_and_filled_in(api: DiscordApi, anna: Person, general: Channel) -> None:
    class Form(discord.ui.Modal, title="Pair"):
        code: Any = discord.ui.TextInput(label="Code", custom_id="code")

        async def on_submit(self, interaction: Any) -> None:
            await interaction.response.send_message(f"paired {self.code.value}")

    async with connected(api) as client:

        async def answering(interaction: Any) -> None:
            if interaction.type is discord.InteractionType.component:
                await interaction.response.send_modal(Form())

        client.answering = answering
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="Pair", custom_id="pair"))
        pressed = await anna.press(await shown_with(api, client, general, view), "Pair")
        await pressed.acknowledgement()
        filled = await anna.submit(pressed, code="ABC")
        assert (await filled.answer()).content == "paired ABC"


# -- beside ----------------------------------------------------------------------------------------------------


def test_it_runs_beside_a_bot_that_has_a_thread_of_its_own() -> None:
    async def life(api: DiscordApi) -> str:
        async with connected(api) as client:
            await client.hears(1)
            await client.heard[0].channel.send("from another thread")
        return client.heard[0].content

    began = time.monotonic()
    with run_in_thread(DiscordApi()) as api:
        assert time.monotonic() - began < 10
        anna = api.person("anna")
        room = api.call(lambda: api.guild("Home", anna).text())

        async def speak() -> str:
            await api.wait_until_connected()
            await anna.say("hello", room)
            return (await room.answer()).content

        answered = asyncio.run_coroutine_threadsafe(speak(), _loop(api))
        assert asyncio.run(life(api)) == "hello"
        assert answered.result(5) == "from another thread"


def _loop(api: DiscordApi) -> asyncio.AbstractEventLoop:
    async def there() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    return api.do(there())


def test_who_owns_a_guild_or_administers_it_may_everything(api: DiscordApi) -> None:
    anna, ben = api.person("anna"), api.person("ben")
    guild = api.guild("Home", anna, ben, permissions=int(USUAL & ~Permission.send_messages))
    room = guild.text()
    chief = guild.role("chief", Permission.administrator)
    asyncio.run(anna.say("hi", room))
    with pytest.raises(AssertionError, match="may not write"):
        asyncio.run(ben.say("hi", room))
    guild.give(ben, chief)
    asyncio.run(ben.say("hi", room))
    assert len(room.messages) == 2
