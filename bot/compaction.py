"""A conversation that has become long: what matters goes into the notes, a summary stands for its older turns."""

from bot.state.database import State


class Compactor:
    """Flushes and compacts conversations, whatever the cause."""

    def __init__(self, state: State) -> None:
        self._state = state
