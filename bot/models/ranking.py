"""Pure: rank models by their health."""

from collections.abc import Sequence
from math import inf

from bot.models.health import Health

ANSWER_TOKENS = 200
"""Length in tokens of the answer for which speeds are compared."""
CLEARLY_FASTER = 0.75
"""A model overtakes another only if it takes less than this share of its time, to avoid flapping."""
MIN_CALLS = 3
"""Minimum calls before a model's figures count; until then it keeps its place."""
IDLE_SECONDS = 900.0
"""Seconds without a call after which a model is asked once to measure it."""


def expected_seconds(health: Health) -> float:
    """Return the expected seconds of an answer, failures included; 0 while too little is known."""
    if health.calls < MIN_CALLS:
        return 0.0
    if not health.last_answer_at:
        return inf
    if not health.first_token_seconds:
        return 0.0
    writing = ANSWER_TOKENS / health.tokens_per_second if health.tokens_per_second else 0.0
    return (health.first_token_seconds + writing) / max(health.success, 0.05)


def rank_by_health(chain: Sequence[Health], *, asked_at: Sequence[float], now: float) -> list[int]:
    """Return indices into the chain, the best first. `chain` holds one health per model, in configured order.

    `asked_at`: when each was last asked, even if no answer has come yet.

    A model overtakes the one before it only if it is clearly better. The first model that has been idle too
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
