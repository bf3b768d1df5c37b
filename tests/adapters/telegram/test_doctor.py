import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.telegram.doctor import check
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.doctor.service import Liveness, last_sign_of_life
from tests.bot.doctor.sample_state import about, everything, find_check, statuses, with_workspace
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.receiving import Webhook
from tests.fakes.bot_api.server import BotApi

NOW = datetime.now(UTC)
pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


async def told(
    url: str, token: str, *, alive: bool = False, last_sign: datetime | None = None, **table: Any
) -> list[Check]:
    settings = about(telegram={"token": token, "api_base": url, **table})
    async with HttpProbe(seconds=5) as asking:
        return await check(settings, asking, Liveness(alive, last_sign, NOW))


async def test_without_a_token_nobody_is_asked() -> None:
    [check] = await told("http://127.0.0.1:1", "")
    assert check.status == "ok"


async def test_a_bot_that_is_known_is_named() -> None:
    async with BotApi() as api:
        checks = await told(api.url, api.token)
        assert statuses(checks) == {"ok"}
        assert find_check(checks, "bot").detail == "@commonplace_bot"
        assert "privacy mode is on" in find_check(checks, "groups").detail
        assert sorted(call.method for call in api.calls) == ["getMe", "getWebhookInfo"]
        assert api.token not in everything(checks)


async def test_what_privacy_mode_means_is_told() -> None:
    async with BotApi() as api:
        api.bot.privacy = False
        assert "privacy mode is off" in find_check(await told(api.url, api.token), "groups").detail


async def test_a_token_that_is_not_known_fails_with_the_mend() -> None:
    async with BotApi() as api:
        [check] = await told(api.url, "12345:wrong-token-of-nobody")
    assert (check.status, check.name) == ("fail", "token")
    assert "@BotFather" in check.fix
    assert "wrong-token" not in everything([check])


async def test_a_token_of_the_environment_that_can_be_none_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "not a token")
    async with HttpProbe() as asking:
        [found] = await check(with_workspace(tmp_path), asking, Liveness(False, None, NOW))
    assert (found.status, found.detail) == ("fail", "TELEGRAM_BOT_TOKEN is invalid")


async def test_a_server_that_is_none_or_not_there_fails() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        [check] = await told(f"http://127.0.0.1:{free.getsockname()[1]}", "1:secret-token")
    assert (check.status, check.name) == ("fail", "reached")
    assert "secret-token" not in everything([check])
    async with BotApi() as api:
        api.fail("getMe", Fault.status(404))
        [check] = await told(api.url, api.token)
        assert "not a Bot API" in check.detail
        assert check.fix == "check telegram.api_base"
        api.fail("getMe", Fault.retry_after(7))
        [check] = await told(api.url, api.token)
        assert check.status == "warn"


async def test_a_webhook_that_is_in_the_way_of_polling_is_told_by_its_host_alone() -> None:
    async with BotApi() as api:
        api.bot.inbox.webhook = Webhook("https://bot.example.org/secret/path")
        check = find_check(await told(api.url, api.token), "webhook")
        assert (check.status, "bot.example.org" in check.detail) == ("warn", True)
        assert "secret/path" not in everything([check])
        assert "the service removes it at its start" in check.fix
        assert "another bot" in find_check(await told(api.url, api.token, alive=True), "webhook").fix


async def test_in_mode_webhook_what_keeps_updates_from_coming_is_told() -> None:
    mode: dict[str, Any] = {"mode": "webhook", "webhook_url": "https://bot.example.org"}
    async with BotApi() as api:
        check = find_check(await told(api.url, api.token, **mode), "webhook")
        assert (check.status, "the service sets it at its start" in check.detail) == ("ok", True)
        assert find_check(await told(api.url, api.token, alive=True, **mode), "webhook").status == "warn"
        await api.person(7, "Anna").say("hi")
        api.bot.inbox.webhook = Webhook(
            "https://bot.example.org/x", last_error="Connection refused", last_error_time=1.0
        )
        checks = await told(api.url, api.token, alive=True, **mode)
        assert find_check(checks, "webhook").status == "ok"
        assert "Connection refused" in find_check(checks, "delivery").detail


async def test_what_waits_at_telegram_is_told() -> None:
    async with BotApi() as api:
        await api.person(7, "Anna").say("hi")
        check = find_check(await told(api.url, api.token), "waiting")
    assert (check.status, check.detail.startswith("1 update is waiting")) == ("warn", True)


async def test_a_gap_of_more_than_a_day_is_told() -> None:
    async with BotApi() as api:
        long_ago = NOW - timedelta(days=3)
        check = find_check(await told(api.url, api.token, last_sign=long_ago), "gap")
        assert (check.status, "for about 3 days" in check.detail) == ("warn", True)
        for alive, sign in ((True, long_ago), (False, NOW - timedelta(hours=5)), (False, None)):
            checks = await told(api.url, api.token, alive=alive, last_sign=sign)
            assert "gap" not in {check.name for check in checks}


def test_the_last_sign_of_life_is_what_was_written_last(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    assert last_sign_of_life(settings) is None
    for number, name in enumerate(("state.db", "index.db", "conversations.db")):
        (settings.private_folder / name).write_bytes(b"")
        os.utime(settings.private_folder / name, (1e9, 1e9 + number))
        assert last_sign_of_life(settings) == datetime.fromtimestamp(1e9 + number, UTC)
