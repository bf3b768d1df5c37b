import asyncio
import contextlib
import io
import json
import re
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from pydantic import SecretStr
from telegram import Bot

from adapters.telegram.connection_health import UNKNOWN_BOT, ReconnectTimes
from adapters.telegram.incoming import ALLOWED_UPDATES
from adapters.telegram.open_bot import open_bot
from adapters.telegram.polling import poll
from adapters.telegram.webhook import REPLACED, SECRET_HEADER, Webhook
from bot.config.telegram import TelegramSettings
from bot.messages import ChannelHealth, NotAccepted
from bot.web.webhooks import add_webhooks
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi

QUICK = ReconnectTimes(first=0.01, longest=0.02, conflict=0.3, token=0.1)


class House:
    """A bot with a webhook behind a server of ours."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot
        self.texts: list[str] = []
        self.reports: list[ChannelHealth] = []
        self.refuse = False
        self.failing: set[str] = set()
        self.webhook: Webhook
        self.origin = ""

    async def take_in(self, raw: Mapping[str, Any]) -> None:
        text = str(raw["message"]["text"])
        if self.refuse:
            raise NotAccepted("the disk is full; make room on it")
        if text in self.failing:
            self.failing.discard(text)
            raise NotAccepted("not yet")
        self.texts.append(text)

    @property
    def health(self) -> ChannelHealth:
        return self.reports[-1] if self.reports else ChannelHealth("starting")

    @property
    def path(self) -> str:
        return self.webhook.hooks[0].path

    @contextlib.asynccontextmanager
    async def open(
        self, *, public: str = "", secret: str = "", serve: bool = True, check_seconds: float = 300.0
    ) -> AsyncIterator[None]:
        app = web.Application()
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        site, self.origin = _listening()
        settings = TelegramSettings(
            token=SecretStr(self.bot.token),
            api_base=self.bot.base_url.removesuffix(f"/bot{self.bot.token}"),
            mode="webhook",
            webhook_url=public or self.origin,
            webhook_secret=SecretStr(secret),
        )
        self.webhook = Webhook(
            self.bot, settings, report=self.reports.append, times=QUICK, check_seconds=check_seconds
        )
        add_webhooks(app, self.webhook.hooks)
        await runner.setup()
        await web.SockSite(runner, site).start()
        task = asyncio.create_task(self.webhook.serve(self.take_in)) if serve else None
        try:
            yield
            assert not (task and task.done())
        finally:
            if task:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await runner.cleanup()

    async def post(self, body: bytes, *, path: str = "", secret: str | None = None) -> int:
        """As Telegram would; `secret`: another one than it was told, "" for none."""
        told = self.webhook._secret if secret is None else secret
        headers = {SECRET_HEADER: told} if told else {}
        url = f"{self.origin}{path or self.path}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=io.BytesIO(body), headers=headers) as answer,
        ):
            assert await answer.read() == b"" or answer.status == 404
            return answer.status


def _listening() -> tuple[socket.socket, str]:
    site = socket.create_server(("127.0.0.1", 0))
    return site, f"http://127.0.0.1:{site.getsockname()[1]}"


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(webhook_pause=0.02) as api:
        yield api


@pytest.fixture
def anna(api: BotApi) -> Person:
    return api.person(7, "Anna")


@pytest.fixture
async def house(api: BotApi) -> AsyncIterator[House]:
    async with open_bot(api.token, api.url) as bot:
        yield House(bot)


def update(text: str) -> bytes:
    return json.dumps({"update_id": 1, "message": {"text": text}}).encode()


async def test_telegram_is_told_where_to_bring_updates_and_brings_all_that_waited(
    api: BotApi, anna: Person, house: House
) -> None:
    await anna.say("while nobody was there")
    async with house.open():
        await anna.say("live")
        await api.wait_until_confirmed()
    assert house.texts == ["while nobody was there", "live"]
    assert house.health == ChannelHealth("up")
    (told,) = (call.parameters for call in api.calls_of("setWebhook"))
    assert told["url"] == house.webhook.url
    assert told["allowed_updates"] == list(ALLOWED_UPDATES)
    assert told["max_connections"] == 1
    assert not told.get("drop_pending_updates")
    assert re.fullmatch(r"[A-Za-z0-9_-]{32,256}", told["secret_token"])


async def test_the_address_cannot_be_guessed_and_is_the_same_after_a_restart(
    api: BotApi, house: House
) -> None:
    async with house.open(public="https://bot.example.org"):
        first = house.webhook.url, house.webhook._secret
    async with house.open(public="https://bot.example.org/"):
        assert (house.webhook.url, house.webhook._secret) == first
    assert re.fullmatch(r"https://bot\.example\.org/telegram/[0-9a-f]{40}", first[0])
    assert first[1] not in first[0]
    assert api.token.partition(":")[2] not in first[0] + first[1]
    async with open_bot("987:another", api.url) as bot:
        other = House(bot)
        async with other.open(public="https://bot.example.org", serve=False):
            assert other.webhook.url != first[0]


async def test_the_secret_of_the_settings_is_used(api: BotApi, anna: Person, house: House) -> None:
    async with house.open(secret="chosen_by-me"):
        await anna.say("hello")
        await api.wait_until_confirmed()
        assert await house.post(update("forged"), secret="another") == 404
    assert api.calls_of("setWebhook")[0].parameters["secret_token"] == "chosen_by-me"
    assert house.texts == ["hello"]


@pytest.mark.parametrize("secret", ["", "x", "ümläut", "x" * 4000])
async def test_who_does_not_know_the_secret_learns_nothing(secret: str, house: House) -> None:
    async with house.open():
        assert await house.post(update("forged"), secret=secret) == 404
        assert await house.post(update("forged"), path="/telegram/elsewhere") == 404
        assert await house.post(b"{", secret=secret) == 404
    assert house.texts == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"\xff\xfe", b"[" * 100_000])
async def test_what_is_no_update_is_refused(body: bytes, house: House) -> None:
    async with house.open():
        assert await house.post(body) == 400
        assert await house.post(update("hello")) == 200
    assert house.texts == ["hello"]


async def test_a_huge_body_is_refused(house: House) -> None:
    async with house.open():
        assert await house.post(b"x" * (1024 * 1024 + 1)) == 413


@pytest.mark.parametrize("taken_off", [True, False], ids=["proxy takes it off", "proxy leaves it"])
async def test_a_public_address_may_have_a_path_before_ours(
    taken_off: bool, api: BotApi, house: House
) -> None:
    async with house.open(public="https://example.org/bots/mine"):
        path = house.path if taken_off else f"/bots/mine{house.path}"
        assert await house.post(update("hello"), path=path) == 200
        await api.wait_until(lambda: api.calls_of("setWebhook"))
    assert house.texts == ["hello"]
    assert api.calls_of("setWebhook")[0].parameters["url"] == f"https://example.org/bots/mine{house.path}"


async def test_what_is_not_accepted_is_brought_again_and_nothing_overtakes_it(
    api: BotApi, anna: Person, house: House
) -> None:
    house.failing = {"1", "3"}
    async with house.open():
        for number in range(5):
            await anna.say(f"{number}")
        await api.wait_until_confirmed()
    assert house.texts == ["0", "1", "2", "3", "4"]


@pytest.mark.thorough
async def test_a_full_disk_is_told_and_that_all_is_well_again(
    api: BotApi, anna: Person, house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "adapters")
    house.refuse = True
    async with house.open():
        await api.wait_until(lambda: house.reports)
        await anna.say("hello")
        await api.wait_until(lambda: len(api.bot.inbox.delivered) >= 4)
        assert house.health == ChannelHealth("down", "the disk is full; make room on it")
        house.refuse = False
        await api.wait_until_confirmed()
        assert house.health == ChannelHealth("up")
    told = [record.getMessage() for record in caplog.records if record.name.startswith("adapters")]
    assert told == ["Telegram: the disk is full; make room on it", "Telegram: connected again"]


async def test_updates_wait_until_somebody_takes_them_in(api: BotApi, anna: Person, house: House) -> None:
    async with house.open(serve=False):
        assert await house.post(update("too early")) == 503
        task = asyncio.create_task(house.webhook.serve(house.take_in))
        await anna.say("hello")
        await api.wait_until_confirmed()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await house.post(update("too late")) == 503
    assert house.texts == ["hello"]


async def test_updates_that_are_brought_side_by_side_are_taken_in_one_by_one(house: House) -> None:
    at_once = most = 0

    async def take_in(raw: Mapping[str, Any]) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1

    house.take_in = take_in  # type: ignore[method-assign]
    async with house.open():
        await asyncio.sleep(0)
        assert await asyncio.gather(*(house.post(update("x")) for _ in range(5))) == [200] * 5
    assert most == 1


async def test_an_address_that_telegram_does_not_reach_is_told_with_its_reason(
    api: BotApi, anna: Person, house: House
) -> None:
    async with house.open(public="http://127.0.0.1:9", check_seconds=0.05):
        await anna.say("hello")
        await api.wait_until(
            lambda: "127.0.0.1" not in house.health.detail and "refused" in house.health.detail
        )
        assert house.health.state == "up"
        assert "telegram.webhook_url" in house.health.detail


async def test_a_webhook_that_another_program_has_put_in_its_place_is_set_again(
    api: BotApi, anna: Person, house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.open(check_seconds=0.05):
        await api.wait_until(lambda: house.reports)
        await house.bot.set_webhook("http://127.0.0.1:9/elsewhere")
        await anna.say("hello")
        await api.wait_until(lambda: house.texts == ["hello"])
        await api.wait_until(lambda: house.health == ChannelHealth("up"))
    assert ChannelHealth("up", REPLACED) in house.reports
    assert [record.getMessage() for record in caplog.records if record.name.startswith("adapters")] == [
        f"Telegram: {REPLACED}"
    ]


async def test_a_telegram_that_cannot_be_reached_at_start_is_asked_again(
    api: BotApi, anna: Person, house: House
) -> None:
    api.fail("setWebhook", Fault.status(502), times=3)
    async with house.open():
        await anna.say("hello")
        await api.wait_until_confirmed()
    assert house.texts == ["hello"]
    assert house.reports[0].state == "down"
    assert house.health == ChannelHealth("up")


async def test_an_address_that_telegram_does_not_take_is_told_as_that(api: BotApi, house: House) -> None:
    said = "Bad Request: bad webhook: Failed to resolve host: Name or service not known"
    api.fail("setWebhook", Fault.refuse(400, said), times=3)
    async with house.open():
        await api.wait_until(lambda: house.reports)
        assert house.reports[0].state == "down"
        assert house.reports[0].detail.startswith("Telegram rejects telegram.webhook_url: ")
        assert "failed to resolve host" in house.reports[0].detail
        await api.wait_until(lambda: house.health == ChannelHealth("up"))


async def test_a_wrong_token_is_told_with_the_mend(api: BotApi) -> None:
    async with open_bot("123456789:AAwrong-token-of-the-right-length_xxxx", api.url) as bot:
        house = House(bot)
        async with house.open():
            await api.wait_until(lambda: house.reports)
    assert house.reports == [ChannelHealth("down", UNKNOWN_BOT)]


async def test_polling_takes_a_webhook_away_and_loses_nothing(
    api: BotApi, anna: Person, house: House
) -> None:
    async with house.open():
        await anna.say("one")
        await api.wait_until_confirmed()
    await anna.say("two")
    polling = asyncio.create_task(poll(house.bot, house.take_in, report=house.reports.append, times=QUICK))
    await api.wait_until_confirmed()
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)
    assert api.bot.inbox.webhook is None
    assert house.texts == ["one", "two"]
