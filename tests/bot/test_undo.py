"""Recorded changes are undone, and redone."""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.imports.merge_lines import missing_lines
from bot.note_writes import OnceWriter, RestorePlan
from bot.state.changes import ChangeOrigin
from bot.state.database import State
from bot.undo import Undone, UndoRefused, UndoService
from memory.errors import EditRefused, NoteMissing
from memory.memory import Memory
from memory.note_draft import NoteDraft
from memory.settings import MemorySettings
from tests.bot.test_change_record import make_changes, recorded
from tests.bot.test_note_writes import DAY, MORNING, Machine, PowerCut, dying
from tests.fakes.fresh_state import copy_fresh_state
from tests.origins import TOOL_CALL
from tests.replay import read_notes, replay

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


async def test_the_lines_may_have_moved(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("milk", key="a", origin=TOOL_CALL)
        await desk.writer.write("bread", key="b", origin=TOOL_CALL)
        await desk.writer.edit(DAY, "milk", "oat milk", key="c", origin=TOOL_CALL)
        desk.put("# 2026-11-21\n\nIn town:\n\n- bread\n- tea\n- oat milk\n")
        assert (await desk.undo(3)).line_start == 7
        assert (await desk.undo(2)).removed == ("- bread",)
        assert desk.text() == "# 2026-11-21\n\nIn town:\n\n- tea\n- milk\n"


async def test_of_equal_lines_the_one_below_the_same_lines_is_taken(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        desk.put("- milk\n\n# Shop\n\n- bread\n", "a.md")
        await desk.writer.append("a.md", "- milk", key="a", title="", origin=TOOL_CALL)
        desk.put(f"- first\n- second\n{desk.text('a.md')}- milk\n", "a.md")
        await desk.undo(1)
        assert desk.text("a.md") == "- first\n- second\n- milk\n\n# Shop\n\n- bread\n- milk\n"


@pytest.mark.parametrize(
    ("before", "entry", "later", "left"),
    [
        ("", "- a", "", None),
        ("", "- a", "- b\n", "# T\n\n- b\n"),
        ("", "- a", "\n## 12:00 Ada\n\nx\n", "# T\n\n## 12:00 Ada\n\nx\n"),
        ("", "- a", "\n# Other\n", "\n# Other\n"),
        ("x\n", "- a", "", "x\n"),
        ("x\n", "- a", "- b\n", "x\n\n- b\n"),
        ("x\n", "- a", "\ny\n", "x\n\ny\n"),
        ("- x\n", "- a", "- b\n", "- x\n- b\n"),
        ("## 12:00 Ada\n\nx\n", "- a", "", "## 12:00 Ada\n\nx\n"),
        ("## 12:00 Ada\n\nx\n", "- a", "- b\n", "## 12:00 Ada\n\nx\n\n## 14:05\n\n- b\n"),
        ("## 12:00 Ada\n\nx\n", "- a", "\n## 15:00 Ben\n\ny\n", "## 12:00 Ada\n\nx\n\n## 15:00 Ben\n\ny\n"),
        ("no line end", "- a", "", "no line end\n"),
    ],
)
async def test_titles_and_blank_lines_go_unless_other_lines_need_them(
    tmp_path: Path, before: str, entry: str, later: str, left: str | None
) -> None:
    async with open_desk(tmp_path) as desk:
        if before:
            desk.put(before)
        draft = NoteDraft(DAY, entry, "T", "14:05")
        await desk.writer._append_once(draft, "a", TOOL_CALL)
        after = desk.text()
        if later:
            desk.put(after + later)
        await desk.undo(1)
        if left is None:
            assert not (tmp_path / "memory" / DAY).exists()
        else:
            assert desk.text() == left
        await desk.undo(2)
        if later != "\n# Other\n":
            assert desk.text() == after + later


@pytest.mark.parametrize(
    "encoded",
    [
        b"# A\r\n\r\n- key under the mat\r\n- tea\r\n",
        "\ufeff# A\r\n\r\n- key under the mat\r\n- tea".encode("utf-16-le"),
        "\ufeff# A\n\n- key under the mat\n- tea\n".encode(),
        b"# Caf\xe9\n\n- key under the mat, caf\xe9\n- tea\n",
        b"# A\n\n- key under the mat\r\n- tea\n",
        b"# A\r\r- key under the mat\r- tea\r",
    ],
)
async def test_other_bytes_stay_whatever_the_encoding(tmp_path: Path, encoded: bytes) -> None:
    async with open_desk(tmp_path) as desk:
        desk.put(encoded, "a.md")
        await desk.writer.edit("a.md", "the mat", "the plant\n- and so on", key="a", origin=TOOL_CALL)
        edited = desk.raw("a.md")
        await desk.writer.append("a.md", "- caf\u00e9", key="b", title="", origin=TOOL_CALL)
        after = desk.raw("a.md")
        await desk.undo(2)
        assert desk.raw("a.md") == edited
        await desk.undo(3)
        assert desk.raw("a.md") == after
        await desk.undo(4)
        await desk.undo(1)
        assert desk.raw("a.md").rstrip(b"\r\n\0") == encoded.rstrip(b"\r\n\0")
        await desk.undo(6)
        assert desk.raw("a.md") == edited


async def test_each_kind_of_write_is_taken_back(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        desk.put("# Memory\n\n- Ada lives in Oslo.\n", "MEMORY.md")
        writer = desk.writer
        section = "## 14:05 Ada\n\n- She moved.\n- She has a cat."
        await writer.append(DAY, section, key="1", title="2026-11-21", origin=TOOL_CALL)
        await writer.write("Ben is her brother.", target="core", key="2", origin=TOOL_CALL)
        await writer.correct("MEMORY.md", 3, "Ada lives in Bergen.", key="3", origin=TOOL_CALL)
        await writer.edit("MEMORY.md", "brother", "cousin", key="4", origin=TOOL_CALL)
        await writer.edit("MEMORY.md", "- Ada lives in Bergen.\n", "", key="5", origin=TOOL_CALL)
        await writer.write_document("documents/r.md", "Report.", key="6", title="R", origin=TOOL_CALL)
        bringing = partial(missing_lines, incoming="- Ada lives in Oslo.\n- Cleo too.")
        await writer.append_missing(
            "MEMORY.md", bringing, key="7", record=lambda db, block: None, origin=TOOL_CALL
        )
        texts = {each: await desk.memory.read_trash(each) for each in await desk.memory.removed()}
        removed = next(each for each, text in texts.items() if "Bergen" in text)

        async def plan() -> RestorePlan:
            return RestorePlan(removed.file, texts[removed], "MEMORY.md", False, removed.stood)

        await writer.restore(plan, key="8", origin=TOOL_CALL)
        notes = [read_notes(tmp_path / "memory")]
        for number in range(8, 0, -1):
            await desk.undo(number)
            notes.append(read_notes(tmp_path / "memory"))
        assert notes[-1] == {"MEMORY.md": ["# Memory", "", "- Ada lives in Oslo."]}
        for number in range(16, 8, -1):
            notes.pop()
            await desk.undo(number)
            assert read_notes(tmp_path / "memory") == notes[-1]
        before = {"MEMORY.md": ["# Memory", "", "- Ada lives in Oslo."]}
        assert replay(await recorded(tmp_path), before) == notes[0]


async def test_a_retry_does_it_once(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("milk", key="a", origin=TOOL_CALL)
        await desk.writer.write("milk", key="b", origin=TOOL_CALL)
        first = await desk.undoing.undo_last(["telegram:1"], key="u", origin=ADA)
        again = await desk.undoing.undo_last(["telegram:1"], key="u", origin=ADA)
        assert first == again == await desk.undoing.undo(1, key="u", origin=ADA)
        assert desk.text().count("milk") == 1


async def test_a_parked_turn_does_not_write_again(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        written = await desk.writer.write("milk", key="turn 1", origin=TOOL_CALL)
        await desk.undo(1)
        assert await desk.writer.write("milk", key="turn 1", origin=TOOL_CALL) == written
        assert not (tmp_path / "memory" / DAY).exists()


async def test_an_open_write_is_settled_before_it_is_undone(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        with dying(Machine(left=0, part=0.5, at="write")), pytest.raises(PowerCut):
            await desk.writer.write("The key is under the mat.", key="a", origin=TOOL_CALL)
        assert desk.text() == "# 2026-11-21\n\n- The k"
    async with open_desk(tmp_path) as desk:
        found = await desk.undoing.find_last(None)
        assert found is not None
        assert desk.text().endswith("mat.\n")
        await desk.undo(found.number)
        assert await desk.writer.write("The key is under the mat.", key="a", origin=TOOL_CALL)
        assert not (tmp_path / "memory" / DAY).exists()


async def test_refusals_say_why(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("The key is under the mat.", key="a", origin=TOOL_CALL)
        await desk.writer.edit(DAY, "the mat", "the plant", key="b", origin=TOOL_CALL)
        await desk.writer.edit(DAY, "the plant", "the stone", key="c", origin=TOOL_CALL)

        async def refusal(number: int) -> tuple[str, int]:
            with pytest.raises(UndoRefused) as refused:
                await desk.undo(number)
            return refused.value.reason, refused.value.by

        assert await refusal(9) == ("unknown", 0)
        assert await refusal(1) == ("changed_later", 3)
        await desk.undo(3)
        assert await refusal(3) == ("undone", 4)
        assert await refusal(1) == ("changed_later", 2)
        await desk.undo(4)
        assert await refusal(4) == ("redone", 5)
        assert await refusal(1) == ("changed_later", 5)
        (tmp_path / "memory" / DAY).unlink()
        assert await refusal(1) == ("note_gone", 0)


async def test_what_is_undone_and_redone_next_is_as_in_editors(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        people = ["telegram:1"]
        for number, origin in enumerate([ADA, BEN, ADA, ADA], start=1):
            await desk.writer.write(f"fact {number}", key=f"w{number}", origin=origin)

        async def take(*, redo: bool = False) -> int | None:
            desk.keys += 1
            what = desk.undoing.redo_last if redo else desk.undoing.undo_last
            done = await what(people, key=f"t{desk.keys}", origin=ADA)
            return done.original.number if done else None

        assert [await take(), await take()] == [4, 3]
        assert [await take(redo=True), await take(redo=True), await take(redo=True)] == [3, 4, None]
        assert [await take(), await take(), await take(), await take()] == [4, 3, 1, None]
        assert desk.text() == "# 2026-11-21\n\n- fact 2\n"
        assert await take(redo=True) == 1
        await desk.writer.write("something else", key="new", origin=replace(ADA, made_by="flush"))
        assert await take(redo=True) == 3
        await desk.writer.write("news", key="newer", origin=ADA)
        assert await take(redo=True) is None


async def test_two_undos_of_one_change_at_once_do_it_once(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk, open_desk(tmp_path) as other:
        await desk.writer.write("milk", key="a", origin=TOOL_CALL)
        await desk.writer.write("milk", key="b", origin=TOOL_CALL)
        done = await asyncio.gather(
            *(each.undoing.undo(2, key=f"u{n}", origin=ADA) for n in range(4) for each in (desk, other)),
            return_exceptions=True,
        )
        assert sum(isinstance(each, Undone) for each in done) == 2
        assert {each.reason for each in done if isinstance(each, UndoRefused)} <= {"undone"}
        assert len({each.change.number for each in done if isinstance(each, Undone)}) == 1
        assert desk.text() == "# 2026-11-21\n\n- milk\n"


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["entry", "note", "edit", "redo", "redo of a note"])
async def test_wherever_the_machine_dies_a_retry_completes_the_undo(tmp_path: Path, what: str) -> None:
    deaths = 0
    for left in range(30):
        base = tmp_path / str(left)
        async with open_desk(base) as desk:
            path = "trips/oslo.md"
            await desk.writer.append(path, "- tram 12", key="a", title="Oslo", origin=TOOL_CALL)
            if what in ("entry", "redo"):
                await desk.writer.append(path, "- room 3", key="b", title="", origin=TOOL_CALL)
            if what == "edit":
                await desk.writer.edit(path, "12", "13", key="b", origin=TOOL_CALL)
            number = len(await recorded(base))
            if what.startswith("redo"):
                number = (await desk.undo(number)).change.number
            with dying(Machine(left, 0.5)):
                try:
                    await desk.undoing.undo(number, key="u", origin=ADA)
                except PowerCut:
                    deaths += 1
        async with open_desk(base) as desk:
            done = await desk.undoing.undo(number, key="u", origin=ADA)
            assert done == await desk.undoing.undo(number, key="u", origin=ADA)
        texts = {
            "entry": "# Oslo\n\n- tram 12\n",
            "edit": "# Oslo\n\n- tram 12\n",
            "redo": "# Oslo\n\n- tram 12\n- room 3\n",
            "redo of a note": "# Oslo\n\n- tram 12\n",
        }
        assert read_notes(base / "memory") == ({path: texts[what].splitlines()} if what in texts else {})
        assert replay(await recorded(base)) == read_notes(base / "memory")
    assert deaths > 2


STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30), st.integers(0, 10**6)), max_size=14)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_undo_and_redo_of_the_latest_change_give_the_same_bytes(steps: list[tuple[int, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))


async def play(base: Path, steps: list[tuple[int, int, int]]) -> None:
    async with open_desk(base) as desk:
        for at, (kind, number, seed) in enumerate(steps):
            before = read_notes(base / "memory")
            done = len(await recorded(base))
            with suppress(EditRefused, NoteMissing, IndexError):  # nothing in the trash
                if kind == 6:
                    await desk.undo(number)
                else:
                    await make_changes(desk.writer, desk.memory, random.Random(seed), at)
            made = (await recorded(base))[done:]
            if not made:
                continue
            after = {path: desk.raw(path) for path in read_notes(base / "memory")}
            with suppress(UndoRefused):  # a change of line ends alone
                await desk.undo(made[-1].number)
                assert read_notes(base / "memory") == before
                await desk.undo(made[-1].number + 1)
                assert {path: desk.raw(path) for path in read_notes(base / "memory")} == after
        assert replay(await recorded(base)) == read_notes(base / "memory")


async def test_lines_that_somebody_put_between_added_ones_stay(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        block = "## 14:05 Ada\n\n- She moved.\n- She has a cat."
        await desk.writer.append(DAY, block, key="a", title="", origin=TOOL_CALL)
        desk.put(desk.text().replace("moved.\n", "moved.\n- To Oslo!\n"))
        between = desk.text()
        assert (await desk.undo(1)).put_back == ("- To Oslo!",)
        assert desk.text() == "- To Oslo!\n"
        await desk.undo(2)
        assert desk.text() == between


async def test_what_was_put_back_since_is_not_put_back_twice(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("bread", key="a", origin=TOOL_CALL)
        await desk.writer.write("milk", key="b", origin=TOOL_CALL)
        await desk.writer.edit(DAY, "- milk\n", "", key="c", origin=TOOL_CALL)
        await desk.writer.write("milk", key="d", origin=TOOL_CALL)
        with pytest.raises(UndoRefused) as refused:
            await desk.undo(3)
        assert (refused.value.reason, refused.value.by) == ("undone", 4)
        await desk.undo(4)
        await desk.undo(3)
        assert desk.text() == "# 2026-11-21\n\n- bread\n- milk\n"


async def test_words_of_others_stay_theirs_when_they_come_back(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        theirs = replace(TOOL_CALL, says=("report.pdf",))
        await desk.writer.write("The moon is cheese (says report.pdf).", key="a", origin=theirs)
        assert (await desk.undo(1)).change.origin.says == ()
        assert (await desk.undo(2)).change.origin.says == ("report.pdf",)


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_equal_lines_that_somebody_wrote_since_stay(tmp_path: Path, *, is_recorded: bool) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("bread", key="a", origin=ADA)
        await desk.writer.write("milk", key="b", origin=ADA)
        if is_recorded:
            await desk.writer.edit(DAY, "- milk\n", "", key="c", origin=BEN)
        else:
            desk.put(desk.text().replace("- milk\n", ""))
        await desk.writer.write("milk", key="d", origin=BEN)
        before = desk.text()
        with pytest.raises(UndoRefused) as refused:
            await desk.undo(2)
        assert refused.value.reason == ("changed_later" if is_recorded else "edited")
        assert desk.text() == before
        await desk.writer.write("milk", key="e", origin=ADA)
        await desk.undo((await recorded(tmp_path))[-1].number)
        assert desk.text() == before


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_equal_lines_that_somebody_wrote_before_stay(tmp_path: Path, *, is_recorded: bool) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("milk", key="a", origin=BEN)
        await desk.writer.write("bread", key="b", origin=BEN)
        await desk.writer.write("milk", key="c", origin=ADA)
        if is_recorded:
            await desk.writer.edit(DAY, "- bread\n- milk", "- bread", key="d", origin=BEN)
        else:
            desk.put("# 2026-11-21\n\n- milk\n- bread\n")
        with pytest.raises(UndoRefused) as refused:
            await desk.undo(3)
        assert refused.value.reason == ("changed_later" if is_recorded else "edited")
        assert desk.text() == "# 2026-11-21\n\n- milk\n- bread\n"
        if is_recorded:
            await desk.undo(1)
            assert desk.text() == "# 2026-11-21\n\n- bread\n"


async def test_a_line_that_was_changed_back_and_moved_is_still_the_last_changes(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.write("tea", key="a", origin=BEN)
        await desk.writer.edit(DAY, "tea", "coffee", key="b", origin=BEN)
        await desk.writer.edit(DAY, "coffee", "tea", key="c", origin=ADA)
        desk.put("# Drinks\n\nIn the morning:\n\n- tea\n")
        await desk.undo(3)
        assert desk.text() == "# Drinks\n\nIn the morning:\n\n- coffee\n"


async def test_lines_are_not_completed_by_those_of_others(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.writer.append("a.md", "- milk\n- eggs", key="a", title="", origin=ADA)
        desk.put("- milk\n- tea\n", "a.md")
        await desk.writer.append("a.md", "- bread\n- eggs", key="b", title="", origin=BEN)
        with pytest.raises(UndoRefused) as refused:
            await desk.undo(1)
        assert refused.value.reason == "edited"
        assert desk.text("a.md") == "- milk\n- tea\n- bread\n- eggs\n"
