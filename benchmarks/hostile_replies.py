"""Ways to stop the service by what a model answers: replies that are costly to render, also while they grow."""

import asyncio
import sys
from collections.abc import Iterator

from under_attack import Scenario, Target
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.adapters.text.shapes import SHAPES

READERS = range(100, 120)
"""Who ask for them, each in a chat of their own."""
LONGEST = 100_000
"""Characters of a reply; models stop far below."""
REPLIES = tuple(reply for shape in SHAPES.values() if "\ud800" not in (reply := shape(LONGEST)))
TABLES: dict[str, dict[str, object]] = {
    "access": {"owners": ["telegram:7"], "allow": [f"telegram:{number}" for number in READERS]},
    "limits": {"messages_per_minute": 1000},
}


async def read_all(target: Target) -> None:
    """Ask for one reply after the other; give each a moment to be rendered and sent."""
    readers = [target.api.person(number, f"Reader {number}") for number in READERS]
    for number in range(len(REPLIES)):
        await readers[number % len(readers)].say(f"Go on, {number}")
        await target.api.confirmed(within=60)
        await asyncio.sleep(target.seconds / len(REPLIES))
    await asyncio.sleep(target.seconds)


def scenarios() -> Iterator[Scenario]:
    """Return all of them."""
    yield Scenario(f"{len(REPLIES)} hostile replies", read_all, TABLES, replies=REPLIES)
