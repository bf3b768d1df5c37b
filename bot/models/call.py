"""One request on its way through the models: whom to ask next, after which wait, and what was tried."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.models.candidate import Candidate, Hooks, Route, Try
from bot.models.errors import BadRequest, ContextTooLong, ModelError, TimedOut, error_of_kind
from bot.models.health import Health, Outcome, RouteName
from bot.models.health_book import HealthBook
from bot.models.order import by_merit
from bot.models.patience import Next, Patience
from bot.models.protocol import Answer, AssistantMessage, ModelRequest, UserMessage
from bot.models.shortening import shortened
from bot.models.tokens import tokens_of_request

log = logging.getLogger(__name__)

SHORTER_AT_MOST = 4
"""How often a request that fits no window is shortened and tried again."""
NEARLY_FULL = 0.9
"""Of a window: a request that is longer by our estimate, which is rough, is taken not to fit."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the settings say about all calls."""

    chain: tuple[Candidate, ...]
    others: tuple[Candidate, ...] = ()
    """Models that only `on_error` or a request's `prefer` lead to."""
    on_error: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By a failure's `kind`, the names of the models to go on with."""
    patience: Patience = field(default_factory=Patience)
    adaptive: bool = False

    candidates: Mapping[str, Candidate] = field(init=False)
    """All of them by name, the chain's first."""

    def __post_init__(self) -> None:
        found = {each.name: each for each in (*self.chain, *self.others)}
        object.__setattr__(self, "candidates", found)


class Call:
    """The state of one call; `routes` gives whom to ask, and goes on when told that it has `failed`."""

    def __init__(
        self,
        request: ModelRequest,
        plan: Plan,
        health: HealthBook,
        *,
        hooks: Hooks | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.request = request
        """As it is to be asked now: it may have been shortened."""
        self.tries: list[Try] = []
        """Every request that was sent in vain, in order."""
        self._plan = plan
        self._health = health
        self._hooks = hooks
        self._sleep = sleep
        self._chance = chance
        self._tokens = tokens_of_request(request)
        self._outcomes: dict[RouteName, Outcome] = {}
        self._probes: list[RouteName] = []
        self._passed_over: dict[str, Candidate] = {}
        self._shown = False

    # -- what happens ------------------------------------------------------------------------------------

    async def routes(self) -> AsyncGenerator[Route, None]:
        """Yield whom to ask. Each time it goes on, `failed` has been called; it ends where nothing is left."""
        waiting = self._in_order()
        for _ in range(1 + SHORTER_AT_MOST):
            too_long: list[Candidate] = []
            asked: set[str] = set()
            while waiting:
                candidate = self._take(waiting)
                asked.add(candidate.name)
                async for route in self._keys(candidate, waiting):
                    yield route
                error = self.tries[-1].error
                if isinstance(error, ContextTooLong):
                    too_long.append(candidate)
                    self._larger_first(waiting, candidate, error)
                self._lead(waiting, error, asked)
                if waiting and self._hooks:
                    self._hooks.on_fallback(candidate.name, self._next_of(waiting).name, error)
            if not too_long or not self._shorten(too_long):
                return
            waiting = too_long

    def failed(self, route: Route, error: ModelError, *, seconds: float, shown: bool) -> None:
        """Record that a try gave no answer; `shown`: part of one was on screen."""
        window = self._window(route.name.model)
        if isinstance(error, BadRequest) and window and self._length_for(route.name) > window * NEARLY_FULL:
            # Some providers tell this in prose alone, which nobody reads here.
            error = ContextTooLong(error.detail, model=error.model)
        error.model = route.name.model
        number = 1 + sum(earlier.route == route.name for earlier in self.tries)
        self.tries.append(Try(route.name, number, seconds, error))
        self._outcomes[route.name] = Outcome(route.name, self._health.now(), error=error, tokens=self._tokens)
        self._shown = shown

    def answered(self, route: Route, answer: Answer, *, seconds: float) -> tuple[ModelError, ...]:
        """Record the answer; give what was tried before in vain, and what was passed over."""
        self._outcomes[route.name] = Outcome(
            route.name,
            self._health.now(),
            usage=answer.usage,
            first_token_seconds=answer.first_token_seconds,
            seconds=seconds,
            tokens=self._tokens,
        )
        tried = {each.route.model for each in self.tries}
        passed_over = [
            self._why_it_rests(candidate)
            for name, candidate in self._passed_over.items()
            if name not in tried and name != route.name.model
        ]
        return (*passed_over, *(each.error for each in self.tries))

    def close(self) -> None:
        """Pass on what was learnt; a call that was stopped says nothing of whom it was asking."""
        for name in self._probes:
            self._health.end_probe(name)
        self._health.record(self._outcomes.values())

    # -- from model to model -----------------------------------------------------------------------------

    def _in_order(self) -> list[Candidate]:
        """All of the chain: who has begun this turn, who was asked for, the others; last whoever has no room."""
        chain = self._by_merit() if self._plan.adaptive else list(self._plan.chain)
        known = self._plan.candidates
        names = (_model_of_this_turn(self.request), self.request.prefer)
        first = [known[name] for name in dict.fromkeys(names) if name in known]
        order = first + [candidate for candidate in chain if candidate not in first]
        return sorted(order, key=self._has_no_room)

    def _by_merit(self) -> list[Candidate]:
        """The chain by how its models fare; a last resort keeps its place."""
        rated = [candidate for candidate in self._plan.chain if not candidate.last_resort]
        healths = [self._best_health(candidate) for candidate in rated]
        best = iter([rated[place] for place in by_merit(healths, now=self._health.now())])
        return [candidate if candidate.last_resort else next(best) for candidate in self._plan.chain]

    def _best_health(self, candidate: Candidate) -> Health:
        route = next(filter(self._is_route_ready, candidate.routes), candidate.routes[0])
        return self._health.of(route.name)

    def _next_of(self, waiting: Sequence[Candidate]) -> Candidate:
        """The first that can be expected to answer; where none can, the first."""
        return next(filter(self._is_ready, waiting), waiting[0])

    def _take(self, waiting: list[Candidate]) -> Candidate:
        chosen = self._next_of(waiting)
        place = waiting.index(chosen)
        self._passed_over |= {each.name: each for each in waiting[:place]}
        return waiting.pop(place)

    def _lead(self, waiting: list[Candidate], error: ModelError, asked: set[str]) -> None:
        """Put the models that the settings name for this kind of failure first."""
        known = self._plan.candidates
        names = [name for name in self._plan.on_error.get(error.kind, ()) if name not in asked]
        led = [known[name] for name in names if name in known]
        waiting[:] = led + [candidate for candidate in waiting if candidate not in led]

    def _larger_first(self, waiting: list[Candidate], refused: Candidate, error: ContextTooLong) -> None:
        """After a window that was too small, put those last that are known to be no larger."""
        window = error.window or self._window(refused.name)
        if window:
            waiting.sort(key=lambda other: 0 < self._window(other.name) <= window)

    def _shorten(self, too_long: Sequence[Candidate]) -> bool:
        """Make the request fit the largest window, or half as long; tell whether that was possible."""
        most = self._tokens // 2
        for candidate in too_long:
            ratio = self._health.of(candidate.routes[0].name).tokens_ratio
            fitting = round((candidate.window or 0) * NEARLY_FULL * NEARLY_FULL / ratio)
            if fitting < self._tokens:  # else the window is not what we take it for
                most = max(most, fitting)
        shorter = shortened(self.request, most)
        if shorter is None:
            return False
        log.info("the request fits no window: tried again with about %d tokens of %d", most, self._tokens)
        self.request, self._tokens = shorter, tokens_of_request(shorter)
        return True

    # -- one model, key after key ------------------------------------------------------------------------

    async def _keys(self, candidate: Candidate, waiting: Sequence[Candidate]) -> AsyncGenerator[Route, None]:
        """Yield a model's routes, as often as patience has it."""
        another_ready = any(map(self._is_ready, waiting))
        keys = [route for route in candidate.routes if self._is_route_ready(route)]
        if not (keys and another_ready):
            keys += [route for route in candidate.routes if route not in keys]
        ready_at = {route.name: 0.0 for route in keys}
        tried = {route.name: 0 for route in keys}
        while keys:
            now = time.monotonic()
            route = min(keys, key=lambda each: max(now, ready_at[each.name]))
            if (wait := ready_at[route.name] - now) > 0:
                await self._sleep(wait)
            if self._health.begin(route.name):
                self._probes.append(route.name)
            tried[route.name] += 1
            yield route
            error = self.tries[-1].error
            decision = self._plan.patience.decide(
                error,
                tries=tried[route.name],
                shown=self._shown,
                another_ready=another_ready,
                chance=self._chance(),
            )
            ready_at[route.name] = time.monotonic() + decision.wait
            match decision.go:
                case Next.OTHER_MODEL:
                    return
                case Next.OTHER_KEY:
                    keys.remove(route)
                case Next.SAME_KEY:
                    keys = [route]
                case Next.ANY_KEY:
                    keys.append(keys.pop(keys.index(route)))
            if keys and self._hooks:
                self._hooks.on_retry(candidate.name, self.tries[-1].number, error)

    # -- what is known of them ---------------------------------------------------------------------------

    def _is_ready(self, candidate: Candidate) -> bool:
        """Whether it can be expected to answer. Who hangs with one key would hang with the next one too."""
        return any(map(self._is_route_ready, candidate.routes)) and not any(map(self._hung, candidate.routes))

    def _hung(self, route: Route) -> bool:
        health = self._health.of(route.name)
        return health.last_error_kind == TimedOut.kind and health.is_resting(self._health.now())

    def _is_route_ready(self, route: Route) -> bool:
        return self._health.is_ready(route.name)

    def _why_it_rests(self, candidate: Candidate) -> ModelError:
        health = self._health.of(candidate.routes[0].name)
        return error_of_kind(health.last_error_kind)(health.last_error, model=candidate.name)

    def _has_no_room(self, candidate: Candidate) -> bool:
        window = self._window(candidate.name)
        return 0 < window * NEARLY_FULL < self._length_for(candidate.routes[0].name)

    def _length_for(self, name: RouteName) -> float:
        """The request's length as this provider counts."""
        return self._tokens * self._health.of(name).tokens_ratio

    def _window(self, name: str) -> int:
        """Tokens; 0 where nothing is known."""
        candidate = self._plan.candidates[name]
        now = self._health.now()
        learnt = [self._health.of(route.name).known_window(now) for route in candidate.routes]
        return min(filter(None, [candidate.window or 0, *learnt]), default=0)


def _model_of_this_turn(request: ModelRequest) -> str:
    """Who wrote the latest step since the person spoke: it goes on with what it has begun; "" for nobody."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return ""
        if isinstance(message, AssistantMessage) and message.calls:
            return message.model
    return ""
