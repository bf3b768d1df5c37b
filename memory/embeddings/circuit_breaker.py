"""A circuit breaker for one provider: it opens after a failure, then lets one request try again."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from datetime import datetime, timedelta

from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingTimedOut,
    EmbeddingUnreachable,
    LimitReached,
    ServiceFailed,
)

log = logging.getLogger(__name__)

TRANSIENT_ERRORS = (LimitReached, ServiceFailed, EmbeddingTimedOut, EmbeddingUnreachable)
"""Errors that may pass by themselves; the others need somebody to fix something."""

FIRST_PAUSE = 1.0
MAX_PAUSE_SECONDS = 300.0
MAX_RETRY_AFTER_SECONDS = 3600.0
JITTER = 0.25
MAX_WAITED_FAILURES = 6
"""Failures in a row after which callers no longer wait; later callers make one try."""
MAX_WAIT_SECONDS = 120.0


class CircuitBreaker:
    """The state of one provider, shared by all its callers.

    Times are seconds of `clock`, and `sleep` waits for them; `jitter` returns 0 to 1 and only lengthens a
    pause.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        now: Callable[[], datetime],
        jitter: Callable[[], float],
        max_seconds: float = math.inf,
    ) -> None:
        """Start closed. No caller waits longer than `max_seconds`, if somebody else can be asked."""
        self._name = name
        self._max_seconds = max_seconds
        self._clock = clock
        self._sleep = sleep
        self._now = now
        self._jitter = jitter
        self._failures = 0
        self._error: EmbeddingError | None = None
        self._since: datetime | None = None
        self._next_try = 0.0
        self._failing_from = 0.0
        self._last_took = 0.0
        self._turn = 0
        self._probe: asyncio.Future[None] | None = None

    @property
    def error(self) -> EmbeddingError | None:
        """The last failure; None after a success."""
        return self._error

    @property
    def since(self) -> datetime | None:
        """When it began to fail; None while it works."""
        return self._since

    @property
    def next_try(self) -> datetime | None:
        """When the next request is allowed; None while the provider works."""
        if self._error is None:
            return None
        return self._now() + timedelta(seconds=max(0.0, self._next_try - self._clock()))

    @property
    def is_hopeless(self) -> bool:
        """Return whether waiting is useless: the pause is too long, or there were too many failures."""
        return self._error is not None and (
            self._failures >= MAX_WAITED_FAILURES
            or self._next_try - self._clock() > MAX_WAIT_SECONDS
            or self._next_try + self._last_took - self._failing_from > self._max_seconds
        )

    @asynccontextmanager
    async def attempt(
        self, *, patient: bool, innocent: tuple[type[EmbeddingError], ...] = ()
    ) -> AsyncIterator[None]:
        """Make one request inside this context. While the breaker is open, `patient` callers wait.

        Others get a copy of the last failure. `innocent` errors are caused by the request and do not count.
        """
        await self._wait(patient=patient)
        turn = self._turn
        probe: asyncio.Future[None] | None = None
        if self._error is not None:
            probe = self._probe = asyncio.get_running_loop().create_future()
        began = self._clock()
        try:
            yield
        except innocent as error:
            if self._error is not None and type(error) is not type(self._error):
                self._record_success(turn)  # the provider works again
            raise
        except EmbeddingError as error:
            self._record_failure(error, turn, began=began)
            raise
        else:
            self._record_success(turn)
        finally:
            if probe:
                self._probe = None
                probe.set_result(None)

    async def _wait(self, *, patient: bool) -> None:
        while self._error is not None:
            rest = self._next_try - self._clock()
            if rest > 0:
                if not patient or self.is_hopeless:
                    raise copy(self._error)
                await self._sleep(rest)
            elif self._probe:
                await asyncio.shield(self._probe)
            else:
                return

    def _record_success(self, turn: int) -> None:
        if turn == self._turn and self._error is not None:
            log.info("embedding: %s works again", self._name)
            self._error = self._since = None
            self._failures = 0

    def _record_failure(self, error: EmbeddingError, turn: int, *, began: float) -> None:
        longer = 1 + JITTER * self._jitter()
        rest = getattr(error, "retry_after", None)
        if rest is not None:
            rest = min(rest, MAX_RETRY_AFTER_SECONDS)
        if turn != self._turn:  # concurrent requests that fail together count once
            self._next_try = max(self._next_try, self._clock() + (rest or 0.0) * longer)
            return
        self._turn += 1
        self._failures += 1
        if not isinstance(error, TRANSIENT_ERRORS):
            self._failures = max(self._failures, MAX_WAITED_FAILURES)
        if rest is None:
            rest = min(MAX_PAUSE_SECONDS, FIRST_PAUSE * 2 ** min(self._failures - 1, 30))
        if self._error is None:
            self._since = self._now()
            self._failing_from = began
            log.warning("embedding: %s", error)
        self._error = error
        self._last_took = self._clock() - began
        self._next_try = self._clock() + rest * longer
