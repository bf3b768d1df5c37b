"""Moves of notes, each recorded and made once, with the note's own relative links; and their undo."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bot.note_intents import apply_move, discard, mark_done, note_exists, plan_move
from bot.state import changes, note_effects
from bot.state.blocking import BlockingState
from bot.state.changes import ChangeOrigin
from bot.state.database import State, StateFault, run_to_completion
from bot.undo_plan import check_can_move_back, find_undoable, name_taken, plan_undo
from memory.errors import NoteUnwritable
from memory.line_reversal import LinesReplacement
from memory.locked_note import LockedNote
from memory.memory import Memory
from memory.moved_links import replace_contents
from memory.note_file import note_missing
from memory.paths import format_path
from memory.write_result import WriteResult

if TYPE_CHECKING:
    from apsw import Connection

Settle = Callable[[LockedNote, BlockingState], None]
"""Finds out which interrupted writes to a note were made."""
PlanLinks = Callable[[LockedNote, LockedNote], LinesReplacement | None]
"""Returns the lines of a note that change when it is moved, and their replacement; None for none."""


class NoteMoves:
    """Moves notes. First the links change, then the note gets its new name; a crash in between is completed."""

    def __init__(self, memory: Memory, state: State, *, settle: Settle) -> None:
        self._memory = memory
        self._state = BlockingState(state)
        self._now = state.at
        self._settle = settle

    async def move(self, path: str, to: str, *, key: str, origin: ChangeOrigin) -> WriteResult:
        """Move a note, as `OnceWriter.move` does."""
        return await self._move_once(path, to, self._plan_links, key=key, origin=origin)

    async def undo(self, path: str, to: str, number: int, *, key: str, origin: ChangeOrigin) -> WriteResult:
        """Move a note back from where a change has moved it. Raises UndoRefused."""

        def plan(note: LockedNote, target: LockedNote) -> LinesReplacement | None:
            chain = self._state.read(partial(find_undoable, number=number))
            since = partial(read_since, self._state, note.path)
            check_can_move_back(chain[-1], is_there=not note.is_missing, read_since=since)
            note.check_nothing_hidden()
            if not target.is_missing:
                raise name_taken(chain[-1])
            links = self._rewrite_links(note, target)
            if chain[-1].lines.new:  # to the letter, as far as the move itself has changed them
                lines = plan_undo(chain, note.text, read_since=since).lines
                links |= dict(enumerate(lines.new, lines.line))
            return replace_contents(note.text, links)

        return await self._move_once(path, to, plan, key=key, origin=origin, number=number)

    def _plan_links(self, note: LockedNote, target: LockedNote) -> LinesReplacement | None:
        if note.is_missing:
            raise note_missing(note.path)
        note.check_nothing_hidden()
        if not target.is_missing:
            raise note_exists(target)
        return replace_contents(note.text, self._rewrite_links(note, target))

    def _rewrite_links(self, note: LockedNote, target: LockedNote) -> dict[int, str]:
        """Return the lines whose links change, by number; none of a note that cannot be written without a loss."""
        if not note.can_exchange_lines:
            return {}
        return dict(self._memory.rewrite_moved_links(note.text, path=note.path, to=target.path))

    async def _move_once(
        self, path: str, to: str, plan: PlanLinks, *, key: str, origin: ChangeOrigin, number: int = 0
    ) -> WriteResult:
        """Move a note, unless that was done under this key. `number`: of the change that this undoes."""

        def move(note: LockedNote, target: LockedNote) -> WriteResult:
            for each in (note, target):
                self._settle(each, self._state)
            known = self._state.read(lambda db: note_effects.find_effect(db, key))
            if known and known.result is not None:
                return WriteResult(**known.result)
            links = plan(note, target)
            self._begin(note, target, links, key=key, origin=origin, number=number)
            if not apply_move(note, target, links):
                self._state.change(partial(discard, key=key))
                raise note_exists(target)
            written = WriteResult(target.path, 1, 0, 0)
            self._state.change(partial(mark_done, key=key, written=written))
            return written

        try:
            return await run_to_completion(self._memory.hold_both(path, to, move))
        except StateFault as fault:
            raise NoteUnwritable(
                "{path} was not moved, because state.db could not record it: {fault}",
                path=format_path(path),
                fault=fault,
            ) from fault

    def _begin(
        self,
        note: LockedNote,
        target: LockedNote,
        links: LinesReplacement | None,
        *,
        key: str,
        origin: ChangeOrigin,
        number: int,
    ) -> None:
        """Store that a note is about to be moved."""
        at = self._now()
        intent, lines = plan_move(note, target.path, links)

        def save(db: "Connection") -> None:
            undoes = find_undoable(db, number)[-1].number if number else 0  # `/forget` may have come between
            note_effects.save_intent(db, key, note.path, intent, at=at)
            moved = (note.path, target.path)
            changes.save_change(db, key, note.path, lines, origin, at=at, undoes=undoes, moved=moved)

        self._state.change(save)


def read_since(state: BlockingState, path: str, number: int) -> tuple[changes.Change, ...]:
    """Return the changes to a note after the one with this number."""
    return state.read(partial(changes.read_later, path=path, number=number))
