"""A model of the chain and the routes to it."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.models.errors import ModelError
from bot.models.health import RouteName
from bot.models.image_fallback import ImageSupport
from bot.models.protocol import LanguageModel


@dataclass(frozen=True, slots=True)
class Route:
    """A model with one of its keys."""

    model: LanguageModel
    name: RouteName


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """A model with all its keys; at least one route."""

    name: str
    """`provider/model`."""
    routes: tuple[Route, ...]
    window: int | None = None
    """Input limit in tokens; None if unknown."""
    window_is_set: bool = False
    """Whether the owner set the window, which overrides what the provider reports."""
    last_resort: bool = False
    """Whether it is no language model: it always answers at once, but is asked only after all others failed."""
    sight: ImageSupport | None = None
    """Image support; None if nobody has asked."""

    @property
    def lacks_vision(self) -> bool:
        """Return whether it is known not to accept images."""
        return self.sight is not None and self.sight.sees is False


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """One request that failed."""

    route: RouteName
    number: int
    """Attempt number, from 1, for this route in this call."""
    error: ModelError


@dataclass(frozen=True, slots=True)
class FallbackHooks:
    """Callbacks that observe a call."""

    on_retry: Callable[[str, int, ModelError], None]
    """(model, number of the failed attempt, error), before the same model is asked again."""
    on_fallback: Callable[[str, str, ModelError], None]
    """(failed model, next model, error)."""
