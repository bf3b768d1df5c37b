"""What the settings say about whom to ask, and how patiently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.models.candidate import Candidate
from bot.models.patience import Patience


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
    fallback: bool = True
    """Whether others are asked when the first one fails."""
    candidates: Mapping[str, Candidate] = field(init=False)
    """All of them by name, the chain's first."""

    def __post_init__(self) -> None:
        found = {each.name: each for each in (*self.chain, *self.others)}
        object.__setattr__(self, "candidates", found)
