"""Recorded changes are taken back, and made again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.note_writes import OnceWriter
from bot.state.changes import ChangeOrigin
from bot.state.database import State
from bot.undo import Undone, UndoRefused, UndoService
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.bot.test_note_writes import DAY, MORNING
from tests.fakes.fresh_state import copy_fresh_state
from tests.origins import TOOL_CALL

ADA = ChangeOrigin("command", person="telegram:1", chat="telegram:1")
BEN = replace(ADA, person="telegram:2", chat="telegram:2")


@dataclass
class Desk:
    """The notes in a folder, with everything that changes them."""

    base: Path
    memory: Memory
    state: State
    writer: OnceWriter
    undoing: UndoService
    keys: int = 0

    async def undo(self, number: int, *, origin: ChangeOrigin = ADA) -> Undone:
        self.keys += 1
        return await self.undoing.undo(number, key=f"undo {self.keys}", origin=origin)

    def text(self, path: str = DAY) -> str:
        return self.raw(path).decode()

    def raw(self, path: str = DAY) -> bytes:
        return (self.base / "memory" / path).read_bytes()

    def put(self, text: str | bytes, path: str = DAY) -> None:
        """Save a note with an editor."""
        file = self.base / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)


@asynccontextmanager
async def open_desk(base: Path) -> AsyncIterator[Desk]:
    async with (
        State(copy_fresh_state(base / ".commonplace" / "state.db"), now=lambda: MORNING) as state,
        Memory(MemorySettings(), workspace=base, now=lambda: MORNING) as memory,
    ):
        writer = OnceWriter(memory, state)
        yield Desk(base, memory, state, writer, UndoService(writer, state))


async def test_an_entry_is_taken_back_and_made_again(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("bread", key="a", origin=TOOL_CALL)
        await desk.writer.write("milk", key="b", origin=TOOL_CALL)
        after = desk.text()
        done = await desk.undo(2)
        assert desk.text() == "# 2026-11-21\n\n- bread\n"
        assert (done.removed, done.put_back, done.is_redo, done.whose) == (
            ("- milk",),
            (),
            False,
            "telegram:1",
        )
        again = await desk.undo(3)
        assert desk.text() == after
        assert (again.removed, again.put_back, again.is_redo, again.original.number) == (
            (),
            ("- milk",),
            True,
            2,
        )
        assert (again.path, again.line_start, again.line_end) == (DAY, 4, 4)


async def test_a_note_that_the_change_created_is_deleted_and_created_again(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.append("trips/2027/oslo.md", "- a", key="a", title="Oslo", origin=TOOL_CALL)
        after = desk.raw("trips/2027/oslo.md")
        await desk.undo(1)
        assert not (tmp_path / "memory" / "trips").exists()
        await desk.undo(2)
        assert desk.raw("trips/2027/oslo.md") == after


async def test_edited_lines_stay(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("The key is under the mat.", key="a", origin=TOOL_CALL)
        desk.put(desk.text().replace("the mat", "the big mat"))
        with pytest.raises(UndoRefused) as refused:
            await desk.undo(1)
        assert refused.value.reason == "edited"
        assert refused.value.diff == "- - The key is under the mat.\n+ - The key is under the big mat."
        assert "big mat" in desk.text()
