"""Pure: decide what to do after a failure: same model again, another of its keys, or the next model."""

from dataclasses import dataclass
from enum import Enum

from bot.models.errors import (
    BadKey,
    CutOff,
    EmptyAnswer,
    ModelError,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)

LONG_WAIT = 10.0
"""Maximum seconds to wait, on a provider's request, while another model is ready."""
MAX_WAIT = 60.0
"""Maximum seconds to wait for an answer, even if nothing else is left."""
MAX_DELAY = 30.0
"""Maximum seconds between retries if the provider named no delay."""


class NextStep(Enum):
    """What to try after a failure."""

    SAME_KEY = "again, after the wait"
    ANY_KEY = "again, with whatever key is ready first; this one after the wait"
    OTHER_KEY = "with another key; this one is no use in this call"
    OTHER_MODEL = "to the next model"


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """The next step, and the seconds after which this key may be asked again."""

    next_step: NextStep
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one model is retried; from the settings."""

    max_retries: int = 2
    retry_delay: float = 1.0

    def decide(
        self, error: ModelError, *, tries: int, shown: bool, another_ready: bool, chance: float
    ) -> RetryDecision:
        """Decide what to do after `error`.

        `tries`: how often this key has been asked in this call. `shown`: whether part of the answer was on
        screen. `another_ready`: whether another model is likely to answer. `chance`: 0 to 1, for the jitter.
        """
        again = tries <= self.max_retries
        match error:
            case BadKey() | OutOfCredit():
                return RetryDecision(NextStep.OTHER_KEY)
            case TimedOut():
                # It may be as slow again, so retry only if there is nothing else to wait for.
                once = again and tries == 1 and not another_ready
                return RetryDecision(NextStep.SAME_KEY) if once else RetryDecision(NextStep.OTHER_MODEL)
            case CutOff() | EmptyAnswer():
                once = again and tries == 1 and not (shown and another_ready)
                return RetryDecision(NextStep.SAME_KEY) if once else RetryDecision(NextStep.OTHER_MODEL)
            case RateLimited():
                if not again or _asks_to_wait_too_long(error, another_ready=another_ready):
                    return RetryDecision(NextStep.OTHER_KEY)
                return RetryDecision(NextStep.ANY_KEY, self._wait(error, tries, chance))
            case Overloaded() | ServerFailed() | Unreachable():
                if not again or _asks_to_wait_too_long(error, another_ready=another_ready):
                    return RetryDecision(NextStep.OTHER_MODEL)
                return RetryDecision(NextStep.SAME_KEY, self._wait(error, tries, chance))
        return RetryDecision(NextStep.OTHER_MODEL)

    def _wait(self, error: ModelError, tries: int, chance: float) -> float:
        """Return the seconds to wait: the provider's delay, else doubling each time; jitter only lengthens it."""
        if error.retry_after:  # 0, or a date in the past, says nothing
            return error.retry_after + 0.1 * chance
        delay = max(self.retry_delay, min(self.retry_delay * 2.0 ** (tries - 1), MAX_DELAY))
        return delay * (1 + 0.25 * chance)


def _asks_to_wait_too_long(error: ModelError, *, another_ready: bool) -> bool:
    """Return whether a provider asks for a longer pause than we accept; our own delays are the owner's choice."""
    return (error.retry_after or 0.0) > (LONG_WAIT if another_ready else MAX_WAIT)
