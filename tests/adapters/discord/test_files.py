"""Where files are fetched from, whatever address is told for them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import discord
import pytest
from aiohttp import web

from adapters.discord.files import fetch_file, is_discord_url
from bot import phrases
from bot.messages import Attachment, AttachmentLost
from tests.fakes.table_test import table_test

OFFICIAL = "https://discord.com/api/v10"


@table_test(
    ("address", "api_base", "expected"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.png?ex=1", OFFICIAL, True),
        ("https://media.discordapp.net/attachments/1/2/a.png", "http://proxy:8080/api", True),
        ("https://cdn.discordapp.com:8443/a", OFFICIAL, True),
        ("http://proxy:8080/attachments/1", "http://proxy:8080/api", True),
        ("http://proxy:8081/attachments/1", "http://proxy:8080/api", False),
        ("https://proxy:8080/attachments/1", "http://proxy:8080/api", False),
        ("http://cdn.discordapp.com/attachments/1", OFFICIAL, False),
        ("http://169.254.169.254/latest/meta-data", OFFICIAL, False),
        ("https://evilcdn-discordapp.com/a", OFFICIAL, False),
        ("https://cdn.discordapp.com@evil.example/a", OFFICIAL, False),
        ("https://cdn.discordapp.com.evil.example/a", OFFICIAL, False),
        ("file:///etc/passwd", OFFICIAL, False),
        ("", OFFICIAL, False),
        ("https://[half", OFFICIAL, False),
        ("https://cdn.discordapp.com:port/", OFFICIAL, False),
    ],
)
def test_only_discords_own_addresses_are_fetched(address: str, api_base: str, expected: bool) -> None:
    assert is_discord_url(address, api_base=api_base) is expected


@asynccontextmanager
async def two_servers() -> AsyncIterator[tuple[str, str, list[str]]]:
    """The addresses of a proxy, which sends everybody on, and of another machine, and what that one was asked."""
    asked: list[str] = []
    runners = []
    places: list[str] = []

    async def secret(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text="of that machine alone")

    async def sends_on(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"{places[0]}/meta-data"})

    try:
        for handler in (secret, sends_on):
            app = web.Application()
            app.router.add_get("/{path:.*}", handler)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            runners.append(runner)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            places.append(f"http://{host}:{port}")
        yield places[1], places[0], asked
    finally:
        for runner in runners:
            await runner.cleanup()


@table_test("way", ["named", "sent on"])
async def test_nobody_leads_us_to_another_machine(way: str) -> None:
    async def client() -> discord.Client:
        return discord.Client(intents=discord.Intents.none())

    async with two_servers() as (proxy, other, asked):
        address = f"{other}/meta-data" if way == "named" else f"{proxy}/attachments/1/2/a.png"
        attachment = Attachment("document", f"1/0/2 {address}")

        async def write(piece: bytes) -> None:
            raise AssertionError(piece)

        with pytest.raises(AttachmentLost) as lost:
            await fetch_file(attachment, write, api_base=f"{proxy}/api", client=client)
        assert str(lost.value) == phrases.ATTACHMENT_GONE
        assert asked == []
