"""How long changes are kept, and that they survive a backup."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot.archives.backup import Backups
from bot.archives.restore import restore
from bot.maintenance.cleanup import clean_up
from bot.note_writes import OnceWriter
from bot.state.database import State
from bot.undo import UndoRefused, UndoService
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.bot.test_change_record import recorded
from tests.bot.test_note_writes import DAY, MORNING, Machine, PowerCut, dying
from tests.bot.test_undo import ADA, open_desk
from tests.fakes.clock import FakeClock
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.origins import TOOL_CALL
from tests.replay import read_notes, replay


async def numbers(base: Path) -> list[int]:
    return [each.number for each in await recorded(base)]


async def test_changes_are_kept_as_long_as_the_settings_say(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("milk", key="a", origin=TOOL_CALL)
        await clean_up(desk.state, MORNING + timedelta(days=90))
        assert await numbers(tmp_path) == [1]
        await clean_up(desk.state, MORNING + timedelta(days=9_000), change_days=0)
        assert await numbers(tmp_path) == [1]
        await clean_up(desk.state, MORNING + timedelta(days=8), change_days=7)
        assert await numbers(tmp_path) == []
        await desk.writer.write("bread", key="b", origin=TOOL_CALL)
        assert await numbers(tmp_path) == [2]


async def test_what_a_later_undo_refers_to_is_kept_with_it(tmp_path: Path) -> None:
    clock = FakeClock()
    async with (
        State(tmp_path / ".commonplace" / "state.db", now=clock.now) as state,
        Memory(MemorySettings(), workspace=tmp_path, now=clock.now) as memory,
    ):
        writer = OnceWriter(memory, state)
        undoing = UndoService(writer, state)
        await writer.write("milk", key="a", origin=TOOL_CALL)
        await writer.write("bread", key="b", origin=TOOL_CALL)
        clock.seconds += timedelta(days=80).total_seconds()
        await undoing.undo(2, key="u", origin=ADA)
        clock.seconds += timedelta(days=11).total_seconds()
        await clean_up(state, clock.now())
        assert await numbers(tmp_path) == [2, 3]
        clock.seconds += timedelta(days=75).total_seconds()
        await undoing.undo(3, key="r", origin=ADA)
        clock.seconds += timedelta(days=80).total_seconds()
        await clean_up(state, clock.now())
        assert await numbers(tmp_path) == [3, 4]
        again = await undoing.undo(4, key="u2", origin=ADA)  # its beginning is no longer recorded
        assert (again.is_redo, again.removed) == (False, ("- bread",))


async def test_a_change_that_was_never_made_goes_with_its_write(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        with dying(Machine(left=0)), pytest.raises(PowerCut):
            await desk.writer.write("milk", key="a", origin=TOOL_CALL)
    async with open_desk(tmp_path) as desk:
        count = "SELECT count(*) FROM changes"
        await clean_up(desk.state, MORNING + timedelta(days=1))
        assert await desk.state.read(lambda db: db.execute(count).get) == 1
        await clean_up(desk.state, MORNING + timedelta(days=31))
        assert await desk.state.read(lambda db: db.execute(count).get) == 0


async def test_a_restored_workspace_shows_and_undoes_its_changes(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    async with open_desk(there) as desk:
        await desk.writer.write("milk", key="a", origin=TOOL_CALL)
        await desk.writer.edit(DAY, "milk", "oat milk", key="b", origin=TOOL_CALL)
        await desk.undo(2)
        made = await recorded(there)
        backups = Backups(notes=there / "memory", private=there / ".commonplace", now=lambda: MORNING)
        archive = (await backups.make(tmp_path / "all.tar.gz")).file
    restore(archive, notes=here / "memory", private=here / ".commonplace", now=lambda: MORNING)
    async with open_desk(here) as desk:
        desk.keys = 10
        assert await recorded(here) == made
        await desk.undo(3)
        assert desk.text() == "# 2026-11-21\n\n- oat milk\n"
        with pytest.raises(UndoRefused) as refused:
            await desk.undo(1)
        assert refused.value.by == 4
        assert replay(await recorded(here)) == read_notes(here / "memory")


async def test_the_command_line_records_what_it_writes(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    async with open_desk(tmp_path / "workspace") as desk:  # beside a running service
        run = asyncio.to_thread(
            commonplace.output_of, "memory", "write", "--target", "core", "Ada", "lives here"
        )
        assert await run == "Noted in MEMORY.md:3.\n"
        (made,) = await recorded(tmp_path / "workspace")
        assert (made.origin.made_by, made.origin.person) == ("cli", "terminal:owner")
        assert made.lines.new == ("# Memory", "", "- Ada lives here")
        await desk.undo(made.number)
        assert read_notes(tmp_path / "workspace" / "memory") == {}


def test_reading_commands_open_no_state(tmp_path: Path) -> None:
    commonplace = CommonplaceHere(tmp_path)
    commonplace.memory.mkdir()
    (commonplace.memory / "a.md").write_text("- milk\n")
    commonplace.output_of("memory", "search", "milk")
    commonplace.output_of("memory", "get", "a.md")
    commonplace.output_of("memory", "status")
    assert not (tmp_path / "workspace" / ".commonplace" / "state.db").exists()
