"""Undo recorded changes to the notes, and redo them."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.note_writes import OnceWriter
from bot.state import changes
from bot.state.changes import Change, ChangeOrigin
from bot.state.database import State
from bot.undo_plan import UndoRefused as UndoRefused
from bot.undo_plan import find_undoable


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo or a redo."""

    change: Change
    """The undo itself, as it is recorded: `lines.old` was removed, `lines.new` was put back."""
    original: Change
    """The change that was undone or redone: not an undo itself, unless the chain's beginning is no longer recorded."""
    is_redo: bool
    """Whether the change was redone."""

    @property
    def path(self) -> str:
        """The note."""
        return self.change.path

    @property
    def line_start(self) -> int:
        """The first line that was put back, or the line at which lines were removed; 1-based."""
        return self.change.lines.line + self.change.lines.lead

    @property
    def line_end(self) -> int:
        """The last line that was put back; `line_start` - 1 if lines were only removed."""
        return self.change.lines.line + len(self.change.lines.new) - 1

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that were removed."""
        return self.change.lines.old

    @property
    def put_back(self) -> tuple[str, ...]:
        """The lines that were put back."""
        return self.change.lines.new

    @property
    def whose(self) -> str:
        """Who made the original change (`channel:id`); "" for nobody."""
        return self.original.origin.person


class UndoService:
    """Undoes changes to the notes by their number, each undo once under a key that is the same for every retry.

    An undo is a change like others, with a number of its own and `undoes`; undoing that redoes the change. The
    lines of the change are found by their content, wherever they have moved to. Methods raise UndoRefused, other
    MemoryFaults, and StateFault.
    """

    def __init__(self, note_writer: OnceWriter, state: State) -> None:
        self._note_writer = note_writer
        self._state = state

    async def undo(self, number: int, *, key: str, origin: ChangeOrigin) -> Undone:
        """Undo the change with this number; if that is an undo, redo its change.

        A retry with the same key returns the same. Raises UndoRefused if the lines of the change were edited since,
        with a diff, and for every other reason of `Refusal`.
        """
        await self.settle_open()
        return await self._describe(await self._note_writer.undo(number, key=key, origin=origin))

    async def undo_last(
        self, people: Sequence[str] | None, *, key: str, origin: ChangeOrigin, client: str = ""
    ) -> Undone | None:
        """Undo what `find_last` returns; None if that is nothing. A retry with the same key returns the same."""
        return await self._undo_found(await self.find_last(people, client=client), key, origin)

    async def redo_last(
        self, people: Sequence[str] | None, *, key: str, origin: ChangeOrigin
    ) -> Undone | None:
        """Undo the undo that `find_last_undone` returns, as `undo_last` does."""
        return await self._undo_found(await self.find_last_undone(people), key, origin)

    async def find_change(self, number: int) -> Change | None:
        """Return the change with this number, for what a person may undo; None if there is none."""
        await self.settle_open()
        return await self._state.read(lambda db: changes.find_change(db, number))

    async def check(self, number: int) -> Change:
        """Return the change that `undo` would undo, without doing it.

        Raises UndoRefused for what the record alone shows; only `undo` sees whether its lines were edited.
        """
        await self.settle_open()
        return (await self._state.read(lambda db: find_undoable(db, number)))[-1]

    async def find_last(self, people: Sequence[str] | None, *, client: str = "") -> Change | None:
        """Return the change by these people (`channel:id`; None for everybody) that they made or redid last.

        It stands, and is no undo. `client`: only changes that this program made over MCP.

        Skips changes whose text `/forget` has removed, but not the removals of `/forget` itself: somebody who wants to
        undo one is told that it does not come back.
        """
        await self.settle_open()
        return await self._state.read(lambda db: changes.find_last(db, people, client=client))

    async def find_last_undone(self, people: Sequence[str] | None) -> Change | None:
        """Return the undo by these people that a redo undoes: the latest whose change is not redone.

        As in editors, there is none once they have made another change after it; what a flush has written for them in
        the meantime does not count.
        """
        await self.settle_open()
        return await self._state.read(lambda db: changes.find_last_undone(db, people))

    async def settle_open(self) -> None:
        """Settle all writes that were interrupted, so that the record matches the disk before it is shown."""
        await self._note_writer.settle_open()

    async def _undo_found(self, found: Change | None, key: str, origin: ChangeOrigin) -> Undone | None:
        if made := await self._note_writer.find_undo(key):
            return await self._describe(made)
        if found is None:
            return None
        return await self.undo(found.number, key=key, origin=origin)

    async def _describe(self, made: Change) -> Undone:
        chain = await self._state.read(lambda db: changes.read_chain(db, made.number))
        at = next(at for at, each in enumerate(chain) if each.number == made.number)
        return Undone(made, chain[0], is_redo=(at + bool(chain[0].undoes)) % 2 == 0)
