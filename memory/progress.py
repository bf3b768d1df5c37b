"""Progress of long-running jobs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

JobName = Literal["indexing", "rebuilding", "embedding"]

ReportProgress = Callable[[int, int], None]
"""Called with the number done and the total."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """One job at one moment."""

    job: JobName
    done: int
    total: int
    seconds: float
    """Seconds since the job began."""

    @property
    def per_second(self) -> float:
        """The average rate so far."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left; None while there is no estimate."""
        return (self.total - self.done) / self.per_second if self.per_second else None


@dataclass(slots=True)
class RunningJobs:
    """Jobs that are running now; one thread reports, another reads."""

    _jobs: dict[JobName, tuple[float, int, int]] = field(default_factory=dict)

    def tell(self, job: JobName) -> ReportProgress:
        """Begin a job; return the function that reports its progress."""
        began = time.monotonic()
        self._jobs[job] = (began, 0, 0)

        def tell(done: int, total: int) -> None:
            self._jobs[job] = (began, done, total)

        return tell

    def end(self, job: JobName) -> None:
        """Remove a job."""
        self._jobs.pop(job, None)

    def now(self) -> tuple[JobProgress, ...]:
        """Return the jobs that have something to do."""
        moment = time.monotonic()
        jobs = list(self._jobs.items())
        return tuple(
            JobProgress(job, done, total, moment - began) for job, (began, done, total) in jobs if total
        )
