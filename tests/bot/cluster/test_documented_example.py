"""The example in docs/operations.md of two hosts that share a workspace: what it shows is what happens."""

import asyncio
import json
import re
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.bot.cluster.several_services import House
from tests.fakes.bot_api.server import BotApi

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


def section() -> str:
    page = PAGE.read_text("utf-8")
    return page[page.index("## Several instances\n") : page.index("## JSON-RPC\n")]


def shown(command: str) -> list[str]:
    """The lines below a command of the example, with white space as it may be."""
    found = re.search(
        rf"^attic\$ {re.escape(command)}\n(.*?)\n(?:\n|```)", section(), re.MULTILINE | re.DOTALL
    )
    assert found, command
    return [as_in_the_page(line) for line in found[1].splitlines()]


def as_in_the_page(line: str) -> str:
    line = re.sub(r"\d\d:\d\d:\d\d", "10:15:02", line)
    line = re.sub(r"since (?:\d{4}-\d\d-\d\d )?\d\d:\d\d", "since 10:15", line)
    line = re.sub(r"\([0-9a-f]{4}\)", "(3fa8)", line)
    return " ".join(re.sub(r"Workspace [0-9a-f]{4}", "Workspace 91bc", line).split())


def metrics(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return str(answer.read(), "utf-8")


@pytest.mark.thorough
async def test_what_the_example_shows_is_what_happens(api: BotApi, house: House) -> None:
    assert api.token
    cellar = house.service("cellar")
    attic = house.service("attic", workspace=cellar)
    cellar.start()
    await cellar.is_in("telegram", "up")
    attic.start()
    await attic.is_standby()
    (health,) = shown("curl --silent http://127.0.0.1:8321/healthz")
    assert await attic.health() == json.loads(health)
    doctor = await asyncio.to_thread(attic._commonplace, "doctor", "--config", "config.toml")
    told = [as_in_the_page(line) for line in doctor.stdout.splitlines() if "lease" in line]
    assert told == shown("commonplace doctor | grep lease")
    numbers = await asyncio.to_thread(metrics, attic.port)
    assert 'commonplace_instance_role{state="standby"} 1.0' in numbers
    assert "commonplace_lease_held{" in numbers
    chat = await asyncio.to_thread(cellar._commonplace, "chat", "-m", "/status", "--config", "config.toml")
    assert "Telegram (3fa8): cellar, since 10:15" in map(as_in_the_page, chat.stdout.splitlines()), chat
    cellar.kill()
    await attic.is_in("telegram", "up", within=20)
    (line,) = re.findall(r"`(cellar stopped renewing[^`]*)`", section())
    assert line in attic.log
