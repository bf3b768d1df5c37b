"""Running jobs of the memory, and the result of the last rebuild."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.maintenance.requested_job import JobResult
from bot.quantities import duration_in_words
from bot.services import Services
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.translation import decimal
from memory.progress import JobName, JobProgress

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Fetching
    from memory.sync import SyncReport


@dataclass(frozen=True, slots=True)
class JobView:
    """The progress of one job."""

    job: JobName
    done: int
    total: int
    rate: str
    """Items per second; "" before the first is done."""
    left: str
    """Remaining time at this rate; "" if unknown."""


@dataclass(frozen=True, slots=True)
class DownloadView:
    """The download of a model; sizes in millions of bytes."""

    done: int
    total: int
    """0 if unknown."""
    left: str


@dataclass(frozen=True, slots=True)
class ProgressView:
    """All progress that the page shows."""

    rebuilds: bool
    """Whether the index is being rebuilt, even if there is no progress to show yet."""
    jobs: tuple[JobView, ...]
    fetching: DownloadView | None
    last: "JobResult[SyncReport] | None"
    """The result of the last rebuild."""
    last_at: ShownTime | None

    @property
    def runs(self) -> bool:
        """Whether anything is running."""
        return bool(self.rebuilds or self.jobs or self.fetching)


def progress_view(services: Services) -> ProgressView:
    """Return all progress; cheap, since the page asks twice a second."""
    fetching, last = services.memory.fetching(), services.index_rebuilder.last
    return ProgressView(
        rebuilds=services.index_rebuilder.is_running,
        jobs=tuple(map(_job_view, services.memory.jobs())),
        fetching=_download_view(fetching) if fetching else None,
        last=last,
        last_at=PageClock(services.now()).at(last.at) if last else None,
    )


def _job_view(progress: JobProgress) -> JobView:
    rate, left = progress.per_second, progress.seconds_left
    return JobView(
        progress.job,
        progress.done,
        progress.total,
        rate=decimal(rate, 0 if rate >= 10 else 1) if rate else "",
        left="" if left is None else duration_in_words(left),
    )


def _download_view(progress: "Fetching") -> DownloadView:
    left = progress.seconds_left
    return DownloadView(
        round(progress.done / 1e6),
        round((progress.total or 0) / 1e6),
        "" if left is None else duration_in_words(left),
    )
