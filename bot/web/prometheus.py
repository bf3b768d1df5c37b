"""The service's Prometheus metrics: names, types, labels and help texts.

Labels are names from the settings or the code, such as channels, models, tools and states, never what people write or
who they are. Times are seconds since 1970: `time() - …` is how long ago that was.
"""

import asyncio
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from prometheus_client import ProcessCollector
from prometheus_client import exposition as plain_text
from prometheus_client.metrics_core import InfoMetricFamily, Metric
from prometheus_client.openmetrics import exposition as open_metrics
from prometheus_client.registry import Collector

from bot.cluster.status import InstanceStatus
from bot.maintenance.scheduler import JobStatus
from bot.metrics import TURN_OUTCOMES
from bot.models.protocol import Usage
from bot.models.status import BreakerState as ModelState
from bot.models.status import models_status
from bot.services import Services
from bot.state.queue_stats import QueueStats
from bot.version import VERSION
from bot.web.health import Role, cluster_role
from bot.web.metric_families import MetricRow as Row
from bot.web.metric_families import read_metrics
from memory.status import MemoryStatus
from memory.watcher import WatchState

OPEN_METRICS = "application/openmetrics-text"
CHANNEL_STATES = ("starting", "up", "down", "standby", "stand-in")
ROLES = ("active", "standby", "stand-in")
JOB_OUTCOMES = ("ok", "failed", "stopped")
LEVELS = ("warning", "error", "critical")
MODEL_STATES = tuple(state.replace(" ", "_") for state in get_args(ModelState))

_process = ProcessCollector(registry=None)


@dataclass(frozen=True, slots=True)
class StandbyCollector(Collector):
    """Collects the metrics of a standby, for one scrape."""

    instance: InstanceStatus

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics."""
        yield _build()
        yield from instance_metrics(self.instance, "standby")
        yield from _process.collect()


@dataclass(frozen=True, slots=True)
class ServiceCollector(Collector):
    """Collects the metrics of the active service, for one scrape."""

    services: Services
    memory: MemoryStatus | None
    """None if it did not answer."""
    queues: QueueStats | None
    """None if state.db could not be read."""

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics."""
        yield _build()
        yield from read_metrics(SERVICE, self.services)
        yield from read_metrics(STORES, self)
        if self.memory:
            yield from read_metrics(MEMORY, self.memory)
            if self.memory.watch:
                yield from read_metrics(WATCHER, self.memory.watch)
        if self.queues:
            yield from read_metrics(QUEUES, self.queues)
        # `name`, since Prometheus reserves the label `job`
        yield from read_metrics(JOBS, {job.name: job for job in self.services.background.jobs})
        if instance := self.services.instance():
            yield from instance_metrics(instance, cluster_role(self.services.channels.health()))
        yield from _process.collect()


def exposition(facts: Collector, *, accept: str) -> tuple[bytes, str]:
    """Return the metrics in the accepted format, and its content type."""
    # The library's `choose_encoder` fails on a version that is not a number.
    if OPEN_METRICS in accept:
        text: bytes = open_metrics.generate_latest(facts)  # type: ignore[no-untyped-call]
        return text, open_metrics.CONTENT_TYPE_LATEST
    return plain_text.generate_latest(facts), plain_text.CONTENT_TYPE_PLAIN_0_0_4


def instance_metrics(instance: InstanceStatus, role: Role) -> Iterator[Metric]:
    """Yield the metrics of an instance among others, also of a standby."""
    yield from read_metrics(INSTANCE, (instance, role))


def _build() -> Metric:
    about = {"version": VERSION, "python": platform.python_version()}
    return InfoMetricFamily("commonplace_build", "Versions of Commonplace and Python.", value=about)


# -- what the rows read ---------------------------------------------------------------------------------------


def _threads() -> int | None:
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - by far the fastest
    except OSError:
        return None


def _log_messages(services: Services) -> Mapping[str, int]:
    counts = services.recent_errors.counts()
    return {level: counts.get(level, 0) for level in LEVELS}


def _counts(counts: Mapping[str, int], names: Iterable[str]) -> Mapping[str, int]:
    """Return the counts, and 0 for those of `names` that are not among them."""
    return {**dict.fromkeys(names, 0), **counts}


def _outcomes(
    counts: Mapping[tuple[str, Any], int], outcomes: Mapping[Any, str], names: Iterable[str] = ()
) -> Mapping[tuple[str, str], int]:
    """Return the counts by name and outcome, also those that are 0; `outcomes` are the labels by key."""
    known = {*names, *(name for name, _ in counts)}
    return {(name, label): counts.get((name, key), 0) for name in known for key, label in outcomes.items()}


def _channels(services: Services) -> Iterable[str]:
    return services.channels.health()


def _models(services: Services) -> Iterable[str]:
    return {*services.model.plan.candidates, *services.metrics.model_tries}


def _tokens(services: Services, field: str) -> Mapping[str, int]:
    usage = services.metrics.usage
    return {model: getattr(usage.get(model, Usage()), field) for model in _models(services)}


def _model_states(services: Services) -> Mapping[tuple[str, str], str]:
    states = models_status(services.model.plan, services.model.health)
    return {(each.model, str(each.key)): each.state.replace(" ", "_") for each in states}


def _index_up(scrape: ServiceCollector) -> bool | None:
    status = scrape.memory
    problem = status.index_problem if status else scrape.services.memory.index_problem
    return not problem if status or problem else None


def _without_vector(status: MemoryStatus) -> int | None:
    if status.total_chunks is None or status.chunks_with_embedding is None:
        return None
    return status.total_chunks - status.chunks_with_embedding


def _database_bytes(database: Path | None) -> int | None:
    """Return the size of a database and its WAL; None if it does not exist."""
    if database is None:
        return None
    try:
        size = database.stat().st_size
    except OSError:
        return None
    with suppress(OSError):  # it exists only while a process has the database open
        size += database.with_name(f"{database.name}-wal").stat().st_size
    return size


def _job_outcome(job: JobStatus) -> str:
    return job.last_outcome if job.last_outcome in ("", "ok", "stopped") else "failed"


# -- the metrics ----------------------------------------------------------------------------------------------

# fmt: off
SERVICE: Sequence[Row[Services]] = (
    Row("commonplace_start_time_seconds", "gauge", "Start time of the service, in seconds since 1970.",
        lambda services: services.metrics.started_at),
    Row("commonplace_asyncio_tasks", "gauge", "Tasks of the event loop, including the one of this scrape.",
        lambda _: len(asyncio.all_tasks())),
    Row("commonplace_log_messages", "counter",
        "Warnings and errors, including those that were not written to the log.",
        _log_messages, ("level",)),
    Row("process_threads", "gauge", "Threads of the process, including those outside of Python.",
        lambda _: _threads()),
    Row("commonplace_messages", "counter", "Messages accepted, by channel.",
        lambda services: _counts(services.metrics.messages, _channels(services)), ("channel",)),
    Row("commonplace_turns", "counter",
        "Messages by outcome: answered by a model, a command, told something without a model, refused, stopped by a "
        "person, failed, or parked to continue later.",
        lambda services: _outcomes(
            services.metrics.turns, {each: each for each in TURN_OUTCOMES}, _channels(services)
        ), ("channel", "outcome")),
    Row("commonplace_stage_seconds", "histogram",
        "Duration of the stages of a turn: waiting for the chat, reading attachments, recalling notes, until the "
        "first text, the whole of an answered turn, delivery after its end.",
        lambda services: services.metrics.stages, ("stage",)),
    Row("commonplace_deliveries", "counter",
        "Attempts to deliver replies and notices to a channel; failed ones are repeated.",
        lambda services: _outcomes(
            services.metrics.deliveries, {True: "delivered", False: "failed"}, _channels(services)
        ), ("channel", "outcome")),
    Row("commonplace_tool_calls", "counter", "Tool calls by models.",
        lambda services: _outcomes(services.metrics.tools, {True: "ok", False: "failed"}), ("tool", "outcome")),
    Row("commonplace_tool_seconds", "histogram", "Duration of tool calls.",
        lambda services: services.metrics.tool_times, ("tool",)),
    Row("commonplace_model_tries", "counter", "Requests to a model.",
        lambda services: _counts(services.metrics.model_tries, services.model.plan.candidates), ("model",)),
    Row("commonplace_model_errors", "counter",
        "Failed requests to a model, by kind of error as in models.on_error.",
        lambda services: services.metrics.model_errors, ("model", "kind")),
    Row("commonplace_model_fallbacks", "counter", "Fallbacks from one model to the next.",
        lambda services: services.metrics.fallbacks, ("model", "then")),
    Row("commonplace_model_first_token_seconds", "histogram",
        "Time from a request to the first sign of its answer.",
        lambda services: services.metrics.first_tokens, ("model",)),
    Row("commonplace_model_answer_seconds", "histogram", "Time from a request to its whole answer.",
        lambda services: services.metrics.answers, ("model",)),
    Row("commonplace_model_input_tokens", "counter", "Input tokens of a model.",
        lambda services: _tokens(services, "input_tokens"), ("model",)),
    Row("commonplace_model_output_tokens", "counter", "Output tokens of a model.",
        lambda services: _tokens(services, "output_tokens"), ("model",)),
    Row("commonplace_model_cached_input_tokens", "counter",
        "Input tokens of a model that came from its provider's cache.",
        lambda services: _tokens(services, "cached_tokens"), ("model",)),
    Row("commonplace_model_state", "state",
        "1 for the state of a model with a key: ready, resting (paused after failures), or on probation after that.",
        _model_states, ("model", "key", "state"), MODEL_STATES),
    Row("commonplace_memory_rebuilding", "gauge", "1 while the index is being rebuilt.",
        lambda services: services.index_rebuilder.is_running),
    Row("commonplace_index_bytes", "gauge", "Size of index.db including its WAL.",
        lambda services: _database_bytes(services.memory.index_file)),
    Row("commonplace_state_bytes", "gauge", "Size of state.db including its WAL.",
        lambda services: _database_bytes(services.settings.private_folder / "state.db")),
    Row("commonplace_channel_state", "state", "1 for the state of a channel.",
        lambda services: {name: health.state for name, health in services.channels.health().items()},
        ("channel", "state"), CHANNEL_STATES),
)
STORES: Sequence[Row[ServiceCollector]] = (
    Row("commonplace_memory_up", "gauge",
        "1 if the memory answered in time; otherwise its metrics are missing.",
        lambda scrape: scrape.memory is not None),
    Row("commonplace_index_up", "gauge",
        "1 if the index is reachable; otherwise the metrics that depend on it are missing.", _index_up),
    Row("commonplace_state_up", "gauge",
        "1 if state.db could be read in time; otherwise its metrics are missing.",
        lambda scrape: scrape.queues is not None),
)
MEMORY: Sequence[Row[MemoryStatus]] = (
    Row("commonplace_memory_files", "gauge",
        "Notes in the index, or in the folder if the index is unreachable.", lambda status: status.files),
    Row("commonplace_memory_chunks", "gauge", "Chunks in the index.", lambda status: status.total_chunks),
    Row("commonplace_memory_chunks_with_vector", "gauge",
        "Chunks with a vector, which can be found by meaning.", lambda status: status.chunks_with_embedding),
    Row("commonplace_memory_chunks_without_vector", "gauge",
        "Chunks without a vector, which can only be found by words.", _without_vector),
    Row("commonplace_memory_missing_vectors", "gauge", "Distinct texts whose vectors are missing.",
        lambda status: status.missing_vectors),
    Row("commonplace_memory_vector_search", "gauge", "1 if semantic search is on.",
        lambda status: status.vector_search_enabled and not status.index_problem),
    Row("commonplace_memory_embedding_failing", "gauge", "1 if the embedding provider is failing.",
        lambda status: bool(status.embedding_problem)),
    Row("commonplace_memory_problems", "gauge", "Problems with notes, such as those that cannot be read.",
        lambda status: len(status.problems)),
    Row("commonplace_memory_cache_entries", "gauge",
        "Cached vectors, including those that no current note needs.", lambda status: status.cache.entries),
    Row("commonplace_memory_cache_hits", "counter",
        "Texts of new or changed notes whose vectors were in the cache.", lambda status: status.cache.hits),
    Row("commonplace_memory_cache_misses", "counter",
        "Texts of new or changed notes whose vectors were not in the cache.", lambda status: status.cache.misses),
    Row("commonplace_memory_last_indexed_timestamp_seconds", "time", "Time of the last write to the index.",
        lambda status: status.last_indexed_at),
)
WATCHER: Sequence[Row[WatchState]] = (
    Row("commonplace_watcher_up", "gauge", "1 if the watcher notices changes of notes.", lambda watch: watch.alive),
    Row("commonplace_watcher_polling", "gauge",
        "1 if the watcher has to scan the notes, since the system does not report changes.",
        lambda watch: watch.mode == "polling"),
    Row("commonplace_watcher_last_event_timestamp_seconds", "time", "Time of the last noticed change.",
        lambda watch: watch.last_event_at),
    Row("commonplace_watcher_last_look_timestamp_seconds", "time", "Time of the last full scan of the notes.",
        lambda watch: watch.last_look_at),
    Row("commonplace_watcher_last_restart_timestamp_seconds", "time", "Time of the last restart of the watcher.",
        lambda watch: watch.last_restart_at),
)
QUEUES: Sequence[Row[QueueStats]] = (
    Row("commonplace_inbox_messages", "gauge",
        "Messages that are waiting, being answered, or have an undelivered reply.",
        lambda queues: {"waiting": queues.waiting, "running": queues.running, "answered": queues.answered},
        ("state",)),
    Row("commonplace_outbox_notices", "gauge", "Undelivered notices.", lambda queues: queues.notices),
    Row("commonplace_unread_messages", "gauge",
        "Messages from a channel that could not be read and were kept.",
        lambda queues: queues.unread, ("channel",)),
    Row("commonplace_reminders", "gauge", "Upcoming reminders and scheduled prompts.",
        lambda queues: queues.reminders),
    Row("commonplace_reminders_due", "gauge", "Reminders and scheduled prompts that are due.",
        lambda queues: queues.reminders_due),
)
JOBS: Sequence[Row[Mapping[str, JobStatus]]] = (
    Row("commonplace_job_running", "gauge", "1 while a job is running.",
        lambda jobs: {name: job.running for name, job in jobs.items()}, ("name",)),
    Row("commonplace_job_last_outcome", "state", "1 for the last outcome of a job; all 0 before its first end.",
        lambda jobs: {name: _job_outcome(job) for name, job in jobs.items()}, ("name", "state"), JOB_OUTCOMES),
    Row("commonplace_job_last_run_timestamp_seconds", "time", "Time of the last start of a job.",
        lambda jobs: {name: job.last_run for name, job in jobs.items()}, ("name",)),
    Row("commonplace_job_next_run_timestamp_seconds", "time", "Time of the next start of a job.",
        lambda jobs: {name: job.next_run for name, job in jobs.items()}, ("name",)),
)
INSTANCE: Sequence[Row[tuple[InstanceStatus, Role]]] = (
    Row("commonplace_instance_role", "state", "1 for the role of this instance.",
        lambda source: source[1], ("state",), ROLES),
    Row("commonplace_leases_up", "gauge", "1 if the server that holds the leases is reachable.",
        lambda source: not source[0].problem),
    Row("commonplace_lease_held", "gauge", "1 if this instance holds a lease, for a channel, job or workspace.",
        lambda source: {each.name: each.ours for each in source[0].leases}, ("name",)),
)
# fmt: on
