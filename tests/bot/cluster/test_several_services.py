"""Several services with one bot on Telegram: one answers, and when it dies, another."""

import asyncio
import signal
import subprocess
import time
from pathlib import Path

import aiohttp
import pytest

from bot.cluster.instance import workspace_id
from tests.bot.cluster.several_services import (
    BEAT_SECONDS,
    HANDED_OVER_SECONDS,
    TAKE_OVER_SECONDS,
    EchoServer,
    House,
    answered,
    known,
)
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace

pytestmark = pytest.mark.thorough


async def test_a_standby_answers_soon_after_the_other_was_killed_and_that_one_comes_back_as_a_standby(
    api: BotApi, house: House
) -> None:
    olga = api.person(1, "Olga")
    first, second = await house.active_and_standby()
    health = await second.health()
    assert (health["status"], health["role"]) == ("ok", "standby")
    assert (await first.health())["role"] == "active"
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    first.kill()
    await olga.say("m2")
    seconds = await answered(olga.chat, 2, house=house)
    print(f"\ntaken over after {seconds:.1f} s")
    assert seconds <= TAKE_OVER_SECONDS
    assert known(olga.chat.texts[-1]) == [2], "it begins without the other's conversations"
    first.start()
    await first.is_in("telegram", "standby")
    await olga.say("m3")
    await answered(olga.chat, 3, house=house, within=10)
    assert known(olga.chat.texts[-1]) == [2, 3]
    await asyncio.sleep(2)
    assert [known(text)[-1] for text in olga.chat.texts] == [1, 2, 3], house.log
    assert "Traceback" not in house.log, house.log


async def test_with_the_dead_ones_workspace_its_conversations_go_on_and_what_it_was_answering_is_answered_once(
    api: BotApi, model: EchoServer, house: House
) -> None:
    olga = api.person(1, "Olga")
    first = house.service("first")
    second = house.service("second", take_over=(first,))
    first.start()
    await first.is_in("telegram", "up")
    second.start()
    await second.is_in("telegram", "standby")
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    await asyncio.sleep(2 * BEAT_SECONDS)  # so that the first knows of the second, as it mostly does
    model.hangs = True
    asked = len(model.requests)
    await olga.say("m2")
    await model.wait_for_requests(asked + 1)
    first.kill()
    model.hangs = False
    seconds = await answered(olga.chat, 2, house=house)
    print(f"\ntaken over with its conversations after {seconds:.1f} s")
    assert known(olga.chat.texts[-1]) == [1, 2]
    await second.is_in("telegram", "stand-in")
    health = await second.health()
    assert (health["status"], health["role"]) == ("ok", "stand-in")
    assert isinstance(health["stands_in"], dict)
    assert health["stands_in"]["telegram"]["workspace"] == workspace_id(first.workspace / ".commonplace")[:4]
    assert "(second for workspace)" in second.log, "lines of the stand-in are known from ours"
    deaths = [line for line in second.log.splitlines() if "first stopped renewing its leases" in line]
    assert len([line for line in deaths if "second for workspace" not in line]) == 1, "told of once"
    await olga.say("m3")
    await answered(olga.chat, 3, house=house, within=10)
    first.start()

    await first.is_standby()
    await olga.say("m4")
    await answered(olga.chat, 4, house=house, within=10)
    assert [known(text) for text in olga.chat.texts] == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]
    assert await second.leave() < 10
    await olga.say("m5")
    await answered(olga.chat, 5, house=house, within=10)
    assert known(olga.chat.texts[-1]) == [1, 2, 3, 4, 5]
    assert "Traceback" not in house.log, house.log


async def test_one_that_was_halted_for_longer_than_its_lease_says_nothing_more_and_is_a_standby(
    api: BotApi, model: EchoServer, house: House
) -> None:
    olga = api.person(1, "Olga")
    first, _ = await house.active_and_standby()
    model.hangs = True
    await olga.say("m1")
    await model.wait_for_requests(1)
    first.kill(signal.SIGSTOP)
    model.hangs = False
    await olga.say("m2")
    seconds = await answered(olga.chat, 2, house=house)
    print(f"\ntaken over from one that was halted after {seconds:.1f} s")
    calls = len(api.calls)
    await asyncio.sleep(2)
    first.kill(signal.SIGCONT)
    await first.is_in("telegram", "standby", within=10)
    await asyncio.sleep(5)
    await olga.say("m3")
    await answered(olga.chat, 3, house=house, within=10)
    assert [known(text)[-1] for text in olga.chat.texts] == [2, 3], house.log
    assert len([call for call in api.calls[calls:] if call.status == 409]) == 0
    assert "Traceback" not in house.log, house.log


async def test_one_that_leaves_hands_over_at_once(api: BotApi, house: House) -> None:
    olga = api.person(1, "Olga")
    first, second = await house.active_and_standby()
    leaving = asyncio.create_task(first.leave())
    began = time.monotonic()
    await second.is_in("telegram", "up", within=10)
    seconds = time.monotonic() - began
    await leaving
    print(f"\nhanded over after {seconds:.1f} s")
    assert seconds <= HANDED_OVER_SECONDS
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=5)
    assert "Traceback" not in house.log, house.log


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_where_two_serve_one_workspace_the_second_goes_on_where_the_first_was(
    api: BotApi, model: EchoServer, house: House, how: signal.Signals
) -> None:
    olga = api.person(1, "Olga")
    first = house.service("first")
    second = house.service("second", workspace=first)
    first.start()
    await first.is_in("telegram", "up")
    second.start()
    await second.is_standby()
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    await asyncio.sleep(2 * BEAT_SECONDS)
    model.hangs = True
    asked = len(model.requests)
    await olga.say("m2")
    await model.wait_for_requests(asked + 1)
    first.kill(how)
    model.hangs = False
    seconds = await answered(olga.chat, 2, house=house)
    print(f"\ngone on with one workspace after {seconds:.1f} s, {how.name}")
    if how is signal.SIGSTOP:
        first.kill(signal.SIGCONT)
    else:
        first.start()
    await first.is_standby()
    await olga.say("m3")
    await answered(olga.chat, 3, house=house, within=10)
    await asyncio.sleep(2)
    assert [known(text) for text in olga.chat.texts] == [[1], [1, 2], [1, 2, 3]], house.log
    assert "Traceback" not in house.log, house.log


async def test_a_standby_refuses_what_a_webhook_brings_until_the_channel_is_its_own(
    api: BotApi, house: House
) -> None:
    olga = api.person(1, "Olga")
    first, second = house.service("first"), house.service("second")
    for each in (first, second):
        each.use_webhook()
        each.start()
        await each.is_in("telegram", "up" if each is first else "standby")
    await olga.say("m1")
    await answered(olga.chat, 1, house=house, within=10)
    hook = api.bot.inbox.webhook
    assert hook
    assert f":{first.port}/" in hook.url
    headers = {"X-Telegram-Bot-Api-Secret-Token": hook.secret}
    async with aiohttp.ClientSession() as session:
        brought = hook.url.replace(str(first.port), str(second.port))
        async with session.post(brought, json={"update_id": 1}, headers=headers) as answer:
            assert answer.status == 503
    await first.leave()
    await olga.say("m2")
    await answered(olga.chat, 2, house=house, within=10)
    hook = api.bot.inbox.webhook
    assert hook
    assert f":{second.port}/" in hook.url
    assert "Traceback" not in house.log, house.log


def test_a_stand_in_leaves_with_who_has_begun_it(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    with commonplace.start("run", "--stand-in", stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stderr
        told = ""
        while "serving only HTTP" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        assert "listening" not in told
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(10) == 0
        assert "leaving" in process.stderr.read()
