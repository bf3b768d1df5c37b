"""Pure: the keys of one model while it is asked: which comes next, after which wait, and how often each was tried."""

from collections.abc import Sequence

from bot.models.candidate import Route
from bot.models.retry import NextStep, RetryDecision


class KeyRotation:
    """The keys that are still of use; every `now` is by the monotonic clock, in seconds."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = list(routes)
        self._ready_at = {route.name: 0.0 for route in routes}
        self._tries = {route.name: 0 for route in routes}

    @property
    def is_exhausted(self) -> bool:
        """Whether no key is left to ask with."""
        return not self._routes

    def take_next(self, now: float) -> tuple[Route, float]:
        """Return the key that is ready first, and the seconds until then; count it as tried."""
        route = min(self._routes, key=lambda each: max(now, self._ready_at[each.name]))
        self._tries[route.name] += 1
        return route, max(0.0, self._ready_at[route.name] - now)

    def tries(self, route: Route) -> int:
        """Return how often the key was tried."""
        return self._tries[route.name]

    def apply(self, decision: RetryDecision, route: Route, now: float) -> None:
        """Keep the keys that may be asked after the attempt with `route` failed."""
        self._ready_at[route.name] = now + decision.wait
        match decision.next_step:
            case NextStep.OTHER_MODEL:
                self._routes.clear()
            case NextStep.OTHER_KEY:
                self._routes.remove(route)
            case NextStep.SAME_KEY:
                self._routes = [route]
            case NextStep.ANY_KEY:
                self._routes.append(self._routes.pop(self._routes.index(route)))
