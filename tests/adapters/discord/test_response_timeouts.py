"""A request that is not answered is given up; what waits for another reason is not, nor what another task asks."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.discord.response_timeouts import install_response_limits, limit_response_time
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.server import DiscordApi


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    trace = aiohttp.TraceConfig()
    install_response_limits(trace)
    async with aiohttp.ClientSession(trace_configs=[trace]) as session:
        yield session


async def ask(api: DiscordApi, session: aiohttp.ClientSession) -> int:
    async with session.get(f"{api.api_base}/gateway") as answer:
        await answer.read()
        return answer.status


@pytest.mark.thorough
async def test_only_a_request_that_is_not_answered_is_given_up(
    api: DiscordApi, session: aiohttp.ClientSession
) -> None:
    async with limit_response_time(0.2):
        assert await ask(api, session) == 200
        await asyncio.sleep(0.4)
        assert await ask(api, session) == 200
    api.fail("gateway", Fault.hang())
    with pytest.raises(TimeoutError):
        async with limit_response_time(0.2):
            await ask(api, session)
    assert await ask(api, session) == 200


@pytest.mark.thorough
async def test_each_task_has_a_limit_of_its_own(api: DiscordApi, session: aiohttp.ClientSession) -> None:
    async def later() -> int:
        await asyncio.sleep(0.1)
        return await ask(api, session)

    async with limit_response_time(0.2):
        beside = asyncio.create_task(later())
    assert await beside == 200
    api.fail("gateway", Fault.delay(0.5))
    async with limit_response_time(0.2):
        slow = asyncio.create_task(ask(api, session))
        assert await slow == 200
