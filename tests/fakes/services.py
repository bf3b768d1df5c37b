"""Services of which a test needs a few."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from bot.messages import ChannelHealth
from bot.services import Services


def services(**given: Any) -> Services:
    """Return services of which the others are absent: whoever reaches for them fails."""
    absent = {
        each.name: None
        for each in fields(Services)
        if each.default is MISSING and each.default_factory is MISSING
    }
    return Services(**{**absent, **given})


@dataclass(frozen=True, slots=True)
class ChannelsAt:
    """Channels of which only the health is asked."""

    health: Callable[[], Mapping[str, ChannelHealth]]
