"""Health of every model: in memory for this process, in state.db for restarts and other processes."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from functools import cache
from typing import Protocol

from bot.models.health import CallOutcome, Health, RouteName, after, close_breaker

log = logging.getLogger(__name__)

REFRESH_SECONDS = 2.0
"""Maximum age of what this process knows about calls of other processes."""
MAX_UNWRITTEN = 1000
"""Maximum outcomes kept in memory while state.db cannot be written."""
WRITE_SECONDS = 1.0
"""Delay for writing successes in batches; failures are written at once."""


class HealthStore(Protocol):
    """Persistent storage of model health."""

    async def read_model_health(self) -> Sequence[Health]:
        """Return all stored health."""
        ...

    async def record_outcomes(self, outcomes: Sequence[CallOutcome]) -> None:
        """Add outcomes to the stored health."""
        ...

    async def reset_model_health(self, model: str) -> None:
        """Close the breakers of one model, or of all if `model` is ""."""
        ...


class Breakers:
    """Circuit breakers that `FallbackModel` checks before each call and updates after it.

    `store` None keeps them in memory only.
    """

    def __init__(self, store: HealthStore | None = None, *, now: Callable[[], float] = time.time) -> None:
        """`now` returns seconds since 1970."""
        self.now = now
        self._store = store
        self._known: dict[RouteName, Health] = {}
        self._probes: set[RouteName] = set()
        self._begun: dict[RouteName, float] = {}
        self._unwritten: list[CallOutcome] = []
        self._read_at = float("-inf")
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._recorded = self._tried = 0
        """Number of outcomes to write, and number of those for which a write was attempted."""
        self._written = asyncio.Event()
        """Set and replaced after each write attempt."""
        self._reading = asyncio.Lock()

    def of(self, name: RouteName) -> Health:
        """Return the health of one route."""
        return self._known.get(name) or _new_health(name)

    def is_ready(self, name: RouteName) -> bool:
        """Return whether the route may be called; while half open, only one caller may probe it."""
        health, now = self.of(name), self.now()
        return not health.is_open(now) and not (health.is_half_open(now) and name in self._probes)

    def asked_at(self, name: RouteName) -> float:
        """Return when the route was last called, in seconds since 1970; 0 for never."""
        health = self.of(name)
        return max(self._begun.get(name, 0.0), health.last_answer_at, health.last_failure_at)

    def begin(self, name: RouteName) -> bool:
        """Record that a call begins; return whether it is the one probe of a half-open breaker."""
        self._begun[name] = self.now()
        probe = self.of(name).is_half_open(self.now()) and name not in self._probes
        if probe:
            self._probes.add(name)
        return probe

    def end_probe(self, name: RouteName) -> None:
        """Record that a probe has ended, with any result."""
        self._probes.discard(name)

    def record(self, outcomes: Iterable[CallOutcome]) -> None:
        """Record outcomes; they are written soon after."""
        fresh = list(outcomes)
        if not fresh:
            return
        for outcome in fresh:
            self._known[outcome.route] = after(self.of(outcome.route), outcome)
        if self._store is None:
            return
        self._unwritten += fresh
        self._recorded += len(fresh)
        if any(outcome.error for outcome in fresh):
            self._hurry.set()
        if self._writing is None or self._writing.done():
            # Its own context: it writes for all turns, so its log lines belong to none of them.
            self._writing = asyncio.create_task(self._write_soon(self._store), context=Context())

    async def refresh(self) -> None:
        """Read what other processes have learnt if our copy is stale."""
        if self._store is None or self._store_is_fresh():
            return
        async with self._reading:
            if not self._store_is_fresh():
                await self._read(self._store)

    async def _read(self, store: HealthStore) -> None:
        try:
            known = await store.read_model_health()
        except Exception as fault:  # noqa: BLE001
            log.warning("could not read the models' statistics: %s", fault)
            return
        finally:
            self._read_at = time.monotonic()
        self._known = {health.route: health for health in known}
        for outcome in self._unwritten:
            self._known[outcome.route] = after(self.of(outcome.route), outcome)

    async def reset(self, model: str = "") -> None:
        """Close the breakers of one model, or of all if `model` is ""."""
        await self.write()
        if self._store is not None:
            await self._store.reset_model_health(model)
        for name, health in self._known.items():
            if model in ("", name.model):
                self._known[name] = close_breaker(health)

    async def write(self) -> None:
        """Write everything recorded so far; outcomes that arrive meanwhile do not delay the caller."""
        wanted = self._recorded
        while self._tried < wanted and self._writing is not None and not self._writing.done():
            self._hurry.set()
            await self._written.wait()

    def _store_is_fresh(self) -> bool:
        return time.monotonic() - self._read_at < REFRESH_SECONDS

    async def _write_soon(self, store: HealthStore) -> None:
        while self._unwritten:
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    await self._hurry.wait()
            except TimeoutError:
                pass
            self._hurry.clear()
            batch, upto = self._unwritten[:], self._recorded
            try:
                await store.record_outcomes(batch)
            except Exception as fault:  # noqa: BLE001
                log.warning("could not save the models' statistics: %s", fault)
                del self._unwritten[:-MAX_UNWRITTEN]
                return  # kept in memory and retried with the next write
            finally:
                self._tried = upto
                self._written.set()
                self._written = asyncio.Event()
            del self._unwritten[: len(batch)]


@cache
def _new_health(name: RouteName) -> Health:
    return Health(name)
