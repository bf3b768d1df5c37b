"""Pure: how a model fares with one of its keys, what changes that, and when it is left to rest: its breaker."""

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
"""Of a provider's count of tokens to our estimate: more is a server's odd way to count."""
MIN_RATIO = 0.5
"""Less is a server that leaves out what it had cached, or what it has cut off in silence."""
OPEN_AFTER = 2
"""Calls that failed in a row before a model is left to rest."""
FIRST_PAUSE = 30.0
"""Seconds of the first rest; each further one is twice as long."""
MAX_PAUSE = 300.0
WINDOW_SECONDS = 3600.0
"""How long a provider's word on the window counts: a server may have been started anew with a larger one."""
MIN_WRITING_SECONDS = 0.2
"""Seconds: an answer that came in one piece says nothing of speed."""
WEIGHT = 0.2
"""Of the newest call in what is smoothed: about the last ten calls count."""

NOT_ITS_FAULT = (BadRequest, BrokenToolCall, ContentRefused, ContextTooLong)
"""What says something of the request, and nothing of how the model fares."""


@dataclass(frozen=True, slots=True)
class RouteName:
    """One way to be answered: a model with one key."""

    model: str
    """`provider/model`."""
    key: str = ""
    """Which key, by a fingerprint that tells nothing of it; "" where there is one at most."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How one call ended for one route, however often it was tried in it."""

    route: RouteName
    at: float
    """Seconds since 1970."""
    error: ModelError | None = None
    usage: Usage = field(default_factory=Usage)
    first_token_seconds: float = 0.0
    seconds: float = 0.0
    """From the asking to the end of the answer."""
    tokens: int = 0
    """What we took the request's length to be."""


@dataclass(frozen=True, slots=True)
class Health:
    """What is known of one route; all moments are seconds since 1970, 0 for never."""

    route: RouteName
    calls: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    """Of all calls together."""
    success: float = 1.0
    """Smoothed, 0 to 1."""
    first_token_seconds: float = 0.0
    """Smoothed; 0 while nothing is known."""
    tokens_per_second: float = 0.0
    """Smoothed; 0 while nothing is known."""
    last_answer_at: float = 0.0
    last_failure_at: float = 0.0
    last_error_kind: str = ""
    last_error: str = ""
    failed_in_a_row: int = 0
    rest_seconds: float = 0.0
    """How long the latest rest was; 0 after an answer."""
    rests_until: float = 0.0
    window: int = 0
    """Tokens that it takes in, by the provider's latest word; 0 where it has given none."""
    window_at: float = 0.0
    tokens_ratio: float = 1.0
    """Tokens that the provider counts for each that we estimate; smoothed."""

    def is_open(self, now: float) -> bool:
        """Whether its breaker is open."""
        return now < self.rests_until <= now + MAX_PAUSE  # else the clock was set back

    def known_window(self, now: float) -> int:
        """Tokens that it takes in, where that was heard lately; else 0."""
        return self.window if now - self.window_at < WINDOW_SECONDS else 0

    def is_half_open(self, now: float) -> bool:
        """Whether its breaker is half open: the rest is over, and no answer has come since."""
        return self.rests_until > 0 and not self.is_open(now)


def after(health: Health, outcome: CallOutcome) -> Health:
    """What is known once a call has ended."""
    if outcome.error is None:
        return _apply_answer(health, outcome)
    return _apply_failure(health, outcome, outcome.error)


def close_breaker(health: Health) -> Health:
    """The same with its breaker closed, as if it had never failed."""
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
    if isinstance(error, NOT_ITS_FAULT):  # it was there to say so
        return replace(failed, failed_in_a_row=0, rest_seconds=0.0, rests_until=0.0)
    in_a_row = health.failed_in_a_row + 1
    failed = replace(failed, failed_in_a_row=in_a_row, success=health.success * (1 - WEIGHT))
    rest = _pause_seconds(health, error, in_a_row)
    return replace(failed, rest_seconds=rest, rests_until=outcome.at + rest) if rest else failed


def _pause_seconds(health: Health, error: ModelError, in_a_row: int) -> float:
    """Seconds that it is to rest now; 0 for not yet."""
    if error.retry_after:
        return min(error.retry_after, MAX_PAUSE)
    # Who waits for nothing once shall not wait for it again with the next message.
    if in_a_row >= OPEN_AFTER or health.rests_until or isinstance(error, TimedOut):
        return min(max(FIRST_PAUSE, 2 * health.rest_seconds), MAX_PAUSE)
    return 0.0


def _ratio(counted: int, estimated: int) -> float:
    """Tokens by the provider to tokens by us; 0 where it gave none."""
    ratio = counted / max(1, estimated)
    return min(max(ratio, MIN_RATIO), MAX_RATIO) if ratio else 0.0


def _smooth(before: float, value: float) -> float:
    if value <= 0:
        return before
    return before + WEIGHT * (value - before) if before else value
