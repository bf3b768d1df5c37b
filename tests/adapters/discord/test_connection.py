"""The connection is held, taken up again, or made anew, whatever Discord does, and it is told why it cannot be."""

import asyncio
import dataclasses
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.discord.connection_health import ReconnectTimes
from bot.messages import AttachmentLost, ChannelFault
from tests.adapters.discord.listening import PAUSES, QUICK, Ear, listening
from tests.fakes.discord_api import wire
from tests.fakes.discord_api.chats import Channel, Guild
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.requests import Upload
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.fetch_file import fetch_bytes

pytestmark = pytest.mark.thorough

RESUMABLE = (1001, 1006, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009)
FATAL = {
    4004: "token",
    4010: "several connections",
    4011: "several connections",
    4012: "upgrade",
    4013: "upgrade",
}


@pytest.fixture
def home(api: DiscordApi, anna: Person) -> Guild:
    return api.guild("Home", anna)


@pytest.fixture
def general(home: Guild) -> Channel:
    return home.text("general")


@pytest.fixture(autouse=True)
def token_is_never_logged(api: DiscordApi, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert api.token not in "\n".join(record.getMessage() for record in caplog.records)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was warned of, but for the test's own server, which may be stopped in the middle of a request."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and record.name != "aiohttp.server"
    ]


@pytest.mark.parametrize("code", RESUMABLE)
async def test_a_connection_that_is_closed_is_taken_up_again_and_nothing_is_missed(
    code: int, api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, told=10.0)):
        await anna.ask("one", general)
        await anna.say("one")
        await ear.until(lambda: len(ear.messages) == 2)
        await api.gateway.close(code)
        await anna.ask("two", general)
        await anna.say("two")
        await ear.until(lambda: len(ear.messages) == 4)
        await anna.ask("three", general)
        await ear.until(lambda: len(ear.messages) == 5)
        assert len(api.calls_of("me")) == 1, "it was the same client"
    assert ear.texts_in(general.id) == ["one", "two", "three"]
    assert ear.texts_in(f"@{anna.id}") == ["one", "two"]
    assert "down" not in [health.state for health in ear.health]


@pytest.mark.parametrize("code", FATAL)
async def test_a_connection_that_discord_ends_for_good_is_explained_and_made_anew_later(
    code: int,
    api: DiscordApi,
    anna: Person,
    general: Channel,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        await api.gateway.close(code)
        await anna.ask("two", general)
        await ear.until(lambda: ear.state == "down")
        assert FATAL[code] in ear.health[-1].detail
        begun = len(api.gateway.identified)
        await asyncio.sleep(0.1)
        assert len(api.gateway.identified) == begun, "it leaves Discord alone for a while"
        await ear.until(lambda: len(ear.messages) == 2 and ear.state == "up")
    assert ear.texts == ["one", "two"]
    assert len(warnings(caplog)) == 1


async def test_an_improper_goodbye_is_taken_up_again(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        await api.gateway.close(1000)
        await anna.ask("two", general)
        await ear.until(lambda: len(ear.messages) == 2)
    assert ear.texts == ["one", "two"]


@pytest.mark.parametrize("is_resumable", [True, False])
async def test_an_invalid_session_is_followed_by_another(
    is_resumable: bool, api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await anna.say("one")
        await ear.until(lambda: len(ear.messages) == 2)
        await api.gateway.invalidate(resumable=is_resumable)
        await anna.ask("two", general)
        await anna.say("two")
        await ear.until(lambda: len(ear.messages) == 4)
        assert len(api.gateway.identified) == (1 if is_resumable else 2)
    assert ear.texts_in(general.id) == ear.texts_in(f"@{anna.id}") == ["one", "two"]


async def test_discord_may_ask_for_a_new_connection(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await api.gateway.reconnect()
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        assert len(api.gateway.resumed) == 1
        assert len(api.gateway.identified) == 1


async def test_a_connection_that_has_died_silently_is_taken_up_again(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    api.gateway.heartbeat_interval = 0.1
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, heartbeat=0.3)):
        api.gateway.silent = True
        await anna.ask("one", general)
        await asyncio.sleep(0.6)  # longer than it takes to notice, also on a busy machine
        assert ear.messages == []
        api.gateway.silent = False
        await ear.until(lambda: ear.messages)
        assert len(api.gateway.resumed) == 1


async def test_an_outage_is_told_once_and_what_was_said_meanwhile_is_taken_in(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, told=0.6, given_up=0.2)):
        await anna.ask("one", general)
        await anna.say("one")
        await ear.until(lambda: len(ear.messages) == 2)
        async with api.outage():
            await anna.ask("two", general)
            await anna.say("two")
            api.gateway.forget()
            await ear.until(lambda: ear.state == "down")
            await asyncio.sleep(0.3)
        await ear.until(lambda: len(ear.messages) == 4 and ear.state == "up")
    assert ear.texts_in(general.id) == ear.texts_in(f"@{anna.id}") == ["one", "two"]
    assert len(warnings(caplog)) == 1
    assert "cannot be reached" in warnings(caplog)[0]


async def test_discord_may_be_away_long_before_the_first_login(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    await api.stop()
    async with listening(api, tmp_path, ear, is_up=False) as life:
        await ear.until(lambda: ear.state == "down")
        with pytest.raises(ChannelFault, match="cannot be reached"):
            await life.connection.client()
        assert len(warnings(caplog)) == 1
        await api.start()
        await ear.until(lambda: ear.state == "up" and life.ready)
        assert (await life.connection.client()).user
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("gateway", Fault.status(503)),
        ("gateway", Fault.status(200, "<html>welcome</html>")),
        pytest.param("gateway_bot", Fault.rate_limit(0.01, "global"), marks=pytest.mark.thorough),
        ("me", Fault.status(503)),
        ("me", Fault.reset_before()),
        ("application", Fault.reset_after()),
        pytest.param("me", Fault.hang(), marks=pytest.mark.thorough),
        # The library waits for up to two seconds before it tells of the first of these.
        ("connect", Fault.status(503)),
        pytest.param("connect", Fault.reset_before(), marks=pytest.mark.thorough),
        pytest.param("connect", Fault.ban(), marks=pytest.mark.thorough),
    ],
)
async def test_a_start_that_fails_is_tried_again(
    call: str, fault: Fault, api: DiscordApi, anna: Person, general: Channel, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    ear = Ear()
    api.fail(call, fault, times=1)
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, call=0.4, given_up=5.0)):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
    assert not [record for record in caplog.records if record.exc_info and record.name.startswith("adapters")]


NONSENSE = Fault.status(200, "<html>welcome</html>")
OUTAGE, SILENCE = "outage", "silence"


@pytest.mark.parametrize(
    "failures",
    [
        [("connect", Fault.status(502)), ("connect", Fault.reset_before()), OUTAGE, ("connect", NONSENSE),
         ("connect", Fault.hang())],
        [("connect", Fault.hang()), ("connect", NONSENSE), ("connect", Fault.reset_before()), OUTAGE, SILENCE],
    ],
    ids=["a hang comes last", "the gateway says nothing at last"],
)  # fmt: skip
async def test_who_writes_after_five_failures_in_a_row_is_heard_within_15_seconds(
    failures: list[tuple[str, Fault] | str], api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    loop = asyncio.get_running_loop()
    async with listening(api, tmp_path, ear, times=ReconnectTimes()):
        await api.gateway.close(1006)
        for failure in failures:
            await fail(api, failure)
        begun = loop.time()
        await anna.ask("hello", general)
        await ear.until(lambda: ear.messages, within=30)
    assert loop.time() - begun < 15


async def test_a_start_that_fails_five_times_is_heard_within_15_seconds_of_the_end_of_failures(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    loop = asyncio.get_running_loop()
    for fault in (Fault.status(502), Fault.reset_before(), NONSENSE, Fault.hang()):
        api.fail("gateway_bot", fault)
    api.fail("me", Fault.hang())
    await api.stop()
    async with listening(api, tmp_path, ear, times=ReconnectTimes(), is_up=False):
        await ear.until(lambda: ear.state == "down")  # refused twice
        await api.start()
        await api.wait_until(lambda: sum(call.faulty for call in api.calls) == 5, within=60)
        begun = loop.time()
        await anna.ask("hello", general)
        await ear.until(lambda: ear.messages, within=30)
    assert loop.time() - begun < 15


async def fail(api: DiscordApi, failure: tuple[str, Fault] | str) -> None:
    """Have one failure happen."""
    if failure == OUTAGE:
        async with api.outage():
            await asyncio.sleep(5)  # longer than one of the short waits
    elif failure == SILENCE:
        api.gateway.silent = True
        opened = len(api.gateway.connections)
        await api.wait_until(lambda: len(api.gateway.connections) > opened, within=30)
        await asyncio.sleep(0.1)  # the connection is there; what it should say is not said
        api.gateway.silent = False
    elif isinstance(failure, tuple):
        failed = sum(call.faulty for call in api.calls)
        api.fail(*failure)
        await api.wait_until(lambda: sum(call.faulty for call in api.calls) > failed, within=30)


async def test_a_gateway_that_takes_connections_and_says_nothing_is_left_alone_soon(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, answer=0.2, told=10.0)):
        api.gateway.silent = True
        opened = len(api.gateway.connections)
        await api.gateway.close(1006)
        await anna.ask("one", general)
        await api.wait_until(lambda: len(api.gateway.connections) >= opened + 3)
        api.gateway.silent = False
        await ear.until(lambda: ear.messages)
        assert len(api.calls_of("me")) == 1, "it was the same client"


async def test_a_gateway_that_hangs_up_at_once_is_not_called_without_end(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, first=0.2, longest=0.2)):
        api.gateway.hangs_up = True
        opened = len(api.gateway.connections)
        await api.gateway.close(1006)
        await anna.ask("one", general)
        await asyncio.sleep(0.7)
        assert len(api.gateway.connections) - opened <= 5
        api.gateway.hangs_up = False
        await ear.until(lambda: ear.messages)


async def test_a_gateway_that_greets_and_hangs_up_is_not_called_without_end(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, first=0.2, longest=0.2)):
        api.gateway.begins_none = True
        opened = len(api.gateway.connections)
        await api.gateway.close(1006)
        await anna.ask("one", general)
        await asyncio.sleep(0.7)
        assert len(api.gateway.connections) - opened <= 6
        api.gateway.begins_none = False
        await ear.until(lambda: ear.messages)


async def test_a_login_that_is_not_answered_is_given_up_and_a_rate_limit_is_not(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    loop = asyncio.get_running_loop()
    api.fail("me", Fault.hang())
    api.fail("me", Fault.rate_limit(1.0))
    begun = loop.time()
    async with listening(api, tmp_path, ear, times=dataclasses.replace(QUICK, answer=0.2, call=60.0)):
        assert 1.2 <= loop.time() - begun < 15
        assert [call.status for call in api.calls_of("me")] == [0, 429, 200]


async def test_a_wrong_token_is_explained_and_not_tried_over_and_over(
    api: DiscordApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    waits = dataclasses.replace(QUICK, refused=60.0)
    async with listening(api, tmp_path, ear, token="wrong-token", times=waits, is_up=False):
        await ear.until(lambda: ear.state == "down")
        await asyncio.sleep(0.2)
    assert "discord.token" in ear.health[-1].detail
    assert "discord.com/developers/applications" in ear.health[-1].detail
    assert len(warnings(caplog)) == 1
    assert sum(api.invalid.values()) == 1
    assert "wrong-token" not in caplog.text


async def test_the_text_of_all_messages_is_asked_for_only_where_that_is_granted(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        pass
    api.bot.granted = 0
    async with listening(api, tmp_path, ear):
        await anna.ask("a mention", general)
        await anna.say("a direct message")
        await ear.until(lambda: len(ear.messages) == 2)
        assert ear.health[-1].detail == ""
    first, second = (begun.given["intents"] for begun in api.gateway.identified)
    assert first == second | wire.CONTENT
    assert second == (1 << 0) | (1 << 9) | (1 << 12)


async def test_a_text_that_discord_hides_is_told_with_the_place_to_switch_it_on(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    api.bot.granted = 0
    async with listening(api, tmp_path, ear):
        answer = api.post(general, api.bot, content="Yes?")
        await anna.say("not for the bot", general)
        await anna.say("thanks", reply_to=answer, ping=False)
        await ear.until(lambda: "Message Content Intent" in ear.health[-1].detail)
        assert ear.state == "up"
        await anna.say("with a ping", reply_to=answer)
        await ear.until(lambda: ear.texts == ["with a ping"])
    assert len(warnings(caplog)) == 1


async def test_an_intent_that_is_switched_off_while_it_starts_is_done_without(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear) as life:
        await api.gateway.close(4014, forget=True)
        await ear.until(lambda: len(life.ready) == 2)
        assert not api.gateway.identified[-1].given["intents"] & wire.CONTENT
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        assert "Message Content Intent" in ear.health[-1].detail


async def test_a_bot_that_may_connect_no_more_waits(
    api: DiscordApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    api.bot.starts_left = 0
    async with listening(api, tmp_path, ear, is_up=False):
        async with asyncio.timeout(5):
            while not api.calls_of("gateway_bot"):  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
    assert len(api.calls_of("gateway_bot")) == 1
    assert api.gateway.identified == []


async def test_sessions_that_end_at_once_do_not_use_up_what_a_day_allows(
    api: DiscordApi, tmp_path: Path
) -> None:
    ear = Ear()
    waits = dataclasses.replace(QUICK, identify=0.0)
    async with listening(api, tmp_path, ear, times=waits):

        async def end_each() -> None:
            while True:
                await api.gateway.invalidate()
                await asyncio.sleep(0.01)

        ending = asyncio.create_task(end_each())
        # On a busy machine it may be down before, for another reason.
        await ear.until(lambda: "too often" in ear.health[-1].detail)
        count = len(api.gateway.identified)
        await asyncio.sleep(0.3)
        ending.cancel()
        assert len(api.gateway.identified) == count <= 12
    assert "too often" in ear.health[-1].detail


async def test_shards_are_made_where_the_gateway_wants_them(
    api: DiscordApi, anna: Person, tmp_path: Path
) -> None:
    ear = Ear()
    api.bot.shards = 2
    channels = []
    for name in ("one", "two", "three", "four"):
        channels.append(api.guild(name, anna).text("general"))
        await asyncio.sleep(0.002)
    async with listening(api, tmp_path, ear) as life:
        await ear.until(lambda: len(life.ready) == 2)
        for channel in channels:
            await anna.ask("hello", channel)
        await anna.say("hello")
        await ear.until(lambda: len(ear.messages) == 5)
        assert {tuple(begun.given["shard"]) for begun in api.gateway.identified} == {(0, 2), (1, 2)}


async def test_several_parts_that_cannot_be_taken_up_again_are_made_anew(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    api.bot.shards = 2
    async with listening(api, tmp_path, ear) as life:
        await ear.until(lambda: len(life.ready) == 2)
        clients = len(api.calls_of("me"))
        api.bot.shards, api.gateway.hangs_up = 1, True
        await api.gateway.close(1006)
        await api.wait_until(lambda: len(api.calls_of("me")) > clients)
        api.gateway.hangs_up = False
        message = await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        assert not life.connection.may_be_deleted(message.id + (1 << 32)), (
            "no part is away that there is no more"
        )


@pytest.mark.parametrize("shard", [0, 1])
async def test_a_shard_that_begins_anew_has_missed_nothing_and_the_other_goes_on(
    shard: int, api: DiscordApi, anna: Person, tmp_path: Path
) -> None:
    ear = Ear()
    api.bot.shards = 2
    channels: dict[int, Channel] = {}
    while len(channels) < 2:
        guild = api.guild(f"{len(channels)}", anna)
        channels.setdefault((guild.id >> 22) % 2, guild.text("general"))
        await asyncio.sleep(0.001)
    mine, others = channels[shard], channels[1 - shard]
    async with listening(api, tmp_path, ear) as life:
        await ear.until(lambda: len(life.ready) == 2)
        await anna.ask("one", mine)
        await ear.until(lambda: ear.messages)
        (session,) = [one for one in api.gateway.sessions if one.shard == (shard, 2)]
        api.gateway.drop(session)
        await anna.ask("two", mine)
        await asyncio.sleep(0.01)
        await anna.ask("0", others)
        await ear.until(lambda: "0" in ear.texts)
        assert session.connection
        session.connection.abort()  # only now it is noticed
        for number in (1, 2):
            await anna.ask(f"{number}", others)
        await ear.until(lambda: len(life.ready) == 3)
        await anna.ask("three", mine)
        await anna.ask("3", others)
        await ear.until(lambda: len(ear.messages) == 7)
    assert ear.texts_in(mine.id) == ["one", "two", "three"]
    assert ear.texts_in(others.id) == ["0", "1", "2", "3"]
    assert ear.twice == 0


async def test_a_guild_that_was_away_is_read(
    api: DiscordApi, anna: Person, home: Guild, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    async with listening(api, tmp_path, ear):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        home.lose()
        await asyncio.sleep(0.05)
        await anna.ask("two", general)
        await anna.say("direct")
        await ear.until(lambda: len(ear.messages) == 2)
        home.recover()
        await anna.ask("three", general)
        await ear.until(lambda: len(ear.messages) == 4)
        home.lose()
        await asyncio.sleep(0.05)
    await anna.ask("four", general)
    async with listening(api, tmp_path, ear):
        await anna.say("direct")
        await ear.until(lambda: len(ear.messages) == 5)
    async with listening(api, tmp_path, ear):
        await anna.say("direct")
        await ear.until(lambda: len(ear.messages) == 6)
        home.recover()
        await ear.until(lambda: len(ear.messages) == 7)
    assert ear.texts_in(general.id) == ["one", "two", "three", "four"]


async def test_a_file_is_fetched_also_when_its_address_has_died(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    now = [api.clock()]
    api.clock = lambda: now[0]
    async with listening(api, tmp_path, ear) as life:
        await anna.ask("look", general, files=[Upload("cat.png", "image/png", b"a cat")])
        await ear.until(lambda: ear.messages)
        (picture,) = ear.messages[0].attachments
        assert (picture.kind, picture.name, picture.size) == ("picture", "cat.png", 5)
        assert await fetch_bytes(life.connection, picture, max_bytes=5) == b"a cat"
        now[0] += 3 * 24 * 3600
        assert await fetch_bytes(life.connection, picture, max_bytes=5) == b"a cat"
        with pytest.raises(AttachmentLost, match="larger"):
            await fetch_bytes(life.connection, picture, max_bytes=4)
        api.fail("attachment", Fault.status(503))
        with pytest.raises(ChannelFault) as fault:
            await fetch_bytes(life.connection, picture, max_bytes=5)
        assert "cat.png" not in str(fault.value), "whoever has the address has the file"
        await anna.delete(general.messages[-1])
        with pytest.raises(AttachmentLost, match="no longer available"):
            await fetch_bytes(life.connection, picture, max_bytes=5)


async def test_it_ends_quickly_while_discord_does_not_answer(
    api: DiscordApi, anna: Person, general: Channel, tmp_path: Path
) -> None:
    ear = Ear()
    loop = asyncio.get_running_loop()
    async with listening(api, tmp_path, ear, pauses=PAUSES):
        await anna.ask("one", general)
        await ear.until(lambda: ear.messages)
        api.gateway.silent = True
        api.fail("*", Fault.hang(), times=None)
        begun = loop.time()
    assert loop.time() - begun < 2
