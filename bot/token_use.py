"""Tokens that language models used, today and in the last days, by model."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.models.protocol import Usage

if TYPE_CHECKING:
    from bot.services import Services
    from bot.state.models import DayUsage

USAGE_DAYS = 30


@dataclass(frozen=True, slots=True)
class ModelTokens:
    """What one model used in a period."""

    model: str
    answers: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Two periods in the owner's time zone; models that have not answered are left out, the others are by name."""

    today: tuple[ModelTokens, ...]
    month: tuple[ModelTokens, ...]
    """The last `USAGE_DAYS` days, with today."""


async def read_token_use(services: "Services") -> TokenUse:
    """Return what all models used, up to the latest answer. Raises StateFault."""
    await services.model.health.write()
    today = services.now().date()
    used = await services.state.read_usage((today - timedelta(days=USAGE_DAYS - 1)).isoformat())
    return TokenUse(_sum_up(each for each in used if each.day == today.isoformat()), _sum_up(used))


def _sum_up(used: "Iterable[DayUsage]") -> tuple[ModelTokens, ...]:
    answers: dict[str, int] = defaultdict(int)
    tokens: dict[str, Usage] = defaultdict(Usage)
    for each in used:
        answers[each.model] += each.answers
        tokens[each.model] += each.usage
    return tuple(ModelTokens(model, answers[model], tokens[model]) for model in sorted(answers))
