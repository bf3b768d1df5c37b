"""state.db for functions that run in a thread of their own, such as those that hold a note's lock."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import apsw

from bot.state.database import State

Result = TypeVar("Result")


class BlockingState:
    """Calls of `State` that wait for their result. Create it on the event loop, and use it in other threads."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._loop = asyncio.get_running_loop()

    def read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        """Run a function that changes nothing. Raises StateFault."""
        return asyncio.run_coroutine_threadsafe(self._state.read(work), self._loop).result()

    def change(self, work: Callable[[apsw.Connection], Result]) -> Result:
        """Run `work` in a transaction; return its result once it is on disk. Raises StateFault."""
        return asyncio.run_coroutine_threadsafe(self._state.change(work), self._loop).result()
