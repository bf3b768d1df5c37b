"""Services for tests that need only some of them."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from bot.messages import ChannelHealth
from bot.services import Services


def services(**given: Any) -> Services:
    """Return services without those not given: accessing them fails."""
    absent = {
        each.name: None
        for each in fields(Services)
        if each.default is MISSING and each.default_factory is MISSING
    }
    return Services(**{**absent, **given})


@dataclass(frozen=True, slots=True)
class ChannelsAt:
    """Channels that only report their health."""

    health: Callable[[], Mapping[str, ChannelHealth]]
