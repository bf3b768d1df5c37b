"""The panel of the language models."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from bot.models.status import ModelStatus, models_status
from bot.services import Services
from bot.state.model_history import ModelHour
from bot.web.page.chart import Charts, draw_charts, first_hour


@dataclass(frozen=True, slots=True)
class ModelView:
    """One model with all its keys, and its last 24 hours."""

    name: str
    in_chain: bool
    keys: tuple[ModelStatus, ...]
    """At least one; for a model without keys, its number is 0."""
    charts: Charts

    @property
    def paused_until(self) -> float:
        """When its first key will be used again, in seconds since 1970; 0 if one is in use."""
        rests = [key.paused_until for key in self.keys if key.state == "resting"]
        return min(rests) if len(rests) == len(self.keys) else 0.0


async def model_panel(services: Services) -> tuple[ModelView, ...]:
    """Return all models of the settings, in their order."""
    await services.model.health.refresh()
    now = services.model.health.now()
    hours = await services.state.model_history(since=first_hour(now))
    return arrange_models(models_status(services.model.plan, services.model.health), hours, now=now)


def arrange_models(
    statuses: Sequence[ModelStatus], hours: Sequence[ModelHour], *, now: float
) -> tuple[ModelView, ...]:
    """Group statuses and hours by model; `now`: seconds since 1970."""
    by_model: dict[str, list[ModelHour]] = defaultdict(list)
    for hour in hours:
        by_model[hour.model].append(hour)
    return tuple(
        ModelView(name, keys[0].in_chain, keys, draw_charts(by_model[name], now=now))
        for name, group in groupby(statuses, key=lambda status: status.model)
        for keys in [tuple(group)]
    )
