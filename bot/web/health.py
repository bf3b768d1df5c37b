"""`/healthz`: the health check for monitoring."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from bot.cluster.status import SHOWN_ID_CHARS
from bot.messages import ChannelHealth
from memory.errors import MemoryFault
from memory.memory import Memory
from memory.status import MemoryStatus

if TYPE_CHECKING:
    from bot.cluster.status import InstanceStatus
    from bot.supervisor import TaskFailure

HEALTH = "/healthz"
HEALTHY_STATES = ("up", "standby", "stand-in")
VectorsHealth = Literal["ok", "filling", "off", "failing", "unknown"]
Role = Literal["active", "standby", "stand-in"]


@dataclass(frozen=True, slots=True)
class HealthSources:
    """What the health check reads."""

    channels: Callable[[], Mapping[str, ChannelHealth]]
    memory: Memory
    timeout_seconds: float
    """Seconds that a health check waits for the memory."""
    instance: "Callable[[], InstanceStatus | None]" = lambda: None
    """Status among other instances; None without a shared index."""
    task_failures: "Callable[[], Sequence[TaskFailure]]" = tuple
    """Background tasks that failed and have not recovered yet."""


health_sources_key = web.AppKey("watched", HealthSources)


async def healthz(request: web.Request) -> web.Response:
    """Answer 200 if every channel is up and the memory can be read, else 503 with the same JSON shape.

    If a background task has failed, the status is "degraded", with 200: the service restarts the task itself.
    This needs no token, so it gives no reasons; owners find those in `/status`.
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
    """Return `{"tasks": {"reminders": "stopped"}}`, or an empty dict if all tasks are healthy.

    A task that runs again is "restarted" until it has run for a while.
    """
    states = {each.name: "stopped" if each.restarts_at else "restarted" for each in failures}
    return {"tasks": states} if states else {}


def cluster_health(instance: "InstanceStatus", channels: Mapping[str, ChannelHealth]) -> dict[str, Any]:
    """Return an instance's role and the workspaces that it stands in for, without names of instances."""
    document: dict[str, Any] = {
        "role": cluster_role(channels),
        "leases": "unknown" if instance.problem else "ok",
    }
    if instance.stands_in:
        document["stands_in"] = {
            each.channel: {
                "workspace": each.workspace[:SHOWN_ID_CHARS],
                "since": each.since.isoformat(timespec="seconds") if each.since else None,
            }
            for each in instance.stands_in
        }
    return document


def cluster_role(channels: Mapping[str, ChannelHealth]) -> Role:
    """Return the role: a standby has no active channel; a stand-in runs channels of another workspace."""
    states = {each.state for each in channels.values()}
    if not states or not states <= {"standby", "stand-in"}:
        return "active"
    return "stand-in" if "stand-in" in states else "standby"


async def _memory_health(watched: HealthSources) -> dict[str, Any]:
    try:
        async with asyncio.timeout(watched.timeout_seconds):
            status = await watched.memory.status()
    except (
        TimeoutError
    ):  # neither a long re-index nor an unreachable server is a reason to restart the service
        return {"status": "degraded" if watched.memory.index_problem else "busy"}
    except MemoryFault:
        return {"status": "unavailable"}  # the reason may hold a path, and is only for the owner
    return {
        "status": "degraded" if status.index_problem else "ok",
        "files": status.files,
        "total_chunks": status.total_chunks,
        "vectors": _vectors_health(status),
    }


def _vectors_health(status: MemoryStatus) -> VectorsHealth:
    """Return "failing" only if vectors are missing and no provider can make them."""
    if status.vector_search_enabled and status.missing_vectors is None:
        return "unknown"
    if not status.vector_search_enabled:
        return "failing" if status.embedding_problem else "off"
    if not status.missing_vectors:
        return "ok"
    return "filling" if status.embedding_serving else "failing"
