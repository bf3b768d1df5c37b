"""One archive of the notes and of a consistent copy of state.db."""

from pathlib import Path

from bot.state.database import State


class Backups:
    """Archives under `.commonplace/backups/`."""

    def __init__(self, state: State, *, notes: Path, folder: Path) -> None:
        self._state = state
        self._notes = notes
        self._folder = folder
