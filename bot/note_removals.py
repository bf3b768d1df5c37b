"""Recorded removals that leave nothing in the trash: by `/forget`, and when an import is undone."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from uuid import uuid4

from bot.note_intents import discard, mark_done
from bot.note_writes import OnceWriter
from bot.state import changes, note_effects
from bot.state.blocking import BlockingState
from bot.state.changes import ChangeOrigin
from bot.state.database import State
from memory.errors import NoteUnwritable
from memory.forgetting import FORGOTTEN
from memory.line_diff import LineDiff, compare_lines, find_runs, split_lines
from memory.locked_note import LockedNote
from memory.memory import Memory
from memory.note_edits import find_blocks, make_anchor
from memory.note_file import TRIES, note_missing
from memory.write_result import WriteResult

if TYPE_CHECKING:
    from apsw import Connection


class NoteRemovals:
    """Removes lines and notes for good, and renames notes. Create it on the event loop.

    Each is recorded before it is made, like every write; after a crash, the note shows whether it was made. A
    retry looks at the note again. For what `/forget` removes, the record gets only a mark for each line.
    """

    def __init__(self, memory: Memory, state: State, origin: ChangeOrigin) -> None:
        self._memory = memory
        self._writer = OnceWriter(memory, state)
        self._state = BlockingState(state)
        self._now = state.at
        self._origin = origin

    async def remove_lines(
        self, path: str, choose: Callable[[str], Collection[int]], *, undoes: int = 0
    ) -> bool:
        """Remove the lines whose numbers (0-based) `choose` returns for the text; return False if it chooses none.

        `undoes`: number of the change that this undoes. Raises MemoryFault, StateFault.
        """

        def remove(note: LockedNote) -> bool:
            self._writer.settle(note, self._state)
            for _ in range(TRIES):
                text = note.text
                if not (numbers := choose(text)):
                    return False
                if self._remove(note, text, numbers, _diff(text, numbers), undoes=undoes):
                    return True
            raise _keeps_changing(note)

        return await self._memory.hold(path, remove)

    async def delete_if(self, path: str, is_meant: Callable[[str], bool], *, undoes: int = 0) -> bool:
        """Delete a note if `is_meant` accepts its text; return whether it was deleted.

        Folders left empty are deleted too. Raises NoteMissing, other MemoryFaults, StateFault.
        """

        def delete(note: LockedNote) -> bool:
            self._writer.settle(note, self._state)
            if note.is_missing:
                raise note_missing(note.path)
            text = note.text
            return is_meant(text) and self._remove(note, text, None, compare_lines(text, ""), undoes=undoes)

        return await self._memory.hold(path, delete)

    def forget_blocks(self, note: LockedNote, blocks: Collection[str]) -> frozenset[str]:
        """Remove whole lines; return the blocks that were found. For a thread that holds the note's lock."""
        self._writer.settle(note, self._state)
        for _ in range(TRIES):
            text = note.text
            numbers, found = find_blocks(text, blocks)
            if not numbers:
                return found
            # The last lines first: what is above them keeps its number.
            marks = [
                LineDiff(first + 1, "", (FORGOTTEN,) * (last - first + 1), ())
                for first, last in reversed(list(find_runs(numbers)))
            ]
            if self._remove(note, text, numbers, marks):
                return found
        raise _keeps_changing(note)

    def rename(self, note: LockedNote, name: str) -> bool:
        """Rename a note within its folder; return False if the name is taken. Its changes get the new path too."""
        self._writer.settle(note, self._state)
        key, path = _new_key(), str(PurePosixPath(note.path).with_name(name))
        # Without the names, which `/forget` may be about.
        self._begin(key, note.path, {"rename": path}, LineDiff(1, "", (), ()), undoes=0)
        is_done = note.rename(name)
        self._state.change(partial(_complete, key=key, path=path) if is_done else partial(discard, key=key))
        return is_done

    def _remove(
        self,
        note: LockedNote,
        text: str,
        numbers: Collection[int] | None,
        lines: LineDiff | Sequence[LineDiff],
        *,
        undoes: int = 0,
    ) -> bool:
        """Remove lines, or the whole note (None); return False if another program has changed it meanwhile."""
        key, before = _new_key(), note.plan_removal(numbers)
        intent = {"remove": len(numbers or ()), "before": asdict(before)}
        self._begin(key, note.path, intent, lines, undoes=undoes)
        if numbers is None:
            is_done = note.delete_if(lambda now: now == text)
        else:
            is_done = note.remove_lines(lambda now: numbers if now == text else ())
        if is_done:
            self._state.change(partial(_complete, key=key, path=note.path))
        else:
            self._state.change(partial(discard, key=key))
        return is_done

    def _begin(
        self,
        key: str,
        path: str,
        intent: dict[str, object],
        lines: LineDiff | Sequence[LineDiff],
        *,
        undoes: int,
    ) -> None:
        at = self._now()

        def save(db: "Connection") -> None:
            note_effects.save_intent(db, key, path, intent, at=at)
            changes.save_change(db, key, path, lines, self._origin, at=at, undoes=undoes)

        self._state.change(save)


def _complete(db: "Connection", key: str, path: str) -> None:
    mark_done(db, key, WriteResult(path, 1, 0, 0))
    note_effects.delete_effect(db, key)  # nobody asks for it again


def _diff(text: str, numbers: Collection[int]) -> LineDiff:
    """Return the one run of lines from the first to the last that is removed."""
    lines = split_lines(text)
    first, last = min(numbers), min(max(numbers), len(lines) - 1)
    kept = tuple(lines[number] for number in range(first, last + 1) if number not in numbers)
    above = make_anchor(lines, first + 1).above
    return LineDiff(first + 1, above, tuple(lines[first : last + 1]), kept)


def _new_key() -> str:
    return f"removal/{uuid4().hex}"


def _keeps_changing(note: LockedNote) -> NoteUnwritable:
    return NoteUnwritable("{path} keeps being written by another program; try again.", path=note.path)
