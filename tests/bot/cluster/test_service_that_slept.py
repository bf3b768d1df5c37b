"""Services whose lease ran out for a moment, and which nobody followed: they go on."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from tests.bot.cluster.several_services import (
    BEAT_SECONDS,
    TAKE_OVER_SECONDS,
    House,
    Shown,
    answered,
    known,
    until,
)
from tests.fakes.bot_api.server import BotApi
from tests.fakes.postgres_server import PostgresServer

pytestmark = pytest.mark.thorough


@pytest.fixture
def server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    del postgres  # skips where there is none
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def database(server: PostgresServer) -> str:
    return server.url()


async def test_one_that_slept_beyond_its_fence_and_was_not_followed_goes_on_with_the_settings_it_had(
    api: BotApi, house: House
) -> None:
    olga = api.person(1, "Olga")
    only = house.service("only")
    only.start()
    await only.is_in("telegram", "up")
    file = only.folder / "config.toml"
    file.write_text(file.read_text().replace('"telegram:1"', '"telegram:1", "telegram:77"'))
    await olga.say("/config reload")
    await said(olga.chat, "access.owners", house)
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    await only.has_delivered()  # one that sleeps before Telegram has answered has to send it again
    only.kill(signal.SIGSTOP)
    await asyncio.sleep(13)
    only.kill(signal.SIGCONT)
    await olga.say("m2")
    await answered(olga.chat, 2, house=house, within=20)
    assert [known(text) for text in olga.chat.texts if known(text)] == [[1], [1, 2]]
    await olga.say("/config")
    await said(olga.chat, "telegram:77", house)
    assert "Traceback" not in house.log, house.log


async def said(chat: Shown, what: str, house: House) -> None:
    await until(
        lambda: any(what in text for text in chat.texts), within=10, what=what, told=lambda: house.log
    )


async def test_one_whose_server_is_away_at_its_first_start_waits_for_it_whatever_it_is_told(
    api: BotApi, house: House, server: PostgresServer
) -> None:
    olga = api.person(1, "Olga")
    server.stop()
    only = house.service("only")
    only.start()
    await only.is_standby()
    assert (await only.health())["missing"] == ["leases"]
    file = only.folder / "config.toml"
    file.write_text(file.read_text().replace('"telegram:1"', '"telegram:1", "telegram:77"'))
    only.kill(signal.SIGHUP)
    await until(
        lambda: "access.owners" in only.log, within=5, what="told of the restart", told=lambda: only.log
    )
    await only.is_standby(within=1)
    server.start()
    await only.is_in("telegram", "up", within=10)
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    assert "Traceback" not in house.log, house.log


async def test_two_whose_server_was_stopped_for_a_while_are_silent_then_and_answer_once_after(
    api: BotApi, house: House, server: PostgresServer
) -> None:
    olga = api.person(1, "Olga")
    first, second = await house.active_and_standby()
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    await asyncio.sleep(2 * BEAT_SECONDS)
    server.stop()
    await first.is_in("telegram", "down", within=20)
    await olga.say("m2")
    await asyncio.sleep(3)
    assert [known(text)[-1] for text in olga.chat.texts] == [1], house.log
    server.start()
    await answered(olga.chat, 2, house=house, within=TAKE_OVER_SECONDS)
    await asyncio.sleep(2 * BEAT_SECONDS)
    states = [(await each.health())["role"] for each in (first, second)]
    assert sorted(map(str, states)) == ["active", "standby"], house.log
    await olga.say("m3")
    await answered(olga.chat, 3, house=house, within=10)
    assert [known(text)[-1] for text in olga.chat.texts] == [1, 2, 3], house.log
    assert "Traceback" not in house.log, house.log
