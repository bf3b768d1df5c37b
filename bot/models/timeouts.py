"""How long a model may take, stage by stage."""

from dataclasses import dataclass

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """All in seconds. A model that thinks for long is not dead as long as something comes."""

    first_token: float = 60.0
    """From the asking until anything comes: a thought, a word, a call."""
    idle: float = 30.0
    """Between two signs of life after that."""
    begin: float = 120.0
    """From the asking until the answer itself begins, after all thinking."""
    total: float = 600.0
    """From the asking to the end."""

    @property
    def connect(self) -> float:
        """Until there is a connection."""
        return min(CONNECT_SECONDS, self.first_token)
