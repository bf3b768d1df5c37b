"""What this process does among the instances that share a memory, by leases; and what is told of them."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cluster.lease import Lease
from bot.cluster.leased_channel import LeasedChannel, OpenAdapter
from bot.cluster.previous_holder import PreviousHolder
from bot.cluster.status import JOB_PREFIX, InstanceStatus, Takeover, channel_lease_name
from bot.maintenance.background import BACKUP, REINDEX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from bot.cluster.leases import Leases
    from bot.cluster.takeover import Takeovers

EPOCH_PREFIX = "lease-"
LEASED_JOBS = {REINDEX: "schedule", BACKUP: "backup"}
"""What one instance does for all, with the lease's name."""


class Membership:
    """Holds on to the leases of one house: channels and jobs."""

    def __init__(
        self, leases: "Leases", stand_ins: "Takeovers", workspace: Lease, *, jobs: Iterable[str] = LEASED_JOBS
    ) -> None:
        """Want the jobs from now on: those that are done here; `leases` is entered, and `workspace` held."""
        self.workspace = workspace
        self._tenure = workspace.epoch
        self._leases = leases
        self._stand_ins = stand_ins
        self._jobs = {job: leases.want(f"{JOB_PREFIX}{LEASED_JOBS[job]}") for job in jobs}
        self._channels: dict[str, Lease] = {}

    @property
    def is_uninterrupted(self) -> bool:
        """Whether the workspace was ours all the time; else this house is over, even if it is ours once more."""
        return self.workspace.is_held and self.workspace.epoch == self._tenure

    async def close(self) -> None:
        """Leave the jobs to others, once the channels are closed."""
        self._stand_ins.forget_leases()
        for lease in self._jobs.values():
            await lease.give_up()

    def lock_folder(self, folder: Path) -> Path:
        """A folder for locks that nobody has who held the workspace before, below one that all processes share."""
        ours = folder / f"{EPOCH_PREFIX}{self.workspace.token}"
        for each in folder.glob(f"{EPOCH_PREFIX}*/"):
            if each != ours:
                shutil.rmtree(each, ignore_errors=True)
        return ours

    def status(self) -> InstanceStatus:
        """As last seen; asks nobody."""
        known = self._leases.status()
        return replace(known, stands_in=tuple(self._takeovers(known)))

    def _takeovers(self, known: InstanceStatus) -> "Iterator[Takeover]":
        since = {each.name: each.since for each in known.leases}
        for channel, lease in self._channels.items():
            if folder := self._stand_ins.served_folder(lease):
                yield Takeover(channel, lease.last_workspace, folder.name, since.get(lease.name))

    def other_holder(self, job: str) -> str:
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
        opens: OpenAdapter,
        take_up: "Callable[[], Awaitable[None]]",
    ) -> LeasedChannel:
        """A channel that this process has while it holds the lease for its bot; to be entered."""
        before = PreviousHolder(
            channel_lease_name(name, token),
            workspace=self._leases.instance.workspace,
            states=lambda: tuple(self._leases.snapshot()),
        )

        def leave(lease: Lease) -> bool:
            before.observe(lease)
            return self._stand_ins.is_left_to_takeover(lease)

        lease = self._leases.want(channel_lease_name(name, token), leave=leave)
        self._stand_ins.serve_if_known(lease)
        self._channels[name] = lease
        return LeasedChannel(
            name,
            lease,
            opens=opens,
            before=before,
            take_up=take_up,
            problem=lambda: self._leases.problem,
            stood_in_for=lambda: folder.name if (folder := self._stand_ins.served_folder(lease)) else "",
        )


def foreign_notes_problem(ours: Path, theirs: Path) -> str:
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
