"""The request of one call against the context windows of the models, and how it is shortened to fit."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate
from bot.models.context_windows import MIN_WINDOW
from bot.models.errors import BadRequest, ContextTooLong, ModelError, PerhapsTooLong
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import ModelRequest
from bot.models.routing import Routing
from bot.models.token_estimate import estimate_request_tokens
from bot.models.truncation import truncate

log = logging.getLogger(__name__)

NEARLY_FULL = 0.9
"""Share of a window beyond which a request is assumed not to fit, because our token estimate is rough."""
LONG_SHARE = 0.5
"""Share of a window beyond which a request rejected without a reason is retried once, shortened."""


class RequestFit:
    """The request as currently sent, which models have room for it, and which may have rejected its length."""

    def __init__(self, request: ModelRequest, plan: Routing, health: Breakers) -> None:
        self.request = request
        """The request as currently sent; it may have been shortened."""
        self.tokens = estimate_request_tokens(request)
        """Our estimate of its length."""
        self._plan = plan
        self._health = health
        self._suspects: dict[str, CallOutcome] = {}  # by model: rejections that may be due to length
        self._suspected: set[str] = set()  # ever in this call: each model gets one shorter retry

    # -- windows ----------------------------------------------------------------------------------------

    def window(self, name: str) -> int:
        """Return a model's window in tokens; 0 if unknown."""
        candidate = self._plan.candidates[name]
        windows = [] if candidate.window_is_set else self._reported_windows(candidate)
        return min(windows, default=candidate.window or 0)

    def has_no_room(self, candidate: ModelCandidate) -> bool:
        """Return whether the model's window is known and probably too small."""
        window = self.window(candidate.name)
        return 0 < window * NEARLY_FULL < self._length_for(candidate.routes[0].name)

    def is_sure_to_refuse(self, candidate: ModelCandidate) -> bool:
        """Return whether the owner or the provider has named a window that is too small."""
        sure = candidate.window_is_set or any(self._reported_windows(candidate))
        return sure and self.has_no_room(candidate)

    def shorten(self, too_long: Sequence[ModelCandidate]) -> bool:
        """Make the request fit the largest window, or halve it; return whether that was possible."""
        fitting = []
        for candidate in too_long:
            ratio = self._health.of(candidate.routes[0].name).tokens_ratio
            window = self.window(candidate.name)
            tokens = round((window or MIN_WINDOW) * NEARLY_FULL * NEARLY_FULL / ratio)
            if self.is_suspect(candidate):  # there is only one retry, so it must be short enough
                fitting.append(min(tokens, self.tokens // 2))
            elif window and tokens < self.tokens:  # else the window is not what we believed
                fitting.append(tokens)
        most = max(fitting, default=self.tokens // 2)
        shorter = truncate(self.request, most)
        if shorter is None:
            return False
        log.info(
            "the request fits no context window: trying again with about %d of %d tokens", most, self.tokens
        )
        self.request, self.tokens = shorter, estimate_request_tokens(shorter)
        return True

    # -- rejections that may be due to length --------------------------------------------------------------

    def classify(self, name: RouteName, error: ModelError) -> ModelError:
        """Return a rejection as PerhapsTooLong if its length may be the reason, once for each model."""
        if isinstance(error, BadRequest) and self._is_long(name, error) and name.model not in self._suspected:
            return PerhapsTooLong(error.detail)
        return error

    def suspect(self, outcome: CallOutcome) -> None:
        """Record that the request may have been rejected for its length."""
        self._suspects[outcome.route.model] = outcome
        self._suspected.add(outcome.route.model)

    def is_suspect(self, candidate: ModelCandidate) -> bool:
        """Return whether it rejected the request without a reason and should be asked once with less."""
        return candidate.name in self._suspects

    def clear_suspect(self, model: str) -> None:
        """Forget the model's rejection, as another failure took its place."""
        self._suspects.pop(model, None)

    def confirm_suspect(self, model: str) -> CallOutcome | None:
        """Return the rejection as due to length, now that the shortened request succeeded; None if there was none."""
        guess = self._suspects.pop(model, None)
        if guess is None:
            return None
        detail = guess.error.detail if guess.error else ""
        length = guess.tokens * self._health.of(guess.route).tokens_ratio
        window = round(length * NEARLY_FULL)  # a request of this length is then sure to be rejected
        return replace(guess, error=ContextTooLong(detail, model=guess.route.model, window=window))

    def unconfirmed(self) -> Iterable[CallOutcome]:
        """Return the rejections that no shortened request has explained."""
        return self._suspects.values()

    def _is_long(self, name: RouteName, error: BadRequest) -> bool:
        """Return whether a rejected request is so long that its length may be the reason."""
        window, length = self.window(name.model), self._length_for(name)
        if window and length > window * NEARLY_FULL:
            return True
        return error.unexplained and length > (window or MIN_WINDOW) * LONG_SHARE

    def _length_for(self, name: RouteName) -> float:
        """Return the request's length in tokens as this provider counts them."""
        return self.tokens * self._health.of(name).tokens_ratio

    def _reported_windows(self, candidate: ModelCandidate) -> list[int]:
        """Return the windows that the provider reported recently, key by key."""
        now = self._health.now()
        known = (self._health.of(route.name).known_window(now) for route in candidate.routes)
        return [window for window in known if window]
