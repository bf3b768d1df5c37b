"""Every change to the notes is recorded with them, whatever happens in between."""

import random
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from bot.note_writes import OnceWriter, RestorePlan
from bot.state import changes
from bot.state.changes import Change, ChangeOrigin
from bot.state.database import State
from memory.errors import EditRefused
from memory.formatting import format_block
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.bot.test_note_writes import DAY, MORNING, Machine, PowerCut, dying, opened
from tests.fakes.fresh_state import copy_fresh_state
from tests.origins import TOOL_CALL
from tests.replay import read_notes, replay


async def recorded(base: Path) -> tuple[Change, ...]:
    """Return all changes, the earliest first."""
    async with State(base / ".commonplace" / "state.db") as state:
        return (await state.read(partial(changes.read_changes, limit=10_000)))[::-1]


async def test_a_change_has_its_place_lines_and_origin(tmp_path: Path) -> None:
    origin = ChangeOrigin(
        "tool", person="telegram:1", chat="telegram:7", conversation=3, asked_at=12, model="test/one"
    )
    async with opened(tmp_path) as journal:
        await journal.write("The key is under the mat.", key="a", origin=origin)
        await journal.edit(DAY, "under the mat", "with Ada", key="b", origin=origin)
    first, second = await recorded(tmp_path)
    assert (first.number, first.path, first.lines.line, first.lines.lead) == (1, DAY, 1, 2)
    assert first.lines.new == ("# 2026-11-21", "", "- The key is under the mat.")
    assert first.origin == second.origin == origin
    assert (second.lines.old, second.lines.new) == (
        ("- The key is under the mat.",),
        ("- The key is with Ada.",),
    )


async def test_a_retry_is_not_recorded_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        for _ in range(3):
            await journal.write("milk", key="a", origin=TOOL_CALL)
    assert len(await recorded(tmp_path)) == 1


async def test_a_refused_edit_is_not_recorded(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.write("milk", key="a", origin=TOOL_CALL)
        with pytest.raises(EditRefused):
            await journal.edit(DAY, "bread", "butter", key="b", origin=TOOL_CALL)
    assert [each.effect.partition("/")[0] for each in await recorded(tmp_path)] == ["a"]


async def test_an_unwritten_change_gets_a_new_number_when_it_is_made(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        with dying(Machine(left=0)), pytest.raises(PowerCut):
            await journal.write("milk", key="a", origin=TOOL_CALL)
        await journal.write("bread", key="b", origin=TOOL_CALL)
        await journal.write("milk", key="a", origin=TOOL_CALL)
    found = await recorded(tmp_path)
    assert [each.lines.new[-1] for each in found] == ["- bread", "- milk"]
    assert replay(found) == read_notes(tmp_path / "memory")


async def make_changes(journal: OnceWriter, memory: Memory, chance: random.Random, number: int) -> None:
    """Make one change of a kind chosen by chance."""
    words = f"fact {number}" + "\n\nand more" * chance.randrange(2)
    write = {"key": f"k{number}", "origin": TOOL_CALL}
    match chance.randrange(6):
        case 0 | 1:
            await journal.write(words, target=chance.choice(["core", "daily"]), **write)  # type: ignore[arg-type]
        case 2:
            await journal.write_document(
                "documents/a.md", f"# A\n\n{words}", title="", key=f"k{number}", origin=TOOL_CALL
            )
        case 3:
            await journal.edit("MEMORY.md", f"fact {chance.randrange(number + 1)}", words, **write)  # type: ignore[arg-type]
        case 4:
            await journal.correct(DAY, chance.randrange(1, 6), f"corrected {number}", **write)  # type: ignore[arg-type]
        case 5:
            removed = (await memory.removed())[0]

            async def plan() -> RestorePlan:
                text = await memory.read_trash(removed)
                replaces = await memory.find_replacement(removed, block=format_block(text))
                return RestorePlan(
                    removed.file, text, removed.note, removed.is_whole, removed.stood, replaces
                )

            await journal.restore(plan, **write)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
async def test_all_changes_made_again_give_the_notes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    state_file = copy_fresh_state(tmp_path / ".commonplace" / "state.db")
    dead = 0
    for number in range(60):
        async with (
            State(state_file) as state,
            Memory(MemorySettings(), workspace=tmp_path, now=lambda: MORNING) as memory,
        ):
            journal = OnceWriter(memory, state)
            step = partial(make_changes, journal, memory, random.Random(seed * 1000 + number), number)
            try:
                with dying(Machine(left=chance.choice([0, 1, 2, 3, 5, 8, 10**9]), part=chance.random())):
                    await step()
            except (Exception, PowerCut):  # noqa: BLE001 - refused, or the machine died
                dead += 1
                if chance.random() < 0.5:
                    with suppress(Exception):  # refused
                        await step()
    async with opened(tmp_path) as journal:
        for path in (
            "MEMORY.md",
            DAY,
            *(f"documents/{each.name}" for each in (tmp_path / "memory/documents").iterdir()),
        ):
            await journal.append(path, "- the end", key=f"end {path}", title="", origin=TOOL_CALL)
    assert dead > 5
    assert replay(await recorded(tmp_path)) == read_notes(tmp_path / "memory")
