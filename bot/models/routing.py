"""The settings' rules for whom to ask, and how often to retry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.models.candidate import ModelCandidate
from bot.models.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class Routing:
    """The settings of all calls."""

    chain: tuple[ModelCandidate, ...]
    others: tuple[ModelCandidate, ...] = ()
    """Models outside the chain that only `on_error` or a request's `prefer` select."""
    on_error: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of the models to continue with, by a failure's `kind`."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    adaptive: bool = False
    fallback: bool = True
    """Whether other models are asked when the first one fails."""
    candidates: Mapping[str, ModelCandidate] = field(init=False)
    """All models by name, the chain's first."""

    def __post_init__(self) -> None:
        found = {each.name: each for each in (*self.chain, *self.others)}
        object.__setattr__(self, "candidates", found)

    def has_language_model(self, prefer: str) -> bool:
        """Return whether there is a language model to ask, and not only the last resort."""
        asked = [self.candidates[prefer]] if prefer in self.candidates else []
        asked = [*asked, *self.chain] if self.fallback else [*asked, *self.chain][:1]
        return not all(each.last_resort for each in asked)
