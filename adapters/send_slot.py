"""Permission of a rate limiter to show one thing."""

from collections.abc import Callable


class SendSlot:
    """Counts until the platform has answered, and for the limit's time after that.

    The arrival of a request is unknown but precedes its answer, so calls a second after the last answer are at
    least a second apart.
    """

    def __init__(self, end: Callable[[bool], None] | None = None) -> None:
        """`end` gets whether the slot was used."""
        self._end = end

    def finish(self) -> None:
        """Record that the slot was used and the call answered."""
        self._end_slot(used=True)

    def cancel(self) -> None:
        """Return the slot unused."""
        self._end_slot(used=False)

    def _end_slot(self, *, used: bool) -> None:
        if self._end:
            end, self._end = self._end, None
            end(used)
