"""Health of the connection, what its failures mean, and how long to wait after them."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
from discord import (
    ConnectionClosed,
    GatewayNotFound,
    HTTPException,
    LoginFailure,
    PrivilegedIntentsRequired,
    RateLimited,
)

from adapters.backoff import Backoff, BackoffTimes, add_jitter
from adapters.discord.private_api import LibraryChanged
from adapters.health_reports import LOG_AFTER_FAILURES, HealthReports
from bot.messages import ChannelHealth
from memory.translatable import Translatable, TranslatableError

PORTAL = "discord.com/developers/applications"
UNKNOWN_BOT = Translatable(
    "Discord does not know the bot's token: it is mistyped or was reset; set discord.token to a new "
    "one from {portal} → your application → Bot → Reset Token, and restart",
    portal=PORTAL,
)
INTENT_OFF = Translatable(
    "Discord does not let the bot read messages that do not mention it: turn on Message Content Intent at "
    "{portal} → your application → Bot → Privileged Gateway Intents, and restart",
    portal=PORTAL,
)
OUTDATED = Translatable("Discord rejects requests from this version: upgrade Commonplace")
SHARDS_REQUIRED = Translatable(
    "Discord requires several connections for this bot, because it is in very many servers, but does not say how "
    "many: leave some servers, or ask Discord's support"
)
SESSIONS_USED_UP = Translatable(
    "Discord does not let the bot connect for now, because it has connected too often"
)
CONNECTION_LOST = Translatable("Discord cannot be reached: the connection was lost")
MAX_REFUSAL_SECONDS = 86_400.0
"""Longest wait in seconds that Discord may impose at once; it may then repeat it."""
AUTHENTICATION_FAILED = 4004
SHARD_CODES = (4010, 4011)
VERSION_CODES = (4012, 4013)
INTENTS_CODE = 4014


@dataclass(frozen=True, slots=True)
class ReconnectTimes(BackoffTimes):
    """Durations in seconds."""

    longest: float = 300.0
    answer: float = 8.0
    """For an answer, or the gateway's first message, in the first minute of failures."""
    refused: float = 600.0
    """Between attempts while Discord rejects our token, version or shards."""
    told: float = 15.0
    """Until a lost connection is reported; the library restores most sooner."""
    given_up: float = 180.0
    """Until the library stops restoring a lost connection, and a new one is opened."""
    settled: float = 60.0
    """After this long a connection was good, and the next failure counts as the first."""
    call: float = 60.0
    """For calls before the connection."""
    guilds: float = 2.0
    """After the last guild that Discord reported at the start of a connection."""
    heartbeat: float = 60.0
    """For a heartbeat."""
    identify: float = 5.0
    """Between two session starts, as Discord requires."""


class ConnectionLost(TranslatableError):
    """The connection was lost, and the library did not restore it in time."""

    def __init__(self) -> None:
        super().__init__(CONNECTION_LOST)


class TooManySessions(TranslatableError):
    """Too many new sessions; Discord resets the token of a bot that continues."""

    def __init__(self, seconds: float = 0.0) -> None:
        """`seconds`: until more sessions are allowed; 0 if unknown."""
        super().__init__(SESSIONS_USED_UP)
        self.seconds = seconds


class ConnectionHealth:
    """Tracks the health of the connection."""

    def __init__(
        self,
        report: Callable[[ChannelHealth], None],
        times: ReconnectTimes,
        *,
        token: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: monotonic seconds."""
        self._reports = HealthReports("Discord", report, token=token)
        self._times = times
        self._clock = clock
        self._backoff = Backoff(times, clock=clock)
        self._well_since: float | None = None

    def record_success(self) -> None:
        """Note that the connection works."""
        if self._well_since is None:
            self._well_since = self._clock()
        self._reports.report_up()

    def set_problem(self, detail: str) -> None:
        """Set a problem that leaves the connection working, with its remedy, in one line; "" for none."""
        is_up = self._well_since is not None and not self._reports.down
        if self._reports.set_problem(detail) and is_up:
            self._reports.report_up()

    def record_loss(self) -> None:
        """Note that the connection has been lost for more than a moment."""
        self._reports.report_down(CONNECTION_LOST, is_network=True)

    def record_failure(self, error: BaseException) -> float:
        """Note a failure that needs a new connection; return the seconds to wait before it."""
        if self._well_since is not None and self._clock() - self._well_since >= self._times.settled:
            self._backoff.record_success()
        self._well_since = None
        self._backoff.record_failure()
        wait = self._choose_wait(error)
        if self._backoff.failures >= LOG_AFTER_FAILURES or wait >= self._times.told:
            self._reports.report_down(describe_error(error), is_network=_is_network(error))
        return wait

    @property
    def answer_seconds(self) -> float:
        """Seconds to wait for an answer that everything else depends on."""
        return min(self._times.answer, self._times.call) if self._backoff.is_recent else self._times.call

    def _choose_wait(self, error: BaseException) -> float:
        wait = self._backoff.delay
        if isinstance(error, RateLimited):
            wait = max(wait, min(error.retry_after, MAX_REFUSAL_SECONDS))
        elif isinstance(error, TooManySessions):
            wait = max(wait, min(error.seconds, MAX_REFUSAL_SECONDS))
        elif is_refused(error):
            wait = self._times.refused
        return add_jitter(wait)


def is_wrong_token(error: BaseException) -> bool:
    """Return whether Discord rejected the token."""
    return (
        isinstance(error, LoginFailure)
        or (isinstance(error, HTTPException) and error.status == 401)
        or (isinstance(error, ConnectionClosed) and error.code == AUTHENTICATION_FAILED)
    )


def is_refused(error: BaseException) -> bool:
    """Return whether the error is permanent until something is changed."""
    codes = (*SHARD_CODES, *VERSION_CODES)
    return (
        isinstance(error, LibraryChanged)
        or is_wrong_token(error)
        or (isinstance(error, ConnectionClosed) and error.code in codes)
    )


def is_intent_off(error: BaseException) -> bool:
    """Return whether a requested intent is switched off for this application."""
    return isinstance(error, PrivilegedIntentsRequired) or (
        isinstance(error, ConnectionClosed) and error.code == INTENTS_CODE
    )


def describe_error(error: BaseException) -> str:
    """Describe an error in one line, with its remedy if there is one."""
    if is_wrong_token(error):
        return UNKNOWN_BOT
    if is_intent_off(error):
        return INTENT_OFF
    match error:
        case ConnectionLost() | TooManySessions() | LibraryChanged():
            return error.text
        case ConnectionClosed() if error.code in SHARD_CODES:
            return SHARDS_REQUIRED
        case ConnectionClosed() if error.code in VERSION_CODES:
            return OUTDATED
        case ConnectionClosed():
            return Translatable(
                "Discord cannot be reached: it closed the connection ({code})", code=error.code
            )
        case RateLimited():
            return Translatable(
                "Discord is rate-limiting the bot for {seconds:.0f} s", seconds=error.retry_after
            )
        case HTTPException() if error.status < 500:
            return Translatable("Discord refused a request: {error}", error=_discord_message(error))
        case HTTPException():
            return Translatable("Discord cannot be reached: {error}", error=_discord_message(error))
        case TimeoutError() | asyncio.TimeoutError():
            return Translatable("Discord cannot be reached: it does not answer")
        case GatewayNotFound():
            return Translatable("Discord cannot be reached: it does not say where to connect")
        case aiohttp.ClientResponseError():  # its text holds the URL, which may grant access to a file or command
            return Translatable("Discord cannot be reached: {error}", error=f"{error.status} {error.message}")
        case aiohttp.ClientError() | OSError():
            said = str(error).replace(" ssl:default", "") or type(error).__name__
            return Translatable("Discord cannot be reached: {error}", error=said)
    return Translatable("Discord cannot be reached: {error}", error=type(error).__name__)


def _discord_message(error: HTTPException) -> str:
    """Return Discord's message without a proxy's HTML page."""
    reason = getattr(error.response, "reason", "") or ""
    text = "" if "<" in error.text else error.text.strip()
    return " ".join(filter(None, [str(error.status), text or reason]))


def _is_network(error: BaseException) -> bool:
    return not (is_refused(error) or is_intent_off(error) or isinstance(error, TooManySessions))
