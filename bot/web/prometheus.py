"""Numbers of the service as Prometheus takes them: names, kinds, labels, explanations.

Every label is a name from the settings or from the code: a channel, a model, a tool of ours, a state. What people say
and who they are is in none. A moment is given in seconds since 1970: `time() - …` tells how long ago it was.
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
from memory.memory import MemoryStatus
from memory.watcher import WatchState

OPEN_METRICS = "application/openmetrics-text"
CHANNEL_STATES = ("starting", "up", "down", "standby", "stand-in")
ROLES = ("active", "standby", "stand-in")
JOB_OUTCOMES = ("ok", "failed", "stopped")
LEVELS = ("warning", "error", "critical")
BUCKETS = [*(str(bound) for bound in BUCKET_BOUNDS), "+Inf"]

Key = TypeVar("Key", bound=tuple[str, ...])
"""A value for each label."""
Name = TypeVar("Name", bound=str)

_process = ProcessCollector(registry=None)


@dataclass(frozen=True, slots=True)
class StandbyCollector(Collector):
    """What there is to tell while another process serves the workspace; a scrape's own."""

    instance: InstanceStatus

    def collect(self) -> Iterable[Metric]:
        """Give all of it."""
        yield _build()
        yield from instance_metrics(self.instance, "standby")
        yield from _process.collect()


@dataclass(frozen=True, slots=True)
class ServiceCollector(Collector):
    """What there is to tell; a scrape's own."""

    services: Services
    memory: MemoryStatus | None
    """None where it could not be asked."""
    queues: QueueStats | None
    """None where state.db could not be read."""

    def collect(self) -> Iterable[Metric]:
        """Give all of it."""
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
    """Write it down in the form that is asked for; give that form's name too."""
    # Not the library's `choose_encoder`: it stumbles over a version that is no number.
    if OPEN_METRICS in accept:
        text: bytes = open_metrics.generate_latest(facts)  # type: ignore[no-untyped-call]
        return text, open_metrics.CONTENT_TYPE_LATEST
    return plain_text.generate_latest(facts), plain_text.CONTENT_TYPE_PLAIN_0_0_4


# -- what is told -------------------------------------------------------------------------------------------


def _service(services: Services) -> Iterator[Metric]:
    yield _build()
    started = services.measures.started_at
    yield _gauge("commonplace_start_time_seconds", "When the service was started, since 1970.", started)
    yield _gauge(
        "commonplace_asyncio_tasks", "Tasks of the event loop, with this one.", len(asyncio.all_tasks())
    )
    told = services.troubles.counts()
    yield _counter_family(
        "commonplace_log_messages",
        "Warnings and errors, whether they were written to the log or not.",
        ["level"],
        {(level,): told.get(level, 0) for level in LEVELS},
    )
    with suppress(OSError):
        threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - by far the quicker
        yield _gauge(
            "process_threads", "Threads of the process, also those that Python does not know.", threads
        )


def _build() -> Metric:
    about = {"version": program_version(), "python": platform.python_version()}
    return InfoMetricFamily("commonplace_build", "Version of Commonplace, and of Python.", value=about)


def _turns(services: Services) -> Iterator[Metric]:
    measures, channels = services.measures, services.channels.health()
    yield _counter_family(
        "commonplace_messages",
        "Messages that were taken in, by channel.",
        ["channel"],
        {(channel,): measures.messages[channel] for channel in {*channels, *measures.messages}},
    )
    known = {*channels, *(channel for channel, _ in measures.turns)}
    yield _counter_family(
        "commonplace_turns",
        "What was done with messages: a model answered, a command ran, they were told something, refused, stopped "
        "by a person, failed, or parked, to go on later.",
        ["channel", "outcome"],
        {
            (channel, outcome): measures.turns[channel, outcome]
            for channel in known
            for outcome in TURN_OUTCOMES
        },
    )
    yield _histogram_family(
        "commonplace_stage_seconds",
        "How long the stages of a turn take: waiting for its chat, reading attachments, recalling what is known, "
        "until the first text, all of an answered turn, delivery after its end.",
        "stage",
        measures.stages,
    )
    known = {*channels, *(channel for channel, _ in measures.deliveries)}
    yield _counter_family(
        "commonplace_deliveries",
        "Tries to show something on a channel, replies and notices; one that fails is tried again.",
        ["channel", "outcome"],
        {
            (channel, "delivered" if well else "failed"): measures.deliveries[channel, well]
            for channel in known
            for well in (True, False)
        },
    )
    yield _counter_family(
        "commonplace_tool_calls",
        "Tools that models have called.",
        ["tool", "outcome"],
        {
            (tool, "ok" if well else "failed"): measures.tools[tool, well]
            for tool in {tool for tool, _ in measures.tools}
            for well in (True, False)
        },
    )
    yield _histogram_family("commonplace_tool_seconds", "How long tools take.", "tool", measures.tool_times)


def _models(services: Services) -> Iterator[Metric]:
    measures = services.measures
    models = {*services.model.plan.candidates, *measures.model_tries}
    yield _counter_family(
        "commonplace_model_tries",
        "Requests that were sent to a model.",
        ["model"],
        {(model,): measures.model_tries[model] for model in models},
    )
    yield _counter_family(
        "commonplace_model_errors",
        "Requests that a model did not answer, by the class of error that models.on_error knows.",
        ["model", "kind"],
        measures.model_errors,
    )
    yield _counter_family(
        "commonplace_model_fallbacks",
        "How often a model was left for another one that was asked then.",
        ["model", "then"],
        measures.fallbacks,
    )
    yield _histogram_family(
        "commonplace_model_first_token_seconds",
        "From a request to the first sign of its answer.",
        "model",
        measures.first_tokens,
    )
    yield _histogram_family(
        "commonplace_model_answer_seconds", "From a request to its whole answer.", "model", measures.answers
    )
    used = {(model,): measures.usage.get(model, Usage()) for model in models}
    yield _counter_family(
        "commonplace_model_input_tokens",
        "Tokens that a model read.",
        ["model"],
        {key: usage.input_tokens for key, usage in used.items()},
    )
    yield _counter_family(
        "commonplace_model_output_tokens",
        "Tokens that a model wrote.",
        ["model"],
        {key: usage.output_tokens for key, usage in used.items()},
    )
    yield _counter_family(
        "commonplace_model_cached_input_tokens",
        "Of the tokens that a model read, those out of its provider's cache.",
        ["model"],
        {key: usage.cached_tokens for key, usage in used.items()},
    )
    yield _state_family(
        "commonplace_model_state",
        "1 for how a model fares with a key: ready, resting after failures, or on probation after that.",
        ["model", "key"],
        {
            (each.model, str(each.key)): each.state.replace(" ", "_")
            for each in models_status(services.model.plan, services.model.health)
        },
        [state.replace(" ", "_") for state in get_args(ModelState)],
    )


def _memory(services: Services, status: MemoryStatus | None) -> Iterator[Metric]:
    up = "Whether the memory could be asked in time; where it could not, the numbers of it are missing."
    yield _gauge("commonplace_memory_up", up, status is not None)
    rebuilding = services.rebuilding.is_running
    yield _gauge("commonplace_memory_rebuilding", "Whether the index is being built anew.", rebuilding)
    for name, file in (
        ("index", services.memory.index_file),
        ("state", services.settings.private_folder / "state.db"),
    ):
        if file and (size := _database_bytes(file)) is not None:
            yield _gauge(f"commonplace_{name}_bytes", f"Size of {name}.db with its journal.", size)
    fails = status.index_problem if status else services.memory.index_problem
    if status or fails:
        up = "Whether the index can be asked; where it cannot, the numbers that only it knows are missing."
        yield _gauge("commonplace_index_up", up, not fails)
    if status is None:
        return
    vectors, chunks = status.chunks_with_embedding, status.total_chunks
    bare = None if chunks is None or vectors is None else chunks - vectors
    by_meaning = status.vector_search_enabled and not status.index_problem
    for name, help_text, value in (
        ("files", "Notes in the index, or in the folder where that cannot be asked.", status.files),
        ("chunks", "Chunks in the index.", chunks),
        ("chunks_with_vector", "Chunks that can be found by meaning.", vectors),
        ("chunks_without_vector", "Chunks that can be found by their words alone.", bare),
        ("missing_vectors", "Different texts whose vectors are still to be made.", status.missing_vectors),
        ("vector_search", "Whether it is searched by meaning as well.", by_meaning),
        ("embedding_failing", "Whether who is to make the vectors fails.", bool(status.embedding_problem)),
        ("problems", "Notes that could not be read in full, and the like.", len(status.problems)),
        ("cache_entries", "Vectors that are kept, those no note needs now too.", status.cache.entries),
    ):
        if value is not None:
            yield _gauge(f"commonplace_memory_{name}", help_text, value)
    for name, help_text, count in (
        ("hits", "Texts of new or changed notes whose vectors were there already.", status.cache.hits),
        ("misses", "Texts of new or changed notes whose vectors had to be made.", status.cache.misses),
    ):
        if count is not None:
            yield _counter_family(f"commonplace_memory_cache_{name}", help_text, [], {(): count})
    at = status.last_indexed_at or ""
    yield from _timestamp_family(
        "commonplace_memory_last_indexed", "When the index was last written.", {(): at}
    )
    if status.watch:
        yield from _watch(status.watch)


def _watch(watch: WatchState) -> Iterator[Metric]:
    yield _gauge("commonplace_watcher_up", "Whether changes of notes are noticed.", watch.alive)
    polls = "Whether it has to look through the notes all the time, since nobody tells of changes."
    yield _gauge("commonplace_watcher_polling", polls, watch.mode == "polling")
    for name, help_text, at in (
        ("event", "When a change was last noticed.", watch.last_event_at),
        ("look", "When all notes were last looked through for what nobody told of.", watch.last_look_at),
        ("restart", "When the folder was last watched anew.", watch.last_restart_at),
    ):
        yield from _timestamp_family(f"commonplace_watcher_last_{name}", help_text, {(): at})


def _queues(queues: QueueStats | None) -> Iterator[Metric]:
    up = "Whether state.db could be read in time; where it could not, the numbers of it are missing."
    yield _gauge("commonplace_state_up", up, queues is not None)
    if queues is None:
        return
    inbox = {("waiting",): queues.waiting, ("running",): queues.running, ("answered",): queues.answered}
    help_text = "Messages that wait for their turn, are being answered, or have a reply to be delivered."
    yield _gauge_family("commonplace_inbox_messages", help_text, ["state"], inbox)
    yield _gauge("commonplace_outbox_notices", "Notices that are not delivered yet.", queues.notices)
    unread = {(channel,): count for channel, count in queues.unread.items()}
    yield _gauge_family(
        "commonplace_unread_messages", "What came from a channel and could not be read.", ["channel"], unread
    )
    yield _gauge("commonplace_reminders", "Reminders and scheduled prompts to come.", queues.reminders)
    yield _gauge("commonplace_reminders_due", "Of these, those whose moment has come.", queues.reminders_due)


def _channels(services: Services) -> Iterator[Metric]:
    states = {(name,): health.state for name, health in services.channels.health().items()}
    help_text = "1 for how a channel fares."
    yield _state_family("commonplace_channel_state", help_text, ["channel"], states, CHANNEL_STATES)


def _leases(services: Services) -> Iterator[Metric]:
    if instance := services.instance():
        yield from instance_metrics(instance, cluster_role(services.channels.health()))


def instance_metrics(instance: InstanceStatus, what: Role) -> Iterator[Metric]:
    """What an instance does among others, also while it has nothing but a lease to wait for."""
    yield _state_family("commonplace_instance_role", "1 for what this instance does.", [], {(): what}, ROLES)
    up = "Whether the server on which instances agree who does what can be asked."
    yield _gauge("commonplace_leases_up", up, not instance.problem)
    held = "Whether this instance holds a lease: a channel, a job, a workspace."
    leases = {(each.name,): float(each.ours) for each in instance.leases}
    yield _gauge_family("commonplace_lease_held", held, ["name"], leases)


def _jobs(jobs: Iterable[JobStatus]) -> Iterator[Metric]:
    named = {(job.name,): job for job in jobs}  # `name`: a label `job` is Prometheus' own
    yield _gauge_family(
        "commonplace_job_running",
        "Whether a job runs.",
        ["name"],
        {name: float(job.running) for name, job in named.items()},
    )
    yield _state_family(
        "commonplace_job_last_outcome",
        "1 for how a job last ended; all 0 before it has.",
        ["name"],
        {name: _outcome(job) for name, job in named.items()},
        JOB_OUTCOMES,
    )
    last = {name: job.last_run for name, job in named.items()}
    yield from _timestamp_family("commonplace_job_last_run", "When a job last began.", last, ["name"])
    following = {name: job.next_run for name, job in named.items()}
    yield from _timestamp_family("commonplace_job_next_run", "When a job is due next.", following, ["name"])


def _outcome(job: JobStatus) -> str:
    return job.last_outcome if job.last_outcome in ("", "ok", "stopped") else "failed"


# -- the forms ----------------------------------------------------------------------------------------------


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=float(value))


def _gauge_family(name: str, help_text: str, labels: list[str], values: Mapping[Key, float]) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _counter_family(name: str, help_text: str, labels: list[str], values: Mapping[Key, float]) -> Metric:
    """`name` without `_total`, which the library adds."""
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
    """A row for each state that something may be in: 1 for the one that it is in."""
    rows = {(*key, each): float(state == each) for key, state in states.items() for each in all_states}
    return _gauge_family(name, help_text, [*labels, "state"], rows)


def _timestamp_family(
    name: str, help_text: str, times: Mapping[Key, str], labels: list[str] | None = None
) -> Iterator[Metric]:
    """ISO 8601 in UTC as seconds since 1970; those that are "" are left out, and where all are, the whole."""
    told = {key: datetime.fromisoformat(at).timestamp() for key, at in times.items() if at}
    if told:
        yield _gauge_family(f"{name}_timestamp_seconds", help_text, labels or [], told)


def _database_bytes(database: Path) -> int | None:
    """What it and its journal take up; None where it is not there."""
    try:
        size = database.stat().st_size
    except OSError:
        return None
    with suppress(OSError):  # there is one only while somebody has it open
        size += database.with_name(f"{database.name}-wal").stat().st_size
    return size
