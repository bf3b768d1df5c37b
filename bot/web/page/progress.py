"""What runs just now in the memory, and how the last rebuild went."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.maintenance.rebuild import RebuildResult
from bot.progress import format_duration
from bot.services import Services
from bot.web.page.times import PageClock, ShownTime
from memory.progress import JobName, JobProgress

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Fetching


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as far as it is."""

    job: JobName
    done: int
    total: int
    rate: str
    """How many a second; "" before the first is done."""
    left: str
    """For how long at this rate; "" while that cannot be told."""


@dataclass(frozen=True, slots=True)
class DownloadView:
    """A model on its way to this machine; sizes in millions of bytes."""

    done: int
    total: int
    """0 where that is not known."""
    left: str


@dataclass(frozen=True, slots=True)
class ProgressView:
    """All of it."""

    rebuilds: bool
    """Whether the index is being built anew, be it that nothing can be told of it yet."""
    jobs: tuple[JobView, ...]
    fetching: DownloadView | None
    last: RebuildResult | None
    """How the last rebuild ended."""
    last_at: ShownTime | None

    @property
    def runs(self) -> bool:
        """Whether anything does."""
        return bool(self.rebuilds or self.jobs or self.fetching)


def progress_view(services: Services) -> ProgressView:
    """How far all is; costs nothing, so that it can be asked twice a second."""
    fetching, last = services.memory.fetching(), services.rebuilding.last
    return ProgressView(
        rebuilds=services.rebuilding.is_running,
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
        rate=f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}" if rate else "",
        left="" if left is None else format_duration(left),
    )


def _download_view(progress: "Fetching") -> DownloadView:
    left = progress.seconds_left
    return DownloadView(
        round(progress.done / 1e6),
        round((progress.total or 0) / 1e6),
        "" if left is None else format_duration(left),
    )
