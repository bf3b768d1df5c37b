"""How one provider fares, known to all who wait for it: after a failure it rests, then one of them tries."""

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
"""What may be gone a moment later; the others wait for somebody to mend something."""

FIRST_REST = 1.0
LONGEST_REST = 300.0
LONGEST_RETRY_AFTER = 3600.0
JITTER = 0.25
MAX_WAITED_FAILURES = 6
"""Failures in a row after which nobody waits any longer; who comes later makes one try."""
LONGEST_WAIT = 120.0


class CircuitBreaker:
    """Times are in seconds of `clock`, which `sleep` waits by; `jitter` gives 0 to 1 and only lengthens."""

    def __init__(
        self,
        name: str,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        now: Callable[[], datetime],
        jitter: Callable[[], float],
        most_seconds: float = math.inf,
    ) -> None:
        """`most_seconds`: after so long nobody waits any longer, since somebody else can be asked."""
        self._name = name
        self._most_seconds = most_seconds
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
        """The last failure, until a try succeeds."""
        return self._error

    @property
    def since(self) -> datetime | None:
        """When it began to fail."""
        return self._since

    @property
    def next_try(self) -> datetime | None:
        """When it may be asked again; None while all is well."""
        if self._error is None:
            return None
        return self._now() + timedelta(seconds=max(0.0, self._next_try - self._clock()))

    @property
    def is_hopeless(self) -> bool:
        """Whether nobody should wait for it now: the next try would end too late, or there were enough."""
        return self._error is not None and (
            self._failures >= MAX_WAITED_FAILURES
            or self._next_try - self._clock() > LONGEST_WAIT
            or self._next_try + self._last_took - self._failing_from > self._most_seconds
        )

    @asynccontextmanager
    async def attempt(
        self, *, patient: bool, innocent: tuple[type[EmbeddingError], ...] = ()
    ) -> AsyncIterator[None]:
        """Make one request within this. While it rests, the patient wait and others get the last failure.

        `innocent` failures are those of what was asked, not of who was asked.
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
                self._record_success(turn)  # it answers again
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
            rest = min(rest, LONGEST_RETRY_AFTER)
        if turn != self._turn:  # those that were asked at once and failed together count as one
            self._next_try = max(self._next_try, self._clock() + (rest or 0.0) * longer)
            return
        self._turn += 1
        self._failures += 1
        if not isinstance(error, TRANSIENT_ERRORS):
            self._failures = max(self._failures, MAX_WAITED_FAILURES)
        if rest is None:
            rest = min(LONGEST_REST, FIRST_REST * 2 ** min(self._failures - 1, 30))
        if self._error is None:
            self._since = self._now()
            self._failing_from = began
            log.warning("embedding: %s", error)
        self._error = error
        self._last_took = self._clock() - began
        self._next_try = self._clock() + rest * longer
