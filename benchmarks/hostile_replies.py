"""Attacks on the service through a model's replies: costly to render, also while they stream."""

import asyncio
import sys
from collections.abc import Iterator

from under_attack import AttackTarget, Scenario, Tables
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.adapters.markdown.shapes import SHAPES
from tests.fakes.discord_api.server import DiscordApi

READERS = range(100, 120)
"""Ids of the people who ask for them, each in a chat of their own."""
LONGEST = 100_000
"""Characters of a reply; models stop far below."""
REPLIES = tuple(reply for shape in SHAPES.values() if "\ud800" not in (reply := shape(LONGEST)))
TABLES: dict[str, dict[str, object]] = {
    "access": {"owners": ["telegram:7"], "allow": [f"telegram:{number}" for number in READERS]},
    "limits": {"messages_per_minute": 1000},
}


async def read_on_telegram(target: AttackTarget) -> None:
    """Ask for one reply after the other, with time to render and send each."""
    readers = [target.api.person(number, f"Reader {number}") for number in READERS]
    for number in range(len(REPLIES)):
        await readers[number % len(readers)].say(f"Go on, {number}")
        await target.api.wait_until_confirmed(within=60)
        await asyncio.sleep(target.seconds / len(REPLIES))
    await asyncio.sleep(target.seconds)


def people_on_discord(discord: DiscordApi) -> Tables:
    """Create the readers and give them access."""
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
    """Yield all scenarios."""
    count = len(REPLIES)
    yield Scenario(f"{count} replies on Telegram", read_on_telegram, TABLES, replies=REPLIES)
    yield Scenario(f"{count} replies on Discord", read_on_discord, people=people_on_discord, replies=REPLIES)
