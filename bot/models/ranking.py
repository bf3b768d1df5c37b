"""Pure: in which order models are tried."""

from collections.abc import Sequence
from math import inf

from bot.models.health import Health

ANSWER_TOKENS = 200
"""Length of the answer for which speeds are compared."""
CLEARLY_FASTER = 0.75
"""A model goes ahead of another only where it takes less than this part of its time: no flapping."""
MIN_CALLS = 3
"""Before that a model's figures are chance; it keeps its place."""
IDLE_SECONDS = 900.0
"""A model that nobody has asked for so long, or ever, is asked once, to see how it does now."""


def expected_seconds(health: Health) -> float:
    """How long an answer takes, failures counted in; 0 while too little is known."""
    if health.calls < MIN_CALLS:
        return 0.0
    if not health.last_answer_at:
        return inf
    if not health.first_token_seconds:
        return 0.0
    writing = ANSWER_TOKENS / health.tokens_per_second if health.tokens_per_second else 0.0
    return (health.first_token_seconds + writing) / max(health.success, 0.05)


def rank_by_health(chain: Sequence[Health], *, asked_at: Sequence[float], now: float) -> list[int]:
    """Places in the chain, the best first. `chain`: one health for each model, in the order of the settings.

    `asked_at`: when each was asked last, be it that no answer has come yet.

    A model overtakes the one before it only where it is clearly better. The first model that has been idle for
    long goes to the front for one call.
    """
    order: list[int] = []
    for place, health in enumerate(chain):
        seconds = expected_seconds(health)
        at = len(order)
        while at and seconds:
            ahead = expected_seconds(chain[order[at - 1]])
            if not ahead or seconds >= ahead * CLEARLY_FASTER:
                break
            at -= 1
        order.insert(at, place)
    for rank, place in enumerate(order):
        if rank and now - asked_at[place] > IDLE_SECONDS:
            return [place, *order[:rank], *order[rank + 1 :]]
    return order
