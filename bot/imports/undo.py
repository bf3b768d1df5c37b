"""Undoes an import, except for what a person has edited since."""

from dataclasses import dataclass, field
from functools import partial

from bot.imports.errors import ImportFault
from bot.imports.notes import undo_note
from bot.state import imports
from bot.state.database import State
from bot.state.imports import ImportRun
from memory.memory import Memory

MESSAGES_AT_ONCE = 1_000


@dataclass(slots=True)
class UndoReport:
    """What an undo has removed and kept."""

    run: int
    total: int = 0
    """Messages and notes that the run has brought."""
    messages: int = 0
    notes: int = 0
    kept: list[tuple[str, str]] = field(default_factory=list)
    """Notes that were left as they are, or in part, and why."""

    def describe(self) -> str:
        """Return one line for the terminal."""
        return f"undoing import {self.run}: {self.messages + self.notes + len(self.kept):,} of {self.total:,}"


async def begin_undo(state: State, number: int) -> tuple[ImportRun, UndoReport]:
    """Mark a run as being undone. Raises ImportFault if there is no such run, or it is already undone."""
    run = await state.read(partial(imports.find_run, run=number))
    if run is None:
        raise ImportFault(f"there is no import {number}; `commonplace import --list` shows all imports")
    if run.state == "undone":
        raise ImportFault(f"import {number} is already undone")
    counts = await state.read(partial(imports.count_run, run=number))
    await state.change(partial(imports.set_state, run=number, state="undoing"))
    return run, UndoReport(number, total=counts.messages + counts.notes)


async def undo_conversations(state: State, report: UndoReport) -> None:
    """Delete the messages of a run in short transactions. Raises StateFault."""
    remove = partial(imports.remove_messages, run=report.run, limit=MESSAGES_AT_ONCE)
    while removed := await state.change(remove):
        report.messages += removed


async def undo_notes(memory: Memory, state: State, report: UndoReport) -> None:
    """Undo what a run wrote to notes. Raises MemoryFault and StateFault."""
    for row in await state.read(partial(imports.read_notes, run=report.run)):
        if left := await undo_note(memory, state, row):
            report.kept.append((row.path, left))
        else:
            report.notes += 1


async def end_undo(state: State, report: UndoReport) -> None:
    """Mark a run as undone. Raises StateFault."""
    await state.change(partial(imports.set_state, run=report.run, state="undone", at=state.at()))
