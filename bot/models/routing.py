"""What the settings say about whom to ask, and how patiently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.models.candidate import ModelCandidate
from bot.models.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class Routing:
    """What the settings say about all calls."""

    chain: tuple[ModelCandidate, ...]
    others: tuple[ModelCandidate, ...] = ()
    """Models that only `on_error` or a request's `prefer` lead to."""
    on_error: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By a failure's `kind`, the names of the models to go on with."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    adaptive: bool = False
    fallback: bool = True
    """Whether others are asked when the first one fails."""
    candidates: Mapping[str, ModelCandidate] = field(init=False)
    """All of them by name, the chain's first."""

    def __post_init__(self) -> None:
        found = {each.name: each for each in (*self.chain, *self.others)}
        object.__setattr__(self, "candidates", found)
