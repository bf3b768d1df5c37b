"""The page of the language models: their health, their last day, and the tokens that they used."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.models.status import ModelStatus, models_status
from bot.state.database import StateFault
from bot.state.model_history import ModelHour
from bot.token_use import TokenUse, read_token_use
from bot.web.context import services_key, token_of
from bot.web.forms import add_form
from bot.web.page.chart import Charts, draw_charts, first_hour
from bot.web.page.done import done_response, read_done
from bot.web.page.panel import Panel, load_panel
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock

if TYPE_CHECKING:
    from bot.services import Services

MODELS = "/models"
RESET = "/models/reset"


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


@dataclass(frozen=True, slots=True)
class TokensView:
    """The tokens of all models, and the budget of a day."""

    use: TokenUse
    limit: int
    """Tokens of a day; 0 for no limit."""
    used: int
    """Today's tokens, as they count towards the limit."""

    @property
    def share(self) -> float:
        """How much of the limit is used, 0 to 1."""
        return min(self.used / self.limit, 1.0) if self.limit else 0.0


@dataclass(frozen=True, slots=True)
class ModelsView:
    """The values of the template."""

    models: Panel[tuple[ModelView, ...]]
    tokens: Panel[TokensView]
    clock: PageClock


def add_models(app: web.Application) -> None:
    """Add the page and its form to the application."""
    app.router.add_get(MODELS, _models)
    add_form(app, RESET, _reset)


async def model_panel(services: "Services") -> tuple[ModelView, ...]:
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


async def _models_view(services: "Services") -> ModelsView:
    models, tokens = await asyncio.gather(load_panel(model_panel(services)), load_panel(_tokens(services)))
    return ModelsView(models, tokens, PageClock(services.now()))


async def _tokens(services: "Services") -> TokensView:
    used = await services.budget.read_used()
    return TokensView(await read_token_use(services), services.budget.limit, used)


async def _models(request: web.Request) -> web.Response:
    return await _show(request, done=read_done(request, {"reset": phrases.MODELS_RESET}))


async def _reset(request: web.Request) -> web.Response:
    try:
        await request.app[services_key].model.health.reset()
    except StateFault as fault:
        return await _show(request, status=503, problem=localize(fault))
    return done_response(MODELS, "reset")


async def _show(
    request: web.Request, *, status: int = 200, done: str = "", problem: str = ""
) -> web.Response:
    services = request.app[services_key]
    return page_response(
        request,
        "models.html",
        status=status,
        here=MODELS,
        shown=await _models_view(services),
        can_reset=bool(token_of(services)),
        done=done,
        problem=problem,
    )
