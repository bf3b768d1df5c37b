"""The service's Prometheus metrics: names, types, labels and help texts.

Labels are names from the settings or the code, such as channels, models, tools and states, never what people write or
who they are. Times are seconds since 1970: `time() - …` is how long ago that was.
"""

import asyncio
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import TypeVar, get_args

from prometheus_client import ProcessCollector
from prometheus_client import exposition as plain_text
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.openmetrics import exposition as open_metrics
from prometheus_client.registry import Collector

from bot.archives.backup import program_version
from bot.cluster.status import InstanceStatus
from bot.maintenance.scheduler import JobStatus
from bot.metrics import BUCKET_BOUNDS, TURN_OUTCOMES, Histogram
from bot.models.protocol import Usage
from bot.models.status import BreakerState as ModelState
from bot.models.status import models_status
from bot.services import Services
from bot.state.queue_stats import QueueStats
from bot.web.health import Role, cluster_role
from memory.status import MemoryStatus
from memory.watcher import WatchState

OPEN_METRICS = "application/openmetrics-text"
CHANNEL_STATES = ("starting", "up", "down", "standby", "stand-in")
ROLES = ("active", "standby", "stand-in")
JOB_OUTCOMES = ("ok", "failed", "stopped")
LEVELS = ("warning", "error", "critical")
BUCKETS = [*(str(bound) for bound in BUCKET_BOUNDS), "+Inf"]

Key = TypeVar("Key", bound=tuple[str, ...])
"""Label values."""
Name = TypeVar("Name", bound=str)

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
        yield from _service(self.services)
        yield from _turns(self.services)
        yield from _models(self.services)
        yield from _memory(self.services, self.memory)
        yield from _queues(self.queues)
        yield from _channels(self.services)
        yield from _jobs(self.services.upkeep.jobs)
        yield from _leases(self.services)
        yield from _process.collect()


def exposition(facts: Collector, *, accept: str) -> tuple[bytes, str]:
    """Return the metrics in the accepted format, and its content type."""
    # The library's `choose_encoder` fails on a version that is not a number.
    if OPEN_METRICS in accept:
        text: bytes = open_metrics.generate_latest(facts)  # type: ignore[no-untyped-call]
        return text, open_metrics.CONTENT_TYPE_LATEST
    return plain_text.generate_latest(facts), plain_text.CONTENT_TYPE_PLAIN_0_0_4


# -- metrics --------------------------------------------------------------------------------------------------


def _service(services: Services) -> Iterator[Metric]:
    yield _build()
    started = services.measures.started_at
    yield _gauge(
        "commonplace_start_time_seconds", "Start time of the service, in seconds since 1970.", started
    )
    yield _gauge(
        "commonplace_asyncio_tasks",
        "Tasks of the event loop, including the one of this scrape.",
        len(asyncio.all_tasks()),
    )
    told = services.troubles.counts()
    yield _counter_family(
        "commonplace_log_messages",
        "Warnings and errors, including those that were not written to the log.",
        ["level"],
        {(level,): told.get(level, 0) for level in LEVELS},
    )
    with suppress(OSError):
        threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - by far the fastest
        yield _gauge("process_threads", "Threads of the process, including those outside of Python.", threads)


def _build() -> Metric:
    about = {"version": program_version(), "python": platform.python_version()}
    return InfoMetricFamily("commonplace_build", "Versions of Commonplace and Python.", value=about)


def _turns(services: Services) -> Iterator[Metric]:
    measures, channels = services.measures, services.channels.health()
    yield _counter_family(
        "commonplace_messages",
        "Messages accepted, by channel.",
        ["channel"],
        {(channel,): measures.messages[channel] for channel in {*channels, *measures.messages}},
    )
    known = {*channels, *(channel for channel, _ in measures.turns)}
    yield _counter_family(
        "commonplace_turns",
        "Messages by outcome: answered by a model, a command, told something without a model, refused, stopped by a "
        "person, failed, or parked to continue later.",
        ["channel", "outcome"],
        {
            (channel, outcome): measures.turns[channel, outcome]
            for channel in known
            for outcome in TURN_OUTCOMES
        },
    )
    yield _histogram_family(
        "commonplace_stage_seconds",
        "Duration of the stages of a turn: waiting for the chat, reading attachments, recalling notes, until the "
        "first text, the whole of an answered turn, delivery after its end.",
        "stage",
        measures.stages,
    )
    known = {*channels, *(channel for channel, _ in measures.deliveries)}
    yield _counter_family(
        "commonplace_deliveries",
        "Attempts to deliver replies and notices to a channel; failed ones are repeated.",
        ["channel", "outcome"],
        {
            (channel, "delivered" if well else "failed"): measures.deliveries[channel, well]
            for channel in known
            for well in (True, False)
        },
    )
    yield _counter_family(
        "commonplace_tool_calls",
        "Tool calls by models.",
        ["tool", "outcome"],
        {
            (tool, "ok" if well else "failed"): measures.tools[tool, well]
            for tool in {tool for tool, _ in measures.tools}
            for well in (True, False)
        },
    )
    yield _histogram_family(
        "commonplace_tool_seconds", "Duration of tool calls.", "tool", measures.tool_times
    )


def _models(services: Services) -> Iterator[Metric]:
    measures = services.measures
    models = {*services.model.plan.candidates, *measures.model_tries}
    yield _counter_family(
        "commonplace_model_tries",
        "Requests to a model.",
        ["model"],
        {(model,): measures.model_tries[model] for model in models},
    )
    yield _counter_family(
        "commonplace_model_errors",
        "Failed requests to a model, by kind of error as in models.on_error.",
        ["model", "kind"],
        measures.model_errors,
    )
    yield _counter_family(
        "commonplace_model_fallbacks",
        "Fallbacks from one model to the next.",
        ["model", "then"],
        measures.fallbacks,
    )
    yield _histogram_family(
        "commonplace_model_first_token_seconds",
        "Time from a request to the first sign of its answer.",
        "model",
        measures.first_tokens,
    )
    yield _histogram_family(
        "commonplace_model_answer_seconds",
        "Time from a request to its whole answer.",
        "model",
        measures.answers,
    )
    used = {(model,): measures.usage.get(model, Usage()) for model in models}
    yield _counter_family(
        "commonplace_model_input_tokens",
        "Input tokens of a model.",
        ["model"],
        {key: usage.input_tokens for key, usage in used.items()},
    )
    yield _counter_family(
        "commonplace_model_output_tokens",
        "Output tokens of a model.",
        ["model"],
        {key: usage.output_tokens for key, usage in used.items()},
    )
    yield _counter_family(
        "commonplace_model_cached_input_tokens",
        "Input tokens of a model that came from its provider's cache.",
        ["model"],
        {key: usage.cached_tokens for key, usage in used.items()},
    )
    yield _state_family(
        "commonplace_model_state",
        "1 for the state of a model with a key: ready, resting (paused after failures), or on probation after that.",
        ["model", "key"],
        {
            (each.model, str(each.key)): each.state.replace(" ", "_")
            for each in models_status(services.model.plan, services.model.health)
        },
        [state.replace(" ", "_") for state in get_args(ModelState)],
    )


def _memory(services: Services, status: MemoryStatus | None) -> Iterator[Metric]:
    up = "1 if the memory answered in time; otherwise its metrics are missing."
    yield _gauge("commonplace_memory_up", up, status is not None)
    rebuilding = services.rebuilding.is_running
    yield _gauge("commonplace_memory_rebuilding", "1 while the index is being rebuilt.", rebuilding)
    for name, file in (
        ("index", services.memory.index_file),
        ("state", services.settings.private_folder / "state.db"),
    ):
        if file and (size := _database_bytes(file)) is not None:
            yield _gauge(f"commonplace_{name}_bytes", f"Size of {name}.db including its WAL.", size)
    fails = status.index_problem if status else services.memory.index_problem
    if status or fails:
        up = "1 if the index is reachable; otherwise the metrics that depend on it are missing."
        yield _gauge("commonplace_index_up", up, not fails)
    if status is None:
        return
    vectors, chunks = status.chunks_with_embedding, status.total_chunks
    bare = None if chunks is None or vectors is None else chunks - vectors
    by_meaning = status.vector_search_enabled and not status.index_problem
    for name, help_text, value in (
        ("files", "Notes in the index, or in the folder if the index is unreachable.", status.files),
        ("chunks", "Chunks in the index.", chunks),
        ("chunks_with_vector", "Chunks with a vector, which can be found by meaning.", vectors),
        ("chunks_without_vector", "Chunks without a vector, which can only be found by words.", bare),
        ("missing_vectors", "Distinct texts whose vectors are missing.", status.missing_vectors),
        ("vector_search", "1 if semantic search is on.", by_meaning),
        ("embedding_failing", "1 if the embedding provider is failing.", bool(status.embedding_problem)),
        ("problems", "Problems with notes, such as those that cannot be read.", len(status.problems)),
        (
            "cache_entries",
            "Cached vectors, including those that no current note needs.",
            status.cache.entries,
        ),
    ):
        if value is not None:
            yield _gauge(f"commonplace_memory_{name}", help_text, value)
    for name, help_text, count in (
        ("hits", "Texts of new or changed notes whose vectors were in the cache.", status.cache.hits),
        ("misses", "Texts of new or changed notes whose vectors were not in the cache.", status.cache.misses),
    ):
        if count is not None:
            yield _counter_family(f"commonplace_memory_cache_{name}", help_text, [], {(): count})
    at = status.last_indexed_at or ""
    yield from _timestamp_family(
        "commonplace_memory_last_indexed", "Time of the last write to the index.", {(): at}
    )
    if status.watch:
        yield from _watch(status.watch)


def _watch(watch: WatchState) -> Iterator[Metric]:
    yield _gauge("commonplace_watcher_up", "1 if the watcher notices changes of notes.", watch.alive)
    polls = "1 if the watcher has to scan the notes, since the system does not report changes."
    yield _gauge("commonplace_watcher_polling", polls, watch.mode == "polling")
    for name, help_text, at in (
        ("event", "Time of the last noticed change.", watch.last_event_at),
        ("look", "Time of the last full scan of the notes.", watch.last_look_at),
        ("restart", "Time of the last restart of the watcher.", watch.last_restart_at),
    ):
        yield from _timestamp_family(f"commonplace_watcher_last_{name}", help_text, {(): at})


def _queues(queues: QueueStats | None) -> Iterator[Metric]:
    up = "1 if state.db could be read in time; otherwise its metrics are missing."
    yield _gauge("commonplace_state_up", up, queues is not None)
    if queues is None:
        return
    inbox = {("waiting",): queues.waiting, ("running",): queues.running, ("answered",): queues.answered}
    help_text = "Messages that are waiting, being answered, or have an undelivered reply."
    yield _gauge_family("commonplace_inbox_messages", help_text, ["state"], inbox)
    yield _gauge("commonplace_outbox_notices", "Undelivered notices.", queues.notices)
    unread = {(channel,): count for channel, count in queues.unread.items()}
    yield _gauge_family(
        "commonplace_unread_messages",
        "Messages from a channel that could not be read and were kept.",
        ["channel"],
        unread,
    )
    yield _gauge("commonplace_reminders", "Upcoming reminders and scheduled prompts.", queues.reminders)
    yield _gauge(
        "commonplace_reminders_due", "Reminders and scheduled prompts that are due.", queues.reminders_due
    )


def _channels(services: Services) -> Iterator[Metric]:
    states = {(name,): health.state for name, health in services.channels.health().items()}
    help_text = "1 for the state of a channel."
    yield _state_family("commonplace_channel_state", help_text, ["channel"], states, CHANNEL_STATES)


def _leases(services: Services) -> Iterator[Metric]:
    if instance := services.instance():
        yield from instance_metrics(instance, cluster_role(services.channels.health()))


def instance_metrics(instance: InstanceStatus, what: Role) -> Iterator[Metric]:
    """Yield the metrics of an instance among others, also of a standby."""
    yield _state_family(
        "commonplace_instance_role", "1 for the role of this instance.", [], {(): what}, ROLES
    )
    up = "1 if the server that holds the leases is reachable."
    yield _gauge("commonplace_leases_up", up, not instance.problem)
    held = "1 if this instance holds a lease, for a channel, job or workspace."
    leases = {(each.name,): float(each.ours) for each in instance.leases}
    yield _gauge_family("commonplace_lease_held", held, ["name"], leases)


def _jobs(jobs: Iterable[JobStatus]) -> Iterator[Metric]:
    named = {(job.name,): job for job in jobs}  # `name`, since Prometheus reserves the label `job`
    yield _gauge_family(
        "commonplace_job_running",
        "1 while a job is running.",
        ["name"],
        {name: float(job.running) for name, job in named.items()},
    )
    yield _state_family(
        "commonplace_job_last_outcome",
        "1 for the last outcome of a job; all 0 before its first end.",
        ["name"],
        {name: _outcome(job) for name, job in named.items()},
        JOB_OUTCOMES,
    )
    last = {name: job.last_run for name, job in named.items()}
    yield from _timestamp_family(
        "commonplace_job_last_run", "Time of the last start of a job.", last, ["name"]
    )
    following = {name: job.next_run for name, job in named.items()}
    yield from _timestamp_family(
        "commonplace_job_next_run", "Time of the next start of a job.", following, ["name"]
    )


def _outcome(job: JobStatus) -> str:
    return job.last_outcome if job.last_outcome in ("", "ok", "stopped") else "failed"


# -- metric types ---------------------------------------------------------------------------------------------


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=float(value))


def _gauge_family(name: str, help_text: str, labels: list[str], values: Mapping[Key, float]) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _counter_family(name: str, help_text: str, labels: list[str], values: Mapping[Key, float]) -> Metric:
    """Build a counter. `name` is without `_total`, which the library adds."""
    family = CounterMetricFamily(name, help_text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _histogram_family(name: str, help_text: str, label: str, histograms: Mapping[Name, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, help_text, labels=[label])
    for key, each in sorted(histograms.items()):
        buckets = list(zip(BUCKETS, map(float, accumulate(each.counts)), strict=True))
        family.add_metric([key], buckets, each.seconds)
    return family


def _state_family(
    name: str,
    help_text: str,
    labels: list[str],
    states: Mapping[Key, str],
    all_states: Iterable[str],
) -> Metric:
    """Build a gauge with a row for each possible state: 1 for the current one, else 0."""
    rows = {(*key, each): float(state == each) for key, state in states.items() for each in all_states}
    return _gauge_family(name, help_text, [*labels, "state"], rows)


def _timestamp_family(
    name: str, help_text: str, times: Mapping[Key, str], labels: list[str] | None = None
) -> Iterator[Metric]:
    """Yield a gauge of ISO 8601 times as seconds since 1970; without "" entries, and nothing if all are ""."""
    told = {key: datetime.fromisoformat(at).timestamp() for key, at in times.items() if at}
    if told:
        yield _gauge_family(f"{name}_timestamp_seconds", help_text, labels or [], told)


def _database_bytes(database: Path) -> int | None:
    """Return the size of a database and its WAL; None if it does not exist."""
    try:
        size = database.stat().st_size
    except OSError:
        return None
    with suppress(OSError):  # it exists only while a process has the database open
        size += database.with_name(f"{database.name}-wal").stat().st_size
    return size
