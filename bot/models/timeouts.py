"""Time limits of a model, stage by stage."""

from dataclasses import dataclass

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds. A model that thinks for long is alive as long as something arrives."""

    first_token: float = 60.0
    """From the request until anything arrives: a thought, a word, a call."""
    idle: float = 30.0
    """Between two signs of life after that."""
    begin: float = 120.0
    """From the request until the answer itself begins, after all thinking."""
    total: float = 600.0
    """From the request to the end."""

    @property
    def connect(self) -> float:
        """Seconds to connect."""
        return min(CONNECT_SECONDS, self.first_token)
