"""Health of receiving, what its failures mean, and how long to wait after them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from telegram.error import Conflict, EndPointNotFound, InvalidToken, NetworkError, RetryAfter, TelegramError

from adapters.backoff import Backoff, BackoffTimes, add_jitter
from adapters.health_reports import LOG_AFTER_FAILURES, HealthReports
from bot.messages import ChannelHealth, bounded_wait
from memory.translatable import Translatable

UNKNOWN_BOT = Translatable(
    "Telegram does not know the bot's token: it is mistyped or was revoked; set telegram.token to the one "
    "that @BotFather shows, and restart"
)
OTHER_PROGRAM = Translatable(
    "another program is using this bot's token, so messages may go there: stop it, or use another bot's token here "
    "(telegram.token)"
)
OTHER_WEBHOOK = Translatable(
    "another program has set a webhook for this bot, so messages may go there: stop it, or use another bot's token "
    "here (telegram.token)"
)
FAST_RETRIES = 4
"""Consecutive conflicts that are probably with an older process of ours about to end."""
_PAGE = ". Parsing the server response"
"""Text that the library puts before a proxy's HTML page."""


@dataclass(frozen=True, slots=True)
class ReconnectTimes(BackoffTimes):
    """Durations in seconds."""

    answer: float = 8.0
    """For the first byte of an answer, in the first minute of failures."""
    conflict: float = 180.0
    """Between attempts while another program keeps using the token."""
    token: float = 600.0
    """Between attempts while the token is rejected."""


class AnswerInvalid(TelegramError):
    """The library crashed on Telegram's answer; the text names the error."""


class AddressRefused(TelegramError):
    """Telegram rejects the webhook address."""


class ConnectionHealth:
    """Tracks the health of receiving."""

    def __init__(
        self,
        report: Callable[[ChannelHealth], None],
        times: ReconnectTimes,
        *,
        token: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: monotonic seconds."""
        self._reports = HealthReports("Telegram", report, token=token)
        self._times = times
        self._clock = clock
        self._backoff = Backoff(times, clock=clock)
        self._conflicts = 0
        self._contested_until = 0.0

    def record_success(self, problem: str = "") -> None:
        """Note a success; `problem`: a remaining one with its remedy in one line."""
        self._backoff.record_success()
        if self._reports.down and self._clock() < self._contested_until:
            # Two programs with one token take turns: a conflict follows each success.
            self._reports.report_contested()
            return
        self._conflicts = 0
        self._reports.set_problem(problem)
        self._reports.report_up()

    def record_failure(self, error: Exception) -> float:
        """Note a failure; return the seconds to wait before the next attempt."""
        self._backoff.record_failure()
        is_conflict = isinstance(error, Conflict)
        self._conflicts += is_conflict
        if is_conflict:
            self._contested_until = self._clock() + 2 * self._times.conflict
        if max(self._backoff.failures, self._conflicts) >= LOG_AFTER_FAILURES or is_wrong_token(error):
            self._reports.report_down(describe_error(error), is_network=_is_network(error))
        return self._choose_wait(error)

    def answer_seconds(self, grace: float) -> float:
        """Return how many of `grace` seconds to wait for the first byte of an answer that is due at once."""
        return min(grace, self._times.answer) if self._backoff.is_recent else grace

    def _choose_wait(self, error: Exception) -> float:
        if isinstance(error, RetryAfter):
            return max(retry_after_seconds(error), self._times.first)
        if is_wrong_token(error):
            wait = self._times.token
        elif not isinstance(error, Conflict):
            wait = self._backoff.delay
        elif self._conflicts > FAST_RETRIES:
            wait = self._times.conflict
        else:
            wait = min(self._times.first * 2.0 ** min(self._backoff.failures - 1, 30), self._times.longest)
        return add_jitter(wait)


def _is_network(error: Exception) -> bool:
    return isinstance(error, NetworkError | TimeoutError | RetryAfter)


@contextmanager
def translate_library_errors() -> Iterator[None]:
    """Raise TelegramError for answers that crash the library, such as a proxy's own JSON."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise AnswerInvalid(type(error).__name__) from error


def retry_after_seconds(error: RetryAfter) -> float:
    """Return the seconds of a rate limit, at most an hour; Telegram may repeat it."""
    try:
        seconds = error.retry_after
        return bounded_wait(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    except (TypeError, AttributeError):  # the library does not check the number's type
        return 0.0


def is_wrong_token(error: BaseException) -> bool:
    """Return whether Telegram rejected the token: 401, or 404 for an impossible one; not a proxy's 404."""
    if not isinstance(error, InvalidToken | EndPointNotFound):
        return False
    original = error.__cause__ if isinstance(error.__cause__, InvalidToken) else error
    return _PAGE not in str(original)


def describe_error(error: BaseException) -> str:
    """Describe an error in one line, with its remedy if there is one."""
    if is_wrong_token(error):
        return UNKNOWN_BOT
    match error:
        case Conflict():
            return OTHER_WEBHOOK if "webhook" in str(error).lower() else OTHER_PROGRAM
        case RetryAfter():
            return Translatable(
                "Telegram is rate-limiting the bot for {seconds:.0f} s", seconds=retry_after_seconds(error)
            )
        case AddressRefused():
            return Translatable("Telegram rejects telegram.webhook_url: {error}", error=error)
        case AnswerInvalid():
            return Translatable("Telegram cannot be reached: its answer is invalid ({error})", error=error)
        case TelegramError():
            said = str(error).partition(_PAGE)[0]
            return Translatable("Telegram cannot be reached: {error}", error=said)
        case TimeoutError():
            return Translatable("Telegram cannot be reached: it does not answer")
    return str(error)
