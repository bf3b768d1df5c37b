"""Several services with one bot on Discord: one answers, and when it dies, another, also what was said meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from tests.bot.cluster.several_services import (
    BEAT_SECONDS,
    CONFIG,
    TAKE_OVER_SECONDS,
    EchoServer,
    House,
    answered,
    known,
    until,
)
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi

pytestmark = pytest.mark.thorough


@pytest.fixture
async def api() -> AsyncIterator[DiscordApi]:
    async with DiscordApi() as api:
        yield api


@pytest.fixture
def channel(api: DiscordApi) -> Mapping[str, str]:
    return {"COMMONPLACE_DISCORD__TOKEN": api.token, "COMMONPLACE_DISCORD__API_BASE": api.api_base}


@pytest.fixture
def olga(api: DiscordApi) -> Person:
    return api.person("olga")


def config(olga: Person) -> str:
    return CONFIG.replace("telegram:1", f"discord:{olga.id}")


async def test_a_standby_answers_what_was_said_meanwhile_and_later_nothing_that_the_other_has_answered(
    api: DiscordApi, house: House, olga: Person
) -> None:
    room = api.guild("Home", olga, api.bot).text("general")
    first, second = (house.service(name, config=config(olga)) for name in ("first", "second"))
    first.start()
    await first.is_in("discord", "up")
    second.start()
    await second.is_in("discord", "standby")
    await olga.say("m1")
    await olga.say(f"{api.bot.mention} m2", room)
    await answered(olga.dm, 1, house=house, within=10)
    await answered(room, 2, house=house, within=10)
    await asyncio.sleep(2 * BEAT_SECONDS)  # what is said within a beat before the end may be answered twice
    first.kill()
    await olga.say("m3")
    await olga.say(f"{api.bot.mention} m4", room)
    seconds = await answered(olga.dm, 3, house=house)
    await answered(room, 4, house=house, within=10)
    print(f"\ntaken over on Discord after {seconds:.1f} s")
    assert seconds <= TAKE_OVER_SECONDS
    first.start()
    await first.is_in("discord", "standby", within=30)
    await olga.say("m5")
    await answered(olga.dm, 5, house=house, within=10)
    await second.leave()
    await first.is_in("discord", "up")
    await olga.say("m6")
    await answered(olga.dm, 6, house=house, within=10)
    await asyncio.sleep(3)
    assert [known(text)[-1] for text in olga.dm.texts] == [1, 3, 5, 6], house.log
    assert [known(text)[-1] for text in room.texts] == [2, 4], house.log
    assert "Traceback" not in house.log, house.log


async def test_with_the_dead_ones_workspace_its_conversations_go_on(
    api: DiscordApi, model: EchoServer, house: House, olga: Person
) -> None:
    first = house.service("first", config=config(olga))
    second = house.service("second", take_over=(first,), config=config(olga))
    first.start()
    await first.is_in("discord", "up")
    second.start()
    await second.is_in("discord", "standby")
    await olga.say("m1")
    await answered(olga.dm, 1, house=house, within=10)
    await asyncio.sleep(2 * BEAT_SECONDS)
    model.hangs = True
    asked = len(model.requests)
    await olga.say("m2")
    await model.wait_for_requests(asked + 1)
    first.kill()
    model.hangs = False
    await olga.say("m3")
    seconds = await answered(olga.dm, 3, house=house)
    print(f"\ntaken over on Discord with its conversations after {seconds:.1f} s")

    def all_known() -> bool:
        return known(olga.dm.texts[-1]) == [1, 2, 3]

    await until(all_known, within=5, what=f"{olga.dm.texts}", told=lambda: house.log)
    answers = [number for text in olga.dm.texts for number in known(text)[-1:]]
    assert len(answers) == len(set(answers)), olga.dm.texts
    assert "Traceback" not in house.log, house.log
