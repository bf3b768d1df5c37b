import socket
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.discord.doctor import check
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.doctor.service import Liveness
from tests.bot.doctor.sample_state import about, everything, find_check, statuses
from tests.fakes.discord_api.server import DiscordApi

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


async def told(api_base: str, token: str, **table: Any) -> list[Check]:
    settings = about(discord={"token": token, "api_base": api_base, **table})
    async with HttpProbe(seconds=5) as asking:
        return await check(settings, asking, Liveness(False, None, datetime.now(UTC)))


async def test_without_a_token_nobody_is_asked() -> None:
    [check] = await told("http://127.0.0.1:1", "")
    assert check.status == "ok"


async def test_a_bot_that_is_known_is_told_with_its_servers() -> None:
    async with DiscordApi() as api:
        api.guild("Home", api.person("anna"))
        checks = await told(api.api_base, api.token)
        assert statuses(checks) == {"ok"}
        assert find_check(checks, "servers").detail == "1: Home"
        assert "can read" in find_check(checks, "intents").detail
        assert {call.method for call in api.calls} == {"GET"}
        assert api.token not in everything(checks)


async def test_a_token_that_is_not_known_fails_with_the_mend() -> None:
    async with DiscordApi() as api:
        [check] = await told(api.api_base, "wrong-token-of-nobody")
    assert (check.status, check.name) == ("fail", "token")
    assert "Reset Token" in check.fix
    assert "wrong-token" not in everything([check])


async def test_a_missing_intent_is_told_with_the_mend() -> None:
    async with DiscordApi() as api:
        api.guild("Home", api.person("anna"))
        api.bot.granted = 0
        check = find_check(await told(api.api_base, api.token), "intents")
    assert (check.status, "Message Content Intent" in check.fix) == ("warn", True)


async def test_a_bot_in_no_server_or_not_in_the_one_that_is_meant_is_told() -> None:
    async with DiscordApi() as api:
        check = find_check(await told(api.api_base, api.token), "servers")
        assert (check.status, "invite the bot" in check.fix) == ("warn", True)
        home = api.guild("Home", api.person("anna"))
        checks = await told(api.api_base, api.token, servers=[str(home.id), "99"])
        assert [(check.status, check.detail) for check in checks if check.name == "servers"] == [
            ("ok", "1: Home"),
            ("warn", "discord.servers has 99, but the bot is not there"),
        ]


async def test_sessions_that_are_nearly_used_up_are_told() -> None:
    async with DiscordApi() as api:
        api.bot.starts_left = 3
        check = find_check(await told(api.api_base, api.token), "gateway")
    assert (check.status, "only 3 more times in the next 4 h" in check.detail) == ("warn", True)


async def test_a_gateway_that_a_firewall_keeps_away_fails() -> None:
    async with DiscordApi() as api:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            api_base, api.url = api.api_base, f"http://127.0.0.1:{free.getsockname()[1]}"
            check = find_check(await told(api_base, api.token), "gateway")
    assert (check.status, "firewall" in check.fix) == ("fail", True)


async def test_a_server_that_is_none_or_not_there_fails() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        [check] = await told(f"http://127.0.0.1:{free.getsockname()[1]}", "secret-token")
    assert (check.status, check.name) == ("fail", "reached")
    async with DiscordApi() as api:
        [check] = await told(f"{api.api_base}/elsewhere", api.token)
        assert (check.status, check.fix) == ("fail", "check discord.api_base")
    [check] = await told("http://127.0.0.1:1", "schlüssel")
    assert (check.status, check.name) == ("fail", "token")
