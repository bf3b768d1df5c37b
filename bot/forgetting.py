"""`/forget`: what is to be forgotten, shown first, then removed everywhere."""

from bot.state.database import State
from memory.memory import Memory


class Forgetting:
    """Finds what is known about something, and removes it once that is confirmed."""

    def __init__(self, memory: Memory, state: State) -> None:
        self._memory = memory
        self._state = state
