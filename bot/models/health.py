"""Pure: the health of a model with one key, and the rules that open and close its breaker."""

from dataclasses import dataclass, field, replace

from bot.models.errors import (
    BadRequest,
    BrokenToolCall,
    ContentRefused,
    ContextTooLong,
    ModelError,
    TimedOut,
)
from bot.models.protocol import Usage

MAX_RATIO = 4.0
"""Maximum ratio of a provider's token count to our estimate; beyond that the server counts oddly."""
MIN_RATIO = 0.5
"""Minimum ratio; below that the server omits cached tokens or truncated silently."""
OPEN_AFTER = 2
"""Consecutive failed calls that open the breaker."""
FIRST_PAUSE = 30.0
"""Seconds of the first pause; each further one is twice as long."""
MAX_PAUSE = 300.0
WINDOW_SECONDS = 3600.0
"""Seconds for which a window reported by a provider is trusted: the server may restart with a larger one."""
MIN_WRITING_SECONDS = 0.2
"""Minimum seconds of writing for a speed: an answer in one piece says nothing about it."""
WEIGHT = 0.2
"""Weight of the newest call in smoothed figures: about the last ten calls count."""

NOT_MODEL_FAULTS = (BadRequest, BrokenToolCall, ContentRefused, ContextTooLong)
"""Errors that concern the request and not the model's health."""


@dataclass(frozen=True, slots=True)
class RouteName:
    """One way to get an answer: a model with one key."""

    model: str
    """`provider/model`."""
    key: str = ""
    """Fingerprint of the key; "" if there is at most one."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How one call ended for one route, after any number of attempts."""

    route: RouteName
    at: float
    """Seconds since 1970."""
    error: ModelError | None = None
    usage: Usage = field(default_factory=Usage)
    first_token_seconds: float = 0.0
    seconds: float = 0.0
    """From the request to the end of the answer."""
    tokens: int = 0
    """Our estimate of the request's length."""


@dataclass(frozen=True, slots=True)
class Health:
    """Health of one route; all moments are seconds since 1970, 0 for never."""

    route: RouteName
    calls: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    """Total of all calls."""
    success: float = 1.0
    """Success rate, smoothed, 0 to 1."""
    first_token_seconds: float = 0.0
    """Smoothed; 0 if unknown."""
    tokens_per_second: float = 0.0
    """Smoothed; 0 if unknown."""
    last_answer_at: float = 0.0
    last_failure_at: float = 0.0
    last_error_kind: str = ""
    last_error: str = ""
    failed_in_a_row: int = 0
    rest_seconds: float = 0.0
    """Length of the latest pause; 0 after an answer."""
    rests_until: float = 0.0
    window: int = 0
    """Input limit in tokens as the provider last reported it; 0 if it never did."""
    window_at: float = 0.0
    tokens_ratio: float = 1.0
    """Tokens that the provider counts per token that we estimate; smoothed."""

    def is_open(self, now: float) -> bool:
        """Return whether the breaker is open."""
        return now < self.rests_until <= now + MAX_PAUSE  # else the clock was set back

    def known_window(self, now: float) -> int:
        """Return the input limit in tokens if it was reported recently; else 0."""
        return self.window if now - self.window_at < WINDOW_SECONDS else 0

    def is_half_open(self, now: float) -> bool:
        """Return whether the breaker is half open: the pause is over, and no answer has come since."""
        return self.rests_until > 0 and not self.is_open(now)


def after(health: Health, outcome: CallOutcome) -> Health:
    """Return the health after a call has ended."""
    if outcome.error is None:
        return _apply_answer(health, outcome)
    return _apply_failure(health, outcome, outcome.error)


def close_breaker(health: Health) -> Health:
    """Return the health with its breaker closed, as if it had never failed."""
    return replace(
        health,
        failed_in_a_row=0,
        rest_seconds=0.0,
        rests_until=0.0,
        success=1.0,
        window=0,
        tokens_ratio=1.0,
    )


def _apply_answer(health: Health, outcome: CallOutcome) -> Health:
    usage = outcome.usage
    writing = outcome.seconds - outcome.first_token_seconds
    speed = usage.output_tokens / writing if writing >= MIN_WRITING_SECONDS else 0.0
    return replace(
        health,
        calls=health.calls + 1,
        usage=health.usage + usage,
        success=_smooth(health.success, 1.0),
        first_token_seconds=_smooth(health.first_token_seconds, outcome.first_token_seconds),
        tokens_per_second=_smooth(health.tokens_per_second, speed),
        last_answer_at=outcome.at,
        window=0 if usage.input_tokens > health.window else health.window,
        tokens_ratio=_smooth(health.tokens_ratio, _ratio(usage.input_tokens, outcome.tokens)),
        failed_in_a_row=0,
        rest_seconds=0.0,
        rests_until=0.0,
    )


def _apply_failure(health: Health, outcome: CallOutcome, error: ModelError) -> Health:
    failed = replace(
        health,
        calls=health.calls + 1,
        failures=health.failures + 1,
        last_failure_at=outcome.at,
        last_error_kind=error.kind,
        last_error=error.detail,
    )
    if isinstance(error, ContextTooLong) and error.window:
        failed = replace(failed, window=error.window, window_at=outcome.at)
    if isinstance(error, NOT_MODEL_FAULTS):  # it responded, so it is up
        return replace(failed, failed_in_a_row=0, rest_seconds=0.0, rests_until=0.0)
    in_a_row = health.failed_in_a_row + 1
    failed = replace(failed, failed_in_a_row=in_a_row, success=health.success * (1 - WEIGHT))
    rest = _pause_seconds(health, error, in_a_row)
    return replace(failed, rest_seconds=rest, rests_until=outcome.at + rest) if rest else failed


def _pause_seconds(health: Health, error: ModelError, in_a_row: int) -> float:
    """Return the seconds to pause now; 0 for not yet."""
    if error.retry_after:
        return min(error.retry_after, MAX_PAUSE)
    # A timeout opens the breaker at once, so that the next message does not wait for it too.
    if in_a_row >= OPEN_AFTER or health.rests_until or isinstance(error, TimedOut):
        return min(max(FIRST_PAUSE, 2 * health.rest_seconds), MAX_PAUSE)
    return 0.0


def _ratio(counted: int, estimated: int) -> float:
    """Return the provider's token count per token of our estimate; 0 if it gave none."""
    ratio = counted / max(1, estimated)
    return min(max(ratio, MIN_RATIO), MAX_RATIO) if ratio else 0.0


def _smooth(before: float, value: float) -> float:
    if value <= 0:
        return before
    return before + WEIGHT * (value - before) if before else value
