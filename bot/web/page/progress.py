"""What runs just now in the memory, and how the last rebuild went."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.progress_line import duration
from bot.services import Services
from bot.upkeep.rebuilding import Rebuilt
from bot.web.page.clock import Clock, Moment
from memory.progress import Job, Progress

if TYPE_CHECKING:
    from memory.embeddings.model_files import Progress as Fetching


@dataclass(frozen=True, slots=True)
class JobShown:
    """One job as far as it is."""

    job: Job
    done: int
    total: int
    rate: str
    """How many a second; "" before the first is done."""
    left: str
    """For how long at this rate; "" while that cannot be told."""


@dataclass(frozen=True, slots=True)
class FetchingShown:
    """A model on its way to this machine; sizes in millions of bytes."""

    done: int
    total: int
    """0 where that is not known."""
    left: str


@dataclass(frozen=True, slots=True)
class ProgressShown:
    """All of it."""

    rebuilds: bool
    """Whether the index is being built anew, be it that nothing can be told of it yet."""
    jobs: tuple[JobShown, ...]
    fetching: FetchingShown | None
    last: Rebuilt | None
    """How the last rebuild ended."""
    last_at: Moment | None

    @property
    def runs(self) -> bool:
        """Whether anything does."""
        return bool(self.rebuilds or self.jobs or self.fetching)


def progress_shown(services: Services) -> ProgressShown:
    """How far all is; costs nothing, so that it can be asked twice a second."""
    fetching, last = services.memory.fetching(), services.rebuilding.last
    return ProgressShown(
        rebuilds=services.rebuilding.runs,
        jobs=tuple(map(_job, services.memory.jobs())),
        fetching=_fetching(fetching) if fetching else None,
        last=last,
        last_at=Clock(services.now()).at(last.at) if last else None,
    )


def _job(progress: Progress) -> JobShown:
    rate, left = progress.per_second, progress.seconds_left
    return JobShown(
        progress.job,
        progress.done,
        progress.total,
        rate=f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}" if rate else "",
        left="" if left is None else duration(left),
    )


def _fetching(progress: "Fetching") -> FetchingShown:
    left = progress.seconds_left
    return FetchingShown(
        round(progress.done / 1e6),
        round((progress.total or 0) / 1e6),
        "" if left is None else duration(left),
    )
