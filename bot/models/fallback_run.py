"""One request's run through the models: whom to ask next, how long to wait first, and what was tried."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace

from bot.models.breakers import Breakers
from bot.models.candidate import FailedAttempt, FallbackHooks, ModelCandidate, Route
from bot.models.errors import ContextTooLong, ModelError, PerhapsTooLong, TimedOut, error_of_kind
from bot.models.health import NOT_MODEL_FAULTS, CallOutcome, Health, RouteName
from bot.models.image_fallback import has_pictures
from bot.models.key_rotation import KeyRotation
from bot.models.protocol import Answer, ModelRequest
from bot.models.ranking import rank_by_health
from bot.models.request_fit import RequestFit
from bot.models.retry import NextStep
from bot.models.routing import Routing

MAX_SHORTENINGS = 4
"""Maximum times that a request which fits no window is shortened and retried."""


class FallbackRun:
    """The state of one call; the caller iterates `routes` and reports each `failed` route."""

    def __init__(
        self,
        request: ModelRequest,
        plan: Routing,
        health: Breakers,
        *,
        hooks: FallbackHooks,
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
    ) -> None:
        self.tries: list[FailedAttempt] = []
        """Every failed attempt, in order."""
        self._plan = plan
        self._health = health
        self._hooks = hooks
        self._sleep = sleep
        self._chance = chance
        self._fit = RequestFit(request, plan, health)
        self._outcomes: dict[RouteName, CallOutcome] = {}
        self._probes: list[RouteName] = []
        self._skipped: dict[str, ModelCandidate] = {}
        self._asked: set[str] = set()
        self._reported_failed: set[RouteName] = set()  # reported to other calls as failed
        self._unusable_keys: set[RouteName] = set()  # keys that are unusable in this call
        self._paused: list[ModelCandidate] = []  # with paused keys, while others were ready
        self._shown = False
        self._ever_shown = False  # by any attempt

    @property
    def request(self) -> ModelRequest:
        """The request as currently sent; it may have been shortened."""
        return self._fit.request

    # -- events -----------------------------------------------------------------------------------------

    async def routes(self) -> AsyncGenerator[Route, None]:
        """Yield the routes to ask, until none is left.

        The caller calls `failed` before asking for the next one. Raises ContextTooLong if no window holds the
        request and it may not be shortened.
        """
        waiting = self._order_candidates()
        too_long: list[ModelCandidate] = []
        shorter = 0
        while True:
            # The last resort answers only if no language model does, even after shortening.
            if too_long and (not waiting or self._pick_next(waiting).last_resort):
                waiting[:0] = filter(self._fit.is_suspect, too_long)
                if sure := [each for each in too_long if not self._fit.is_suspect(each)]:
                    self._check_may_shorten(self._latest_too_long())
                    if shorter < MAX_SHORTENINGS and self._fit.shorten(sure):
                        waiting[:0] = sorted(sure, key=self._fit.has_no_room)
                        shorter += 1
                too_long = []
            if not waiting:
                waiting, self._paused = self._paused, []
            if not waiting:
                return
            candidate = self._take(waiting)
            whole = self._fit.request, self._fit.tokens
            if self._fit.is_suspect(candidate):
                if not self._fit.shorten([candidate]):
                    continue
            elif self._fit.is_sure_to_refuse(candidate):
                if roomy := self._find_roomier(candidate, waiting):
                    waiting = [*roomy, candidate, *(each for each in waiting if each not in roomy)]
                    continue
                self._check_may_shorten(
                    ContextTooLong("its context window is too small", model=candidate.name)
                )
                self._fit.shorten([candidate])
            self._asked.add(candidate.name)
            async for route in self._try_routes(candidate, waiting):
                yield route
            self._flush_outcomes()
            error = self.tries[-1].error
            if isinstance(error, ContextTooLong):
                too_long.append(candidate)
                self._sort_by_window(waiting, candidate, error)
            else:  # shortened for this model alone; the next gets it whole
                self._fit.request, self._fit.tokens = whole
            waiting[:0] = self._take_configured(error, waiting)
            if waiting:
                self._hooks.on_fallback(candidate.name, self._pick_next(waiting).name, error)

    def failed(self, route: Route, error: ModelError, *, shown: bool) -> None:
        """Record that an attempt failed; `shown`: part of its answer was on screen."""
        model = route.name.model
        error = self._fit.classify(route.name, error)
        error.model = model
        number = 1 + sum(earlier.route == route.name for earlier in self.tries)
        self.tries.append(FailedAttempt(route.name, number, error))
        outcome = CallOutcome(route.name, self._health.now(), error=error, tokens=self._fit.tokens)
        self._fit.clear_suspect(model)  # a call counts once
        if isinstance(error, PerhapsTooLong):
            self._fit.suspect(outcome)
        else:
            self._outcomes[route.name] = outcome
        self._shown = shown
        self._ever_shown = self._ever_shown or shown

    def answered(self, route: Route, answer: Answer, *, seconds: float) -> tuple[ModelError, ...]:
        """Record the answer; return the failed attempts before it and the models that were skipped."""
        if rejection := self._fit.confirm_suspect(route.name.model):
            self._health.record([rejection])
        self._outcomes[route.name] = CallOutcome(
            route.name,
            self._health.now(),
            usage=answer.usage,
            first_token_seconds=answer.first_token_seconds,
            seconds=seconds,
            tokens=self._fit.tokens,
        )
        tried = {each.route.model for each in self.tries}
        skipped = [
            self._last_error_of(candidate)
            for name, candidate in self._skipped.items()
            if name not in tried and name != route.name.model
        ]
        return (*skipped, *(each.error for each in self.tries))

    def stands_in(self, route: Route) -> bool:
        """Return whether this route is no language model although one was configured."""
        return self._plan.candidates[route.name.model].last_resort and not self._plan.chain[0].last_resort

    def close(self) -> None:
        """Report what was learnt; a cancelled call says nothing about the model it was asking."""
        for name in self._probes:
            self._health.end_probe(name)
        for guess in self._fit.unconfirmed():
            self._outcomes.setdefault(guess.route, guess)
        self._flush_outcomes()

    def _flush_outcomes(self) -> None:
        """Report to other calls how the models left behind have fared."""
        blames = {outcome.route for outcome in self._outcomes.values() if _is_model_fault(outcome.error)}
        # After the request is shortened a route may fail twice in one call, which counts once.
        told = blames & self._reported_failed
        self._health.record(outcome for outcome in self._outcomes.values() if outcome.route not in told)
        self._reported_failed |= blames
        self._outcomes.clear()

    # -- from model to model -----------------------------------------------------------------------------

    def _order_candidates(self) -> list[ModelCandidate]:
        """Return all candidates of the chain: the preferred first, those without room or image support last."""
        chain = self._rank_chain() if self._plan.adaptive else list(self._plan.chain)
        known = self._plan.candidates
        first = [known[self.request.prefer]] if self.request.prefer in known else []
        order = first + [candidate for candidate in chain if candidate not in first]
        if not self._plan.fallback:
            return list(filter(self._may_be_asked, order[:1]))
        order = list(filter(self._may_be_asked, order))
        end = _find_last_resort(order)
        return sorted(order[:end], key=self._sort_key) + order[end:]

    def _may_be_asked(self, candidate: ModelCandidate) -> bool:
        return not (candidate.last_resort and self.request.language_model_only)

    def _rank_chain(self) -> list[ModelCandidate]:
        """Return the chain ranked by health; a last resort keeps its place."""
        rated = [candidate for candidate in self._plan.chain if not candidate.last_resort]
        healths = [self._best_health(candidate) for candidate in rated]
        asked_at = [max(self._health.asked_at(route.name) for route in each.routes) for each in rated]
        best = iter(
            [rated[place] for place in rank_by_health(healths, asked_at=asked_at, now=self._health.now())]
        )
        return [candidate if candidate.last_resort else next(best) for candidate in self._plan.chain]

    def _best_health(self, candidate: ModelCandidate) -> Health:
        route = next(filter(self._is_route_ready, candidate.routes), candidate.routes[0])
        return self._health.of(route.name)

    def _pick_next(self, waiting: Sequence[ModelCandidate]) -> ModelCandidate:
        """Return the first that is ready, or else the first."""
        return next(filter(self._is_ready, waiting), waiting[0])

    def _take(self, waiting: list[ModelCandidate]) -> ModelCandidate:
        chosen = self._pick_next(waiting)
        place = waiting.index(chosen)
        self._skipped |= {each.name: each for each in waiting[:place]}
        return waiting.pop(place)

    def _take_configured(self, error: ModelError, waiting: list[ModelCandidate]) -> list[ModelCandidate]:
        """Take the models configured for this kind of failure from `waiting`, or from outside the chain."""
        led = self._find_configured(error)
        waiting[:] = [candidate for candidate in waiting if candidate not in led]
        return led

    def _find_configured(self, error: ModelError) -> list[ModelCandidate]:
        known = self._plan.candidates
        kind = ContextTooLong.kind if isinstance(error, ContextTooLong) else error.kind
        names = dict.fromkeys(self._plan.on_error.get(kind, ()))
        led = [known[name] for name in names if name in known and name not in self._asked]
        return list(filter(self._may_be_asked, led))

    def _sort_by_window(
        self, waiting: list[ModelCandidate], refused: ModelCandidate, error: ContextTooLong
    ) -> None:
        """After a window that was too small, move those known not to be larger to the end."""
        window = error.window or self._fit.window(refused.name)
        if window:
            end = _find_last_resort(waiting)
            waiting[:end] = sorted(
                waiting[:end], key=lambda other: 0 < self._fit.window(other.name) <= window
            )

    def _check_may_shorten(self, error: ContextTooLong) -> None:
        """Raise `error` if the request may not be shortened.

        Once a part is on screen it is better to go on with less.
        """
        if not self.request.may_shorten and not self._ever_shown:
            raise error

    def _latest_too_long(self) -> ContextTooLong:
        errors = [each.error for each in self.tries if isinstance(each.error, ContextTooLong)]
        sure = [error for error in errors if not isinstance(error, PerhapsTooLong)]
        return sure[-1] if sure else ContextTooLong("it fits no context window")

    # -- one model, key after key ------------------------------------------------------------------------

    async def _try_routes(
        self, candidate: ModelCandidate, waiting: Sequence[ModelCandidate]
    ) -> AsyncGenerator[Route, None]:
        """Yield a model's routes as often as the retry policy allows."""
        keys = KeyRotation(self._select_keys(candidate, waiting))
        while not keys.is_exhausted:
            route, wait = keys.take_next(time.monotonic())
            if wait > 0:
                await self._sleep(wait)
            if self._health.begin(route.name):
                self._probes.append(route.name)
            yield route
            error = self.tries[-1].error
            decision = self._plan.retry.decide(
                error,
                tries=keys.tries(route),
                shown=self._shown,
                another_ready=any(map(self._is_ready, [*waiting, *self._find_configured(error)])),
                chance=self._chance(),
            )
            if decision.next_step is NextStep.OTHER_KEY:
                self._unusable_keys.add(route.name)
            keys.apply(decision, route, time.monotonic())
            if not keys.is_exhausted:
                self._hooks.on_retry(candidate.name, self.tries[-1].number, error)

    def _select_keys(self, candidate: ModelCandidate, waiting: Sequence[ModelCandidate]) -> list[Route]:
        """Return a model's keys to ask with: paused keys last, or only later if others are ready."""
        alive = [route for route in candidate.routes if route.name not in self._unusable_keys]
        self._paused = [each for each in self._paused if each.name != candidate.name]
        keys = [route for route in alive if self._is_route_ready(route)]
        resting = [route for route in alive if route not in keys]
        if not (keys and any(map(self._is_ready, waiting))):
            keys += resting
        elif resting:
            self._paused.append(replace(candidate, routes=tuple(resting)))
        return keys

    # -- state of candidates ----------------------------------------------------------------------------

    def _is_ready(self, candidate: ModelCandidate) -> bool:
        """Return whether it is likely to answer. A model that hangs with one key would hang with the next too."""
        return any(map(self._is_route_ready, candidate.routes)) and not any(
            map(self._has_hung, candidate.routes)
        )

    def _has_hung(self, route: Route) -> bool:
        health = self._health.of(route.name)
        return health.last_error_kind == TimedOut.kind and health.is_open(self._health.now())

    def _is_route_ready(self, route: Route) -> bool:
        return self._health.is_ready(route.name)

    def _last_error_of(self, candidate: ModelCandidate) -> ModelError:
        route = next(
            (each for each in candidate.routes if not self._is_route_ready(each)), candidate.routes[0]
        )
        health = self._health.of(route.name)
        return error_of_kind(health.last_error_kind)(health.last_error, model=candidate.name)

    def _find_roomier(
        self, candidate: ModelCandidate, waiting: Sequence[ModelCandidate]
    ) -> list[ModelCandidate]:
        """Return roomier models to ask before shortening the request: those configured for that, or waiting.

        Empty if the person chose this model: it is asked anyway, with less. Some servers would truncate
        silently.
        """
        if self._is_chosen(candidate):
            return []
        named = self._find_configured(ContextTooLong("too long"))
        others = [each for each in waiting[: _find_last_resort(waiting)] if each not in named]
        return list(filter(self._is_roomy, [*named, *others]))

    def _is_roomy(self, candidate: ModelCandidate) -> bool:
        return self._is_ready(candidate) and not self._fit.has_no_room(candidate)

    def _is_chosen(self, candidate: ModelCandidate) -> bool:
        """Return whether a person chose it."""
        return candidate.name == self.request.prefer and not self.request.begun

    def _sort_key(self, candidate: ModelCandidate) -> tuple[bool, bool]:
        """Sort models without room last, and before them those without image support.

        A model that the person chose keeps its place and reports the problem itself.
        """
        if self._is_chosen(candidate):
            return False, False
        return self._fit.has_no_room(candidate), candidate.lacks_vision and has_pictures(
            self.request.messages
        )


def _is_model_fault(error: ModelError | None) -> bool:
    return error is not None and not isinstance(error, NOT_MODEL_FAULTS)


def _find_last_resort(order: Sequence[ModelCandidate]) -> int:
    """Return the index of the last resort, which nobody is moved behind; the length if there is none."""
    return next((at for at, each in enumerate(order) if each.last_resort), len(order))
