"""The status of the instances, and names of leases for programs and for people; no I/O."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot import phrases

if TYPE_CHECKING:
    from bot.cluster.lease import LeaseState

SHOWN_ID_CHARS = 4
"""Number of an id's characters that are shown."""
JOB_PREFIX = "job:"
"""Prefix of the names of jobs' leases."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """A channel that a takeover process of this instance serves for the workspace of a dead one."""

    channel: str
    workspace: str
    """The workspace's id."""
    folder: str
    """Name of the workspace's folder on this machine."""
    since: datetime | None
    """Aware; None if not known yet."""


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """The status of the instances, as one of them or an observer last saw it."""

    name: str
    """Name of this instance; "" for an observer."""
    problem: str = ""
    """Why the status of the others is unknown; "" if it is known."""
    leases: "Sequence[LeaseState]" = ()
    """All leases of all instances, by name."""
    stands_in: Sequence[Takeover] = ()

    def holder(self, lease: "LeaseState", now: datetime) -> str | None:
        """Return who holds a lease: "" for nobody, None if unknown. `now` is aware."""
        if lease.ours:
            return lease.holder
        if self.problem:
            return None
        return lease.holder if lease.until and lease.until > now else ""


def channel_lease_name(channel: str, token: str) -> str:
    """Return the name of a bot's lease; holds a hash instead of the token."""
    return f"channel:{channel}:{hashlib.sha256(token.encode()).hexdigest()[:16]}"


def workspace_lease_name(workspace: str) -> str:
    """Return the name of a workspace's lease; `workspace` is its id."""
    return f"workspace:{workspace}"


def format_lease_name(name: str) -> str:
    """Return a lease's name for people, such as `Telegram`, `backup` or `workspace 3f2a`."""
    kind, _, what = name.partition(":")
    if kind == "channel":
        channel, _, bot = what.partition(":")
        return phrases.LEASED_CHANNEL.format(channel=channel.capitalize(), bot=bot[:SHOWN_ID_CHARS])
    if kind == "workspace":
        return phrases.LEASED_WORKSPACE.format(workspace=what[:SHOWN_ID_CHARS])
    return phrases.LEASED_JOBS.get(what, name)
