"""The HTTP side: whether all is well, for whoever watches the service."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web, web_response
from aiohttp.http_exceptions import HttpProcessingError

from bot.messages import ChannelHealth
from bot.web.hooks import Hook, add_hooks
from memory.errors import MemoryFault
from memory.memory import Memory, MemoryStatus

LARGEST_REQUEST = 64 * 1024
KEEP_ALIVE_SECONDS = 15.0

VectorsHealth = Literal["ok", "filling", "off", "failing"]


@dataclass(frozen=True, slots=True)
class Watched:
    """What the health check looks at."""

    channels: Callable[[], Mapping[str, ChannelHealth]]
    memory: Memory
    patience: float
    """Seconds that a health check waits for the memory."""


watched_key = web.AppKey("watched", Watched)


def build_web_app(
    *,
    channels: Callable[[], Mapping[str, ChannelHealth]],
    memory: Memory,
    patience: float = 1.0,
    hooks: Iterable[Hook] = (),
) -> web.Application:
    """Build the application; `channels` tells how each configured channel fares, by its name.

    A health check waits `patience` seconds for the memory. `hooks`: where platforms hand over what happened.
    """
    app = web.Application(client_max_size=LARGEST_REQUEST)
    app[watched_key] = Watched(channels, memory, patience)
    app.on_response_prepare.append(_add_headers)
    app.router.add_get("/healthz", healthz)
    add_hooks(app, hooks)
    return app


def web_runner(app: web.Application) -> web.AppRunner:
    """Give what serves the application on sockets that are already open."""
    # Answers to broken requests are made below the application and would tell versions in their Server header.
    web_response.SERVER_SOFTWARE = "commonplace"  # type: ignore[attr-defined]
    http_log = logging.getLogger("bot.web.http")
    http_log.addFilter(_ours)
    return web.AppRunner(
        app, access_log=None, logger=http_log, handle_signals=False, keepalive_timeout=KEEP_ALIVE_SECONDS
    )


async def healthz(request: web.Request) -> web.Response:
    """200 once every channel is up and the memory can be read, 503 with the same shape before.

    It needs no token, and so it tells no more than that: owners hear in `/status` what is wrong.
    """
    health = request.app[watched_key].channels()
    channels = {name: each.state for name, each in health.items()}
    memory = await _memory_health(request.app[watched_key])
    missing = [f"channel {name}" for name, state in channels.items() if state != "up"]
    missing += [] if memory["status"] != "unavailable" else ["memory"]
    document: dict[str, Any] = {
        "status": "unavailable" if missing else "ok",
        "channels": channels,
        "memory": memory,
    }
    if missing:
        document["missing"] = missing
    return web.json_response(document, status=503 if missing else 200, headers={"Cache-Control": "no-store"})


async def _memory_health(watched: Watched) -> dict[str, Any]:
    try:
        async with asyncio.timeout(watched.patience):
            status = await watched.memory.status()
    except TimeoutError:  # a long re-index is no reason to restart the service
        return {"status": "busy"}
    except MemoryFault:
        return {"status": "unavailable"}  # why is told to the owner: it may hold a path
    return {
        "status": "ok",
        "files": status.files,
        "total_chunks": status.total_chunks,
        "vectors": _vectors_health(status),
    }


def _vectors_health(status: MemoryStatus) -> VectorsHealth:
    """Failing only where vectors are missing and there is nobody to give them."""
    if not status.vector_search_enabled:
        return "failing" if status.embedding_problem else "off"
    if not status.missing_vectors:
        return "ok"
    return "failing" if status.embedding_problem and not status.embedding_fallback else "filling"


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    del request
    response.headers["X-Content-Type-Options"] = "nosniff"


def _ours(record: logging.LogRecord) -> bool:
    """Keep out of the log what a stranger's broken request brings about."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
