"""How receiving fares: told once when it begins to fail, once when it is well again; how long to wait meanwhile."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from telegram.error import Conflict, EndPointNotFound, InvalidToken, NetworkError, RetryAfter, TelegramError

from adapters.backoff import Backoff, BackoffTimes, add_jitter
from bot.messages import ChannelHealth, bounded_wait
from bot.sanitize import one_line
from memory.redaction import remove_secrets

log = logging.getLogger(__name__)

UNKNOWN_BOT = (
    "Telegram does not know the bot's token: it is mistyped or was revoked; put the one that @BotFather shows "
    "into telegram.token and start again"
)
OTHER_PROGRAM = (
    "another program receives with this bot's token, so that messages may go there: stop it, or give this one "
    "another token (telegram.token)"
)
OTHER_WEBHOOK = (
    "another program has set a webhook for this bot's token, so that messages may go there: stop it, or give this "
    "one another token (telegram.token)"
)
LOG_AFTER_FAILURES = 2
"""Failures in a row: a single one is everyday life, and mends itself within a second."""
FAST_RETRIES = 4
"""Conflicts in a row that may well be with an older process of ours, which is about to end."""
_PAGE = ". Parsing the server response"
"""What the library puts before the page of a proxy, which says nothing to anybody."""


@dataclass(frozen=True, slots=True)
class ReconnectTimes:
    """Seconds."""

    first: float = 1.0
    """After a first failure; each further one in a row doubles it."""
    short: float = 4.0
    """The longest in the first minute of failures: who writes then is not to wait long."""
    longest: float = 60.0
    answer: float = 8.0
    """For the first byte of an answer, in the first minute of failures."""
    conflict: float = 180.0
    """Between tries where another program has the token and does not go away."""
    token: float = 600.0
    """Between tries where the token is not known."""


class AddressRefused(TelegramError):
    """Telegram does not take the address at which it is to bring its updates."""


class ConnectionHealth:
    """What is told of how receiving fares, to whoever asks and in the log."""

    def __init__(
        self,
        report: Callable[[ChannelHealth], None],
        waits: ReconnectTimes,
        *,
        token: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: seconds that only grow."""
        self._report = report
        self._waits = waits
        self._token = token
        self._clock = clock
        self._backoff = Backoff(BackoffTimes(waits.first, waits.short, waits.longest), clock=clock)
        self._conflicts = 0
        self._down = ""
        self._hampered = ""
        self._contested_until = 0.0

    def record_success(self, hampered: str = "") -> None:
        """Note that Telegram can be heard; `hampered`: what is wrong all the same, in one line with the mend."""
        self._backoff.record_success()
        if self._down and self._clock() < self._contested_until:
            # Two programs with one token have their turns: each good answer is followed by another conflict.
            self._report(ChannelHealth("up", self._down))
            return
        hampered = self._remove_token(hampered)
        if hampered and hampered != self._hampered:
            log.warning("%s", _log_line(hampered))
        elif not hampered and (self._down or self._hampered):
            log.info("Telegram: well again")
        self._conflicts, self._down, self._hampered = 0, "", hampered
        self._report(ChannelHealth("up", hampered))

    def record_failure(self, error: Exception) -> float:
        """Note a failure; tell how many seconds to wait before the next try."""
        self._backoff.record_failure()
        is_conflict = isinstance(error, Conflict)
        self._conflicts += is_conflict
        if is_conflict:
            self._contested_until = self._clock() + 2 * self._waits.conflict
        detail = self._remove_token(describe_error(error))
        if max(self._backoff.failures, self._conflicts) >= LOG_AFTER_FAILURES or is_wrong_token(error):
            # Another reason is told where it has another mend, not where a network fails in ever new ways.
            if not self._down or (detail != self._down and not _is_network(error)):
                log.warning("%s", _log_line(detail))
            self._down = detail
            self._report(ChannelHealth("down", detail))
        return self._choose_wait(error)

    def _remove_token(self, detail: str) -> str:
        return one_line(remove_secrets(detail, [self._token]))

    def answer_seconds(self, grace: float) -> float:
        """How many of `grace` seconds to wait for the first byte of an answer that is due at once."""
        return min(grace, self._waits.answer) if self._backoff.is_recent else grace

    def _choose_wait(self, error: Exception) -> float:
        if isinstance(error, RetryAfter):
            return max(retry_after_seconds(error), self._waits.first)
        if is_wrong_token(error):
            wait = self._waits.token
        elif not isinstance(error, Conflict):
            wait = self._backoff.delay
        elif self._conflicts > FAST_RETRIES:
            wait = self._waits.conflict
        else:
            wait = min(self._waits.first * 2.0 ** min(self._backoff.failures - 1, 30), self._waits.longest)
        return add_jitter(wait)


def _log_line(detail: str) -> str:
    """In the log, where other channels tell of themselves too."""
    return detail if detail.startswith("Telegram") else f"Telegram: {detail}"


def _is_network(error: Exception) -> bool:
    return isinstance(error, NetworkError | TimeoutError | RetryAfter)


@contextmanager
def translate_library_errors() -> Iterator[None]:
    """Have an answer that the library stumbles over, such as a proxy's own JSON, raise TelegramError as others do."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise TelegramError(f"its answer makes no sense ({type(error).__name__})") from error


def retry_after_seconds(error: RetryAfter) -> float:
    """Seconds for which Telegram wants to be left alone; an hour at most, after which it may say so again."""
    try:
        seconds = error.retry_after
        return bounded_wait(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    except (TypeError, AttributeError):  # the library has not looked at what was sent in a number's place
        return 0.0


def is_wrong_token(error: BaseException) -> bool:
    """Whether Telegram refused the token: 401, or 404 for one that cannot be any; not a proxy's own 404."""
    if not isinstance(error, InvalidToken | EndPointNotFound):
        return False
    original = error.__cause__ if isinstance(error.__cause__, InvalidToken) else error
    return _PAGE not in str(original)


def describe_error(error: BaseException) -> str:
    """A failure in one line, with the mend where there is one."""
    if is_wrong_token(error):
        return UNKNOWN_BOT
    match error:
        case Conflict():
            return OTHER_WEBHOOK if "webhook" in str(error).lower() else OTHER_PROGRAM
        case RetryAfter():
            return f"Telegram wants to be left alone for {retry_after_seconds(error):.0f} s"
        case AddressRefused():
            return f"Telegram does not take telegram.webhook_url: {error}"
        case TelegramError():
            said = str(error).partition(_PAGE)[0]
            return f"Telegram cannot be reached: {said}"
        case TimeoutError():
            return "Telegram cannot be reached: it does not answer"
    return str(error)
