"""`/metrics`: how the service fares, in numbers, for Prometheus and whoever reads its text."""

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
from memory.memory import MemoryStatus

METRICS: Final = "/metrics"
TIMEOUT_SECONDS: Final = 1.0
"""Seconds that the memory and state.db get to answer; the rest is told all the same."""

Answer = TypeVar("Answer")


class BoundedProbe(Generic[Answer]):
    """Asks somebody who may be busy, waits for so long, and does not ask again while the answer is outstanding."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, Answer]], *, patience: float) -> None:
        self._ask = ask
        self._patience = patience
        self._asked: asyncio.Task[Answer] | None = None

    async def ask(self) -> Answer | None:
        """What was answered; None where that takes too long, or cannot be told. The asking itself is not cut off."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._ask())
            self._asked.add_done_callback(_retrieve_error)
        asked = self._asked
        await asyncio.wait([asked], timeout=self._patience)
        if not asked.done() or asked.cancelled() or isinstance(asked.exception(), MemoryFault | StateFault):
            return None
        return asked.result()


def _retrieve_error(asked: "asyncio.Task[Any]") -> None:
    """Nobody may be there any more to whom its error could be told."""
    if not asked.cancelled():
        asked.exception()


@dataclass(frozen=True, slots=True)
class MetricSources:
    """Whom a scrape asks."""

    memory: BoundedProbe[MemoryStatus]
    queues: BoundedProbe[QueueStats]


sources_key = web.AppKey("metrics", MetricSources)


def add_metrics(app: web.Application, *, patience: float = TIMEOUT_SECONDS) -> None:
    """Serve them."""
    services = app[services_key]
    app[sources_key] = MetricSources(
        # The watcher sees to it that it is up to date: a scrape is no reason to look at every note.
        BoundedProbe(lambda: services.memory.status(look=False), patience=patience),
        BoundedProbe(lambda: _queues(services), patience=patience),
    )
    app.router.add_get(METRICS, metrics)


async def metrics(request: web.Request) -> web.Response:
    """All numbers as of now; those that cannot be had are left out, and `…_up` is 0."""
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
