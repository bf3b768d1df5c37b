"""Ways to stop the service by what a model answers: replies that are costly to render, also while they grow."""

import asyncio
import sys
from collections.abc import Iterator

from under_attack import AttackTarget, Scenario, Tables
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.adapters.markdown.shapes import SHAPES
from tests.fakes.discord_api.server import DiscordApi

READERS = range(100, 120)
"""Who ask for them, each in a chat of their own."""
LONGEST = 100_000
"""Characters of a reply; models stop far below."""
REPLIES = tuple(reply for shape in SHAPES.values() if "\ud800" not in (reply := shape(LONGEST)))
TABLES: dict[str, dict[str, object]] = {
    "access": {"owners": ["telegram:7"], "allow": [f"telegram:{number}" for number in READERS]},
    "limits": {"messages_per_minute": 1000},
}


async def read_on_telegram(target: AttackTarget) -> None:
    """Ask for one reply after the other; give each a moment to be rendered and sent."""
    readers = [target.api.person(number, f"Reader {number}") for number in READERS]
    for number in range(len(REPLIES)):
        await readers[number % len(readers)].say(f"Go on, {number}")
        await target.api.wait_until_confirmed(within=60)
        await asyncio.sleep(target.seconds / len(REPLIES))
    await asyncio.sleep(target.seconds)


def people_on_discord(discord: DiscordApi) -> Tables:
    """Make the readers, and let them in."""
    readers = [discord.person(f"reader{number}") for number in READERS]
    allow = [f"discord:{reader.id}" for reader in readers]
    return {**TABLES, "access": {"owners": ["telegram:7"], "allow": allow}}


async def read_on_discord(target: AttackTarget) -> None:
    """Do the same in direct messages on Discord."""
    for number in range(len(REPLIES)):
        await target.discord.person(f"reader{READERS[number % len(READERS)]}").say(f"Go on, {number}")
        await asyncio.sleep(target.seconds / len(REPLIES))
    await asyncio.sleep(target.seconds)


def scenarios() -> Iterator[Scenario]:
    """Return all of them."""
    count = len(REPLIES)
    yield Scenario(f"{count} replies on Telegram", read_on_telegram, TABLES, replies=REPLIES)
    yield Scenario(f"{count} replies on Discord", read_on_discord, people=people_on_discord, replies=REPLIES)
