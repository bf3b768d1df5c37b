"""Status of the configured models, for people and programs."""

from dataclasses import dataclass
from typing import Literal

from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate, Route
from bot.models.routing import Routing

BreakerState = Literal["ready", "resting", "on probation"]


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One model with one of its keys; moments are seconds since 1970, 0 for never."""

    model: str
    key: int
    """Index of the provider's key, from 1; 0 if there is at most one."""
    in_chain: bool
    """False for a model that only `on_error` or `/model` selects."""
    state: BreakerState
    paused_until: float
    calls: int
    failures: int
    success: float
    """0 to 1, over about the last ten calls."""
    first_token_seconds: float
    tokens_per_second: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    last_answer_at: float
    last_failure_at: float
    last_error_kind: str
    last_error: str
    window: int
    """Input limit in tokens; 0 if unknown."""


def models_status(plan: Routing, health: Breakers) -> list[ModelStatus]:
    """Return one entry for each model and key, in configured order."""
    return [
        _status(candidate, route, number if len(candidate.routes) > 1 else 0, plan, health)
        for candidate in plan.candidates.values()
        for number, route in enumerate(candidate.routes, 1)
    ]


def failing_models(plan: Routing, health: Breakers, *, prefer: str = "") -> dict[str, str]:
    """Return each model's latest kind of error if every language model failed its latest call; else empty.

    `prefer`: the model chosen for the chat.
    """
    chosen = [plan.candidates[prefer]] if prefer in plan.candidates else []
    asked = [*chosen, *(each for each in plan.chain if each not in chosen)]
    if not plan.fallback:
        del asked[1:]
    kinds: dict[str, str] = {}
    for candidate in (each for each in asked if not each.last_resort):
        known = [health.of(route.name) for route in candidate.routes]
        if not all(each.failed_in_a_row for each in known):
            return {}
        kinds[candidate.name] = max(known, key=lambda each: each.last_failure_at).last_error_kind
    return kinds


def _status(
    candidate: ModelCandidate, route: Route, number: int, plan: Routing, health: Breakers
) -> ModelStatus:
    known, now = health.of(route.name), health.now()
    state: BreakerState = (
        "resting" if known.is_open(now) else "on probation" if known.is_half_open(now) else "ready"
    )
    return ModelStatus(
        model=candidate.name,
        key=number,
        in_chain=candidate in plan.chain,
        state=state,
        paused_until=known.rests_until if state == "resting" else 0.0,
        calls=known.calls,
        failures=known.failures,
        success=known.success,
        first_token_seconds=known.first_token_seconds,
        tokens_per_second=known.tokens_per_second,
        input_tokens=known.usage.input_tokens,
        output_tokens=known.usage.output_tokens,
        cached_tokens=known.usage.cached_tokens,
        last_answer_at=known.last_answer_at,
        last_failure_at=known.last_failure_at,
        last_error_kind=known.last_error_kind,
        last_error=known.last_error,
        window=(0 if candidate.window_is_set else known.known_window(now)) or candidate.window or 0,
    )
