"""Whether all is well, for whoever watches the service."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from aiohttp import web

from bot.messages import ChannelHealth
from memory.errors import MemoryFault
from memory.frozen import dataclass
from memory.memory import Memory, MemoryStatus

WELL = ("up", "standby")
VectorsHealth = Literal["ok", "filling", "off", "failing"]


@dataclass(frozen=True, slots=True)
class Watched:
    """What the health check looks at."""

    channels: Callable[[], Mapping[str, ChannelHealth]]
    memory: Memory
    patience: float
    """Seconds that a health check waits for the memory."""
    shared: bool = False
    """Whether there may be other instances."""


watched_key = web.AppKey("watched", Watched)


async def healthz(request: web.Request) -> web.Response:
    """200 once every channel is up and the memory can be read, 503 with the same shape before.

    It needs no token, and so it tells no more than that: owners hear in `/status` what is wrong.
    """
    health = request.app[watched_key].channels()
    channels = {name: each.state for name, each in health.items()}
    memory = await _memory_health(request.app[watched_key])
    missing = [f"channel {name}" for name, state in channels.items() if state not in WELL]
    missing += [] if memory["status"] != "unavailable" else ["memory"]
    document: dict[str, Any] = {
        "status": "unavailable" if missing else "ok",
        "channels": channels,
        "memory": memory,
    }
    if request.app[watched_key].shared:
        document["role"] = role(health)
    if missing:
        document["missing"] = missing
    return web.json_response(document, status=503 if missing else 200)


def role(channels: Mapping[str, ChannelHealth]) -> Literal["active", "standby"]:
    """A standby is who has channels and none of them now."""
    states = [each.state for each in channels.values()]
    return "standby" if states and all(state == "standby" for state in states) else "active"


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
