"""Pure: how an instance stands to the others, and what leases are called, for programs and for people."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot import phrases

if TYPE_CHECKING:
    from bot.cluster.lease import LeaseState

SHOWN_ID_CHARS = 4
"""Letters of an id."""
JOB_PREFIX = "job:"
"""With which the names of jobs' leases begin."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """A channel that a second process of this instance serves, for the workspace of one that has died."""

    channel: str
    workspace: str
    """Its id."""
    folder: str
    """Its name here."""
    since: datetime | None
    """Aware; None where that is not known yet."""


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """How this instance stands to the others, as last seen."""

    name: str
    """"" for who only looks on."""
    problem: str = ""
    """Why nobody can tell what the others do; "" where that can be told."""
    leases: "Sequence[LeaseState]" = ()
    """All there are, of all instances, by name."""
    stands_in: Sequence[Takeover] = ()

    def holder(self, lease: "LeaseState", now: datetime) -> str | None:
        """Who has a lease: "" for nobody, None where that is not known. `now` is aware."""
        if lease.ours:
            return lease.holder
        if self.problem:
            return None
        return lease.holder if lease.until and lease.until > now else ""


def channel_lease_name(channel: str, token: str) -> str:
    """What the lease of a bot is called: the token itself goes nowhere."""
    return f"channel:{channel}:{hashlib.sha256(token.encode()).hexdigest()[:16]}"


def workspace_lease_name(workspace: str) -> str:
    """What the lease of a workspace is called, by the workspace's id."""
    return f"workspace:{workspace}"


def format_lease_name(name: str) -> str:
    """What people call what is leased: `Telegram`, `backup`, `workspace 3f2a`."""
    kind, _, what = name.partition(":")
    if kind == "channel":
        channel, _, bot = what.partition(":")
        return phrases.LEASED_CHANNEL.format(channel=channel.capitalize(), bot=bot[:SHOWN_ID_CHARS])
    if kind == "workspace":
        return phrases.LEASED_WORKSPACE.format(workspace=what[:SHOWN_ID_CHARS])
    return phrases.LEASED_JOBS.get(what, name)
