"""Which sessions of a program are in use, so that the longest idle one can make room for a new one."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager


class SessionUse:
    """The sessions of one program: those with open requests, and the others in the order of their last one.

    It may still have sessions that have expired. Those are the longest idle ones, and the first to go.
    """

    def __init__(self) -> None:
        self._busy = Counter[str]()
        self._idle = OrderedDict[str, None]()

    def __len__(self) -> int:
        return len(self._busy) + len(self._idle)

    @contextmanager
    def request(self, session: str) -> Iterator[None]:
        """Have a session count as busy during a request or an open stream; "" for none."""
        if not session:
            yield
            return
        self._busy[session] += 1
        self._idle.pop(session, None)
        try:
            yield
        finally:
            self._busy[session] -= 1
            if not self._busy[session]:
                del self._busy[session]
                self._idle[session] = None

    def add(self, session: str) -> None:
        """Add a session that was opened."""
        if session not in self._busy:
            self._idle[session] = None

    def discard(self, session: str) -> None:
        """Forget a session that has ended."""
        self._idle.pop(session, None)

    def pop_longest_idle(self) -> str:
        """Forget the session without an open request whose last one is the longest ago, and return it; "" for none."""
        return self._idle.popitem(last=False)[0] if self._idle else ""
