"""Writes to the notes that are done once: written down before, looked for after a crash, and never done twice."""

from bot.state.database import State
from memory.memory import Memory, Target
from memory.notes import Written


class Journal:
    """The memory's writes, each under a key that is the same when it is tried again, also after a crash."""

    def __init__(self, memory: Memory, state: State) -> None:
        self._memory = memory
        self._state = state

    async def write(self, text: str, *, key: str, target: Target = "daily") -> Written:
        """Note something, as `Memory.write` does; a second time with the same key tells where it stands."""
        raise NotImplementedError

    async def append(self, path: str, block: str, *, key: str, title: str) -> Written:
        """Add a block of Markdown at the end of a note, as it is."""
        raise NotImplementedError

    async def edit(self, path: str, old: str, new: str, *, key: str) -> Written:
        """Replace one passage, as `Memory.edit` does."""
        raise NotImplementedError
