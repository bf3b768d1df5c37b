"""How far a long job has come."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

JobName = Literal["indexing", "rebuilding", "embedding"]

ReportProgress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """One job at one moment; times in seconds."""

    job: JobName
    done: int
    total: int
    seconds: float
    """How long it has been running."""

    @property
    def per_second(self) -> float:
        """Rate so far."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At this rate; None while that cannot be told."""
        return (self.total - self.done) / self.per_second if self.per_second else None


@dataclass(slots=True)
class RunningJobs:
    """The jobs that run now; told by one thread, asked by another."""

    _jobs: dict[JobName, tuple[float, int, int]] = field(default_factory=dict)

    def tell(self, job: JobName) -> ReportProgress:
        """Begin a job; gives what is to be told of it."""
        began = time.monotonic()
        self._jobs[job] = (began, 0, 0)

        def tell(done: int, total: int) -> None:
            self._jobs[job] = (began, done, total)

        return tell

    def end(self, job: JobName) -> None:
        """Forget a job."""
        self._jobs.pop(job, None)

    def now(self) -> tuple[JobProgress, ...]:
        """Those that have something to do."""
        moment = time.monotonic()
        jobs = list(self._jobs.items())
        return tuple(
            JobProgress(job, done, total, moment - began) for job, (began, done, total) in jobs if total
        )
