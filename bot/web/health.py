"""Whether all is well, for whoever watches the service."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from bot.cluster.status import SHOWN_ID_CHARS
from bot.messages import ChannelHealth
from memory.errors import MemoryFault
from memory.memory import Memory, MemoryStatus

if TYPE_CHECKING:
    from bot.cluster.status import InstanceStatus
    from bot.supervisor import TaskFailure

HEALTH = "/healthz"
HEALTHY_STATES = ("up", "standby", "stand-in")
VectorsHealth = Literal["ok", "filling", "off", "failing", "unknown"]
Role = Literal["active", "standby", "stand-in"]


@dataclass(frozen=True, slots=True)
class HealthSources:
    """What the health check looks at."""

    channels: Callable[[], Mapping[str, ChannelHealth]]
    memory: Memory
    patience: float
    """Seconds that a health check waits for the memory."""
    instance: "Callable[[], InstanceStatus | None]" = lambda: None
    """How this instance stands to others; None where it shares nothing with any."""
    task_failures: "Callable[[], Sequence[TaskFailure]]" = tuple
    """The long-lived tasks that have failed and have not recovered yet."""


health_sources_key = web.AppKey("watched", HealthSources)


async def healthz(request: web.Request) -> web.Response:
    """200 once every channel is up and the memory can be read, 503 with the same shape before.

    If a background task has failed, the status is "degraded", with 200: the service restarts the task itself.
    It needs no token, and so it tells no more than that: owners hear in `/status` what is wrong.
    """
    health = request.app[health_sources_key].channels()
    channels = {name: each.state for name, each in health.items()}
    memory = await _memory_health(request.app[health_sources_key])
    missing = [f"channel {name}" for name, state in channels.items() if state not in HEALTHY_STATES]
    missing += [] if memory["status"] != "unavailable" else ["memory"]
    tasks = tasks_health(request.app[health_sources_key].task_failures())
    document: dict[str, Any] = {
        "status": "unavailable" if missing else "degraded" if tasks else "ok",
        "channels": channels,
        "memory": memory,
        **tasks,
    }
    if instance := request.app[health_sources_key].instance():
        document |= cluster_health(instance, health)
    if missing:
        document["missing"] = missing
    return web.json_response(document, status=503 if missing else 200)


def tasks_health(failures: "Sequence[TaskFailure]") -> dict[str, Any]:
    """Return `{"tasks": {"reminders": "stopped"}}`, or an empty dict where all tasks are well.

    A task that runs again is "restarted" until it has run for a while.
    """
    states = {each.name: "stopped" if each.restarts_at else "restarted" for each in failures}
    return {"tasks": states} if states else {}


def cluster_health(instance: "InstanceStatus", channels: Mapping[str, ChannelHealth]) -> dict[str, Any]:
    """What an instance does among others, without anybody's name: its role, and for which workspaces it stands in."""
    told: dict[str, Any] = {
        "role": cluster_role(channels),
        "leases": "unknown" if instance.problem else "ok",
    }
    if instance.stands_in:
        told["stands_in"] = {
            each.channel: {
                "workspace": each.workspace[:SHOWN_ID_CHARS],
                "since": each.since.isoformat(timespec="seconds") if each.since else None,
            }
            for each in instance.stands_in
        }
    return told


def cluster_role(channels: Mapping[str, ChannelHealth]) -> Role:
    """A standby has channels and none of them now; of a stand-in, a second process has some, for another workspace."""
    states = {each.state for each in channels.values()}
    if not states or not states <= {"standby", "stand-in"}:
        return "active"
    return "stand-in" if "stand-in" in states else "standby"


async def _memory_health(watched: HealthSources) -> dict[str, Any]:
    try:
        async with asyncio.timeout(watched.patience):
            status = await watched.memory.status()
    except TimeoutError:  # a long re-index is no reason to restart the service, nor is a server that is away
        return {"status": "degraded" if watched.memory.index_problem else "busy"}
    except MemoryFault:
        return {"status": "unavailable"}  # why is told to the owner: it may hold a path
    return {
        "status": "degraded" if status.index_problem else "ok",
        "files": status.files,
        "total_chunks": status.total_chunks,
        "vectors": _vectors_health(status),
    }


def _vectors_health(status: MemoryStatus) -> VectorsHealth:
    """Failing only where vectors are missing and there is nobody to give them."""
    if status.vector_search_enabled and status.missing_vectors is None:
        return "unknown"
    if not status.vector_search_enabled:
        return "failing" if status.embedding_problem else "off"
    if not status.missing_vectors:
        return "ok"
    return "filling" if status.embedding_serving else "failing"
