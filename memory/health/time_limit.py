"""How long an examination may go on."""

from collections.abc import Callable
from dataclasses import dataclass

from memory.deadline import Deadline


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A deadline that passes at once when the memory is closed."""

    deadline: Deadline
    is_stopped: Callable[[], bool] = lambda: False

    @classmethod
    def after(cls, seconds: float, is_stopped: Callable[[], bool]) -> "TimeLimit":
        """Return the limit that is this many seconds ahead."""
        return cls(Deadline.after(seconds), is_stopped)

    @property
    def has_passed(self) -> bool:
        """Whether no time is left."""
        return self.deadline.has_passed or self.is_stopped()
