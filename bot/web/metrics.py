"""`/metrics`: numbers of the service in Prometheus' text format."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from aiohttp import web

from bot.services import Services
from bot.state.database import StateFault
from bot.state.queue_stats import QueueStats, read_queue_stats
from bot.web.context import services_key
from memory.errors import MemoryFault
from memory.status import MemoryStatus

METRICS: Final = "/metrics"
TIMEOUT_SECONDS: Final = 1.0
"""Seconds that memory and state.db have to answer; the other metrics do not depend on them."""

Answer = TypeVar("Answer")


class BoundedProbe(Generic[Answer]):
    """Asks with a timeout, and does not ask again while an answer is outstanding."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, Answer]], *, timeout_seconds: float) -> None:
        self._ask = ask
        self._timeout_seconds = timeout_seconds
        self._asked: asyncio.Task[Answer] | None = None

    async def ask(self) -> Answer | None:
        """Return the answer; None if it takes too long or fails. The request itself goes on."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._ask())
            self._asked.add_done_callback(_retrieve_error)
        asked = self._asked
        await asyncio.wait([asked], timeout=self._timeout_seconds)
        if not asked.done() or asked.cancelled() or isinstance(asked.exception(), MemoryFault | StateFault):
            return None
        return asked.result()


def _retrieve_error(asked: "asyncio.Task[Any]") -> None:
    """Retrieve the error, for which nobody may be waiting any more."""
    if not asked.cancelled():
        asked.exception()


@dataclass(frozen=True, slots=True)
class MetricSources:
    """The probes of a scrape."""

    memory: BoundedProbe[MemoryStatus]
    queues: BoundedProbe[QueueStats]


sources_key = web.AppKey("metrics", MetricSources)


def add_metrics(app: web.Application, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Add `/metrics` to the application."""
    services = app[services_key]
    app[sources_key] = MetricSources(
        # The watcher keeps the index up to date; a scrape need not scan all notes.
        BoundedProbe(lambda: services.memory.status(look=False), timeout_seconds=timeout_seconds),
        BoundedProbe(lambda: _queues(services), timeout_seconds=timeout_seconds),
    )
    app.router.add_get(METRICS, metrics)


async def metrics(request: web.Request) -> web.Response:
    """Answer with all current metrics; unavailable ones are left out, with `…_up` 0."""
    from bot.web.prometheus import (
        ServiceCollector,
        exposition,
    )  # loads prometheus-client, which costs as much as 20 scrapes

    sources = request.app[sources_key]
    memory, waiting = await asyncio.gather(sources.memory.ask(), sources.queues.ask())
    facts = ServiceCollector(request.app[services_key], memory, waiting)
    text, content_type = exposition(facts, accept=request.headers.get("Accept", ""))
    return web.Response(body=text, headers={"Content-Type": content_type})


async def _queues(services: Services) -> QueueStats:
    return await services.state.read(lambda db: read_queue_stats(db, now=services.state.at()))
