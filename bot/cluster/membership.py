"""What this process does among the instances that share a memory, as its leases decide."""

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
"""Jobs that one instance does for all, with the names of their leases."""


class Membership:
    """The leases of one workspace session: its channels and jobs."""

    def __init__(
        self, leases: "Leases", takeovers: "Takeovers", workspace: Lease, *, jobs: Iterable[str] = LEASED_JOBS
    ) -> None:
        """Start wanting the leases of `jobs`; `leases` is entered and `workspace` held."""
        self.workspace = workspace
        self._epoch = workspace.epoch
        self._leases = leases
        self._takeovers = takeovers
        self._jobs = {job: leases.want(f"{JOB_PREFIX}{LEASED_JOBS[job]}") for job in jobs}
        self._channels: dict[str, Lease] = {}

    @property
    def is_uninterrupted(self) -> bool:
        """Whether the workspace was held without a gap since the start; after a gap this session is over."""
        return self.workspace.is_held and self.workspace.epoch == self._epoch

    async def close(self) -> None:
        """Give the jobs up once the channels are closed."""
        self._takeovers.forget_leases()
        for lease in self._jobs.values():
            await lease.give_up()

    def lock_folder(self, folder: Path) -> Path:
        """Return a folder for locks below `folder` that no earlier holder of the workspace uses; delete older ones."""
        ours = folder / f"{EPOCH_PREFIX}{self.workspace.token}"
        for each in folder.glob(f"{EPOCH_PREFIX}*/"):
            if each != ours:
                shutil.rmtree(each, ignore_errors=True)
        return ours

    def status(self) -> InstanceStatus:
        """Return the instances' status as last seen; no I/O."""
        known = self._leases.status()
        return replace(known, stands_in=tuple(self._iter_takeovers(known)))

    def _iter_takeovers(self, known: InstanceStatus) -> "Iterator[Takeover]":
        since = {each.name: each.since for each in known.leases}
        for channel, lease in self._channels.items():
            if folder := self._takeovers.served_folder(lease):
                yield Takeover(channel, lease.last_workspace, folder.name, since.get(lease.name))

    def other_holder(self, job: str) -> str:
        """Return the name of the other instance that does a job; "" if this one does.

        This instance also does it if the holder is unknown: twice is better than never.
        """
        lease = self._jobs.get(job)
        return "" if lease is None or lease.is_held or self._leases.problem else lease.holder

    def channel(
        self,
        name: str,
        token: str,
        *,
        opens: OpenAdapter,
        resume: "Callable[[], Awaitable[None]]",
    ) -> LeasedChannel:
        """Return a channel that this process serves while it holds the bot's lease; the caller enters it."""
        before = PreviousHolder(
            channel_lease_name(name, token),
            workspace=self._leases.instance.workspace,
            states=lambda: tuple(self._leases.snapshot()),
        )

        def leave(lease: Lease) -> bool:
            before.observe(lease)
            return self._takeovers.is_left_to_takeover(lease)

        lease = self._leases.want(channel_lease_name(name, token), leave=leave)
        self._takeovers.serve_if_known(lease)
        self._channels[name] = lease
        return LeasedChannel(
            name,
            lease,
            opens=opens,
            before=before,
            resume=resume,
            problem=lambda: self._leases.problem,
            stood_in_for=lambda: folder.name if (folder := self._takeovers.served_folder(lease)) else "",
        )


def foreign_notes_problem(ours: Path, theirs: Path) -> str:
    """Return why another workspace does not hold the shared notes; "" if it does."""
    try:
        if ours.samefile(theirs):
            return ""
        names = {each.name for each in ours.glob("*.md")}
        if not names or any((theirs / name).is_file() for name in names):
            return ""  # the same folder, mounted in two ways
    except OSError as error:
        return f"{theirs} cannot be used ({error.strerror or error})"
    return f"{theirs} does not hold the notes that are shared: mount them there too"
