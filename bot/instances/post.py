"""What this process does among the instances that share a memory, by leases; and what is told of them."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.instances.lease import Lease
from bot.instances.leased_channel import LeasedChannel, Open
from bot.instances.predecessor import Predecessor
from bot.instances.status import JOB, InstanceStatus, StandsIn, channel_lease
from bot.upkeep.upkeep import BACKUP, REINDEX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from bot.instances.leases import Leases
    from bot.instances.stand_in import StandIns

TENURE = "lease-"
JOBS = {REINDEX: "schedule", BACKUP: "backup"}
"""What one instance does for all, with the lease's name."""


class Post:
    """Holds on to the leases of one house: channels and jobs."""

    def __init__(
        self, leases: "Leases", stand_ins: "StandIns", workspace: Lease, *, jobs: Iterable[str] = JOBS
    ) -> None:
        """Want the jobs from now on: those that are done here; `leases` is entered, and `workspace` held."""
        self.workspace = workspace
        self._tenure = workspace.tenure
        self._leases = leases
        self._stand_ins = stand_ins
        self._jobs = {job: leases.want(f"{JOB}{JOBS[job]}") for job in jobs}
        self._channels: dict[str, Lease] = {}

    @property
    def is_kept(self) -> bool:
        """Whether the workspace was ours all the time; else this house is over, even if it is ours once more."""
        return self.workspace.is_held and self.workspace.tenure == self._tenure

    async def close(self) -> None:
        """Leave the jobs to others, once the channels are closed."""
        self._stand_ins.forget()
        for lease in self._jobs.values():
            await lease.give_up()

    def own_locks(self, folder: Path) -> Path:
        """A folder for locks that nobody has who held the workspace before, below one that all processes share."""
        ours = folder / f"{TENURE}{self.workspace.token}"
        for each in folder.glob(f"{TENURE}*/"):
            if each != ours:
                shutil.rmtree(each, ignore_errors=True)
        return ours

    def status(self) -> InstanceStatus:
        """As last seen; asks nobody."""
        known = self._leases.status()
        return replace(known, stands_in=tuple(self._stands_in(known)))

    def _stands_in(self, known: InstanceStatus) -> "Iterator[StandsIn]":
        since = {each.name: each.since for each in known.leases}
        for channel, lease in self._channels.items():
            if folder := self._stand_ins.serves(lease):
                yield StandsIn(channel, lease.last_workspace, folder.name, since.get(lease.name))

    def elsewhere(self, job: str) -> str:
        """Who else does a job; "" where this instance does, for all or for itself.

        It does as well where nobody can tell who does: twice is better than not at all.
        """
        lease = self._jobs.get(job)
        return "" if lease is None or lease.is_held or self._leases.problem else lease.holder

    def channel(
        self,
        name: str,
        token: str,
        *,
        opens: Open,
        take_up: "Callable[[], Awaitable[None]]",
    ) -> LeasedChannel:
        """A channel that this process has while it holds the lease for its bot; to be entered."""
        before = Predecessor(
            channel_lease(name, token),
            workspace=self._leases.instance.workspace,
            states=lambda: tuple(self._leases.all()),
        )

        def leave(lease: Lease) -> bool:
            before.look(lease)
            return self._stand_ins.leaves(lease)

        lease = self._leases.want(channel_lease(name, token), leave=leave)
        self._stand_ins.watch(lease)
        self._channels[name] = lease
        return LeasedChannel(
            name,
            lease,
            opens=opens,
            before=before,
            take_up=take_up,
            problem=lambda: self._leases.problem,
            stood_in_for=lambda: folder.name if (folder := self._stand_ins.serves(lease)) else "",
        )


def others_notes(ours: Path, theirs: Path) -> str:
    """Why the notes in another workspace are not those that are shared; "" where they are."""
    try:
        if ours.samefile(theirs):
            return ""
        names = {each.name for each in ours.glob("*.md")}
        if not names or any((theirs / name).is_file() for name in names):
            return ""  # mounted in two ways
    except OSError as error:
        return f"{theirs} cannot be used ({error.strerror or error})"
    return f"{theirs} does not hold the notes that are shared: mount them there too"
