"""What lies behind the guard: all that the status page, JSON-RPC and the metrics show and do."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from bot.log.troubles import Trouble
from bot.measures import Measures
from bot.messages import ChannelHealth
from bot.models.fallback import FallbackModel
from bot.state.database import State
from bot.upkeep.rebuilding import Rebuilding
from bot.upkeep.upkeep import Upkeep
from memory.memory import Memory

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from bot.instances.status import InstanceStatus
    from bot.supervision import TaskFailure


@dataclass(frozen=True, slots=True)
class Inside:
    """The parts of the assistant, as the HTTP side reaches for them."""

    name: Callable[[], str]
    """What the assistant is called."""
    token: str
    """What whoever comes in must know; "" for none, on this machine alone."""
    memory: Memory
    rebuilding: Rebuilding
    state: State
    model: FallbackModel
    channels: Callable[[], Mapping[str, ChannelHealth]]
    upkeep: Upkeep
    measures: Measures
    private: Path
    """The folder that holds index.db and state.db."""
    now: Callable[[], datetime]
    """The time on the owner's clock; aware."""
    troubles: Callable[[], Sequence[Trouble]] = tuple
    """What went wrong lately, the latest first."""
    troubles_by_level: Callable[[], Mapping[str, int]] = dict
    """How much went wrong since the start, by level."""
    task_failures: "Callable[[], Sequence[TaskFailure]]" = tuple
    """The long-lived tasks of the service that have failed and have not recovered yet."""
    proxies: Sequence["IPv4Network | IPv6Network"] = ()
    """In front of the service; what they tell of where a request comes from is believed."""
    instance: Callable[[], "InstanceStatus | None"] = lambda: None
    """How this instance stands to others; None where it shares nothing with any."""
    started: float = field(default_factory=time.monotonic)
    """When the service did, in seconds of the monotonic clock."""


inside_key = web.AppKey("inside", Inside)
