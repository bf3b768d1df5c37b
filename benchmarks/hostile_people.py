"""Attacks on the service by sending messages."""

import asyncio
from collections.abc import Iterator

from under_attack import AttackTarget, Scenario

STRANGERS = 1000
MESSAGES_EACH = 5


async def send_from_strangers(target: AttackTarget) -> None:
    """Have 1,000 strangers write 5 messages each, all at once, and wait until all are accepted."""
    people = [target.api.person(10_000 + number, f"Stranger {number}") for number in range(STRANGERS)]
    for number in range(MESSAGES_EACH):
        for person in people:
            await person.say(f"Let me in, {number} " + "please " * 50)
        await asyncio.sleep(0)
    await target.api.wait_until_confirmed(within=300)


def scenarios() -> Iterator[Scenario]:
    """Yield all scenarios."""
    yield Scenario("5,000 messages of strangers", send_from_strangers)
