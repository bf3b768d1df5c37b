"""A model of a chain, and the ways to be answered by it."""

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
    """A model with all its keys, at least one route."""

    name: str
    """`provider/model`."""
    routes: tuple[Route, ...]
    window: int | None = None
    """Tokens that it takes in; None where that is not known."""
    window_is_set: bool = False
    """Whether the owner has named that window: then a provider's word counts for nothing."""
    last_resort: bool = False
    """No language model: it answers at once and always, but only what none of those does."""
    sight: ImageSupport | None = None
    """Whether it sees pictures; None where nobody has asked."""

    @property
    def lacks_vision(self) -> bool:
        """Whether it is known to see no pictures."""
        return self.sight is not None and self.sight.sees is False


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """One request that was sent in vain."""

    route: RouteName
    number: int
    """Counts from 1 for this route in this call."""
    error: ModelError


@dataclass(frozen=True, slots=True)
class FallbackHooks:
    """Who wants to know what goes on."""

    on_retry: Callable[[str, int, ModelError], None]
    """(model, number of the try that failed, why), before the same model is asked again."""
    on_fallback: Callable[[str, str, ModelError], None]
    """(model that failed, model that is asked next, why)."""
