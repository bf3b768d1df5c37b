"""An event loop whose time jumps to the next timer whenever it is idle."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Selector(selectors.DefaultSelector):
    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout:
            self.passed += timeout
        return ready


class AutojumpLoop(asyncio.SelectorEventLoop):
    """For code that waits only for timers; it ignores other processes."""

    def __init__(self) -> None:
        self._times = _Selector()
        super().__init__(self._times)

    def time(self) -> float:
        return self._times.passed


def run_without_waiting(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine without waiting for its timers."""
    with asyncio.Runner(loop_factory=AutojumpLoop) as runner:
        return runner.run(work)
