"""What `/forget` and the undo of an import remove is recorded, and what is forgotten does not come back."""

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from bot.forgetting import AlreadyForgotten
from bot.imports.layouts import place_markdown
from bot.imports.note_files import FolderNotes
from bot.imports.notes import NoteImporter, NoteImportReport
from bot.imports.undo import UndoReport, undo_notes
from bot.state.changes import find_last
from bot.undo import UndoRefused
from memory.errors import EditRefused, MemoryFault
from memory.forgetting import FORGOTTEN
from tests.bot.imports.test_notes import RUN, write
from tests.bot.test_change_record import recorded
from tests.bot.test_forgetting import House, opened
from tests.bot.test_note_writes import DAY, Machine, PowerCut, dying
from tests.bot.test_undo import ADA, Desk, open_desk
from tests.fakes.turns import HERE, OWNER
from tests.origins import TOOL_CALL
from tests.replay import are_alike, read_notes, replay

SECRET = "xylophagous"
LINE = f"Anna's {SECRET} beetle is called Quentin"


def desk_of(house: House) -> Desk:
    from bot.note_writes import OnceWriter
    from bot.undo import UndoService

    writer = OnceWriter(house.memory, house.state)
    return Desk(house.base, house.memory, house.state, writer, UndoService(writer, house.state))


async def test_forgetting_is_recorded_without_texts(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        desk = desk_of(house)
        for number, text in enumerate(["tea", LINE, "bread", f"{LINE}\n  since May", "milk"]):
            await desk.writer.append(DAY, f"- {text}", key=f"k{number}", title="Day", origin=TOOL_CALL)
        await house.forget(SECRET)
        made = await recorded(tmp_path)
        assert [(each.lines.line, each.lines.old, each.lines.new) for each in made[5:]] == [
            (6, (FORGOTTEN, FORGOTTEN), ()),
            (4, (FORGOTTEN,), ()),
        ]
        assert {
            (each.origin.made_by, each.origin.person, each.path, each.forgotten) for each in made[5:]
        } == {("forget", str(OWNER), DAY, True)}
        assert (
            replay(made)
            == read_notes(tmp_path / "memory")
            == {DAY: ["# Day", "", "- tea", "- bread", "- milk"]}
        )
        for number in (2, 4, 6, 7):
            with pytest.raises(UndoRefused) as refused:
                await desk.undo(number)
            assert refused.value.reason == "forgotten"
        assert (await house.state.read(partial(find_last, people=None))) == made[-1]
    assert house.files_with(SECRET) == []


async def test_a_forgotten_text_does_not_come_back_by_undo_or_redo(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        desk = desk_of(house)
        await desk.writer.write(LINE, key="a", origin=TOOL_CALL)
        await desk.writer.edit(DAY, LINE, "A beetle", key="b", origin=TOOL_CALL)
        await desk.writer.write("tea", key="c", origin=TOOL_CALL)
        await desk.writer.write(f"The {SECRET} one died", key="d", origin=TOOL_CALL)
        await desk.undo(4)
        before = desk.text(house.clock.now().strftime("%Y-%m-%d.md"))
        await house.forget(SECRET)
        for number in (1, 2, 4, 5):
            with pytest.raises(UndoRefused) as refused:
                await desk.undo(number)
            assert refused.value.reason in ("forgotten", "undone", "changed_later")
        assert desk.text(house.clock.now().strftime("%Y-%m-%d.md")) == before
        assert FORGOTTEN not in before
        await desk.undo(3)
    assert house.files_with(SECRET) == []


async def test_a_renamed_document_keeps_its_changes(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        desk = desk_of(house)
        path = f"documents/2026-11-20-{SECRET}.md"
        await desk.writer.write_document(path, "Report.", key="a", title="R", origin=TOOL_CALL)
        await house.forget(SECRET)
        made = await recorded(tmp_path)
        (renamed,) = read_notes(tmp_path / "memory")
        assert {each.path for each in made} == {renamed}
        assert replay(made) == read_notes(tmp_path / "memory")
        await desk.undo(1)
        assert read_notes(tmp_path / "memory") == {}
    assert house.files_with(SECRET) == []
    assert [name for name in tmp_path.rglob("*") if SECRET in str(name)] == []


@pytest.mark.thorough
async def test_wherever_the_machine_dies_the_record_equals_the_notes_and_nothing_comes_back(
    tmp_path: Path,
) -> None:
    deaths = 0
    for left in range(40):
        base = tmp_path / str(left)
        async with opened(base) as house:
            desk = desk_of(house)
            path = f"documents/2026-11-20-{SECRET}.md"
            await desk.writer.write_document(path, "Report.", key="a", title="R", origin=TOOL_CALL)
            for number, text in enumerate(["tea", LINE, "bread", LINE, "milk"]):
                await desk.writer.append(DAY, f"- {text}", key=f"k{number}", title="Day", origin=TOOL_CALL)
            found = await house.forgetting.find(SECRET, chat=HERE, person=OWNER)
            with dying(Machine(left, 0.5)):
                try:
                    await house.forgetting.confirm(found.code, chat=HERE, person=OWNER, key="f")
                except PowerCut:
                    deaths += 1
        async with opened(base) as house:
            desk = desk_of(house)
            await desk.undoing.settle_open()
            assert are_alike(replay(await recorded(base)), read_notes(base / "memory"))
            for each in await recorded(base):
                try:
                    await desk.undo(each.number)
                except EditRefused:
                    continue
            assert are_alike(replay(await recorded(base)), read_notes(base / "memory"))
            with suppress(AlreadyForgotten):
                await house.forgetting.confirm(found.code, chat=HERE, person=OWNER, key="f")
            notes = read_notes(base / "memory")
            assert replay(await recorded(base)) == notes
            assert not any(FORGOTTEN in line for lines in notes.values() for line in lines)
        if find_secret(base):  # an undo had put it back before its row was reached
            async with opened(base) as house:
                await house.forget(SECRET)
        assert house.files_with(SECRET) == []
    assert deaths > 10


@pytest.mark.parametrize("seed", range(5))
async def test_undos_at_the_same_time_bring_nothing_back(tmp_path: Path, seed: int) -> None:
    async with opened(tmp_path) as house:
        desk = desk_of(house)
        for number in range(6):
            text = f"{LINE} {number}" if number % 2 else f"- fact {number}"
            await desk.writer.append(DAY, f"- {text}", key=f"k{number}", title="Day", origin=TOOL_CALL)
        await desk.writer.edit(DAY, f"{LINE} 1", "A beetle", key="e", origin=TOOL_CALL)
        found = await house.forgetting.find(SECRET, chat=HERE, person=OWNER)

        async def play() -> None:
            for number in range(1, 30):
                try:
                    await desk.undoing.undo((number * (seed + 1)) % 9 + 1, key=f"u{number}", origin=ADA)
                except MemoryFault:
                    await asyncio.sleep(0)

        playing = asyncio.create_task(play())
        for _ in range(seed * 3):
            await asyncio.sleep(0.002)
        await house.forgetting.confirm(found.code, chat=HERE, person=OWNER, key="f")
        await playing
        if find_secret(tmp_path):  # put back in the notes, before its row was reached
            await house.forget(SECRET)
        assert replay(await recorded(tmp_path)) == read_notes(tmp_path / "memory")
    assert house.files_with(SECRET) == []


def find_secret(base: Path) -> bool:
    return any(SECRET in line for lines in read_notes(base / "memory").values() for line in lines)


async def test_the_undo_of_an_import_is_recorded_and_can_be_undone(tmp_path: Path) -> None:
    source = write(tmp_path / "vault", {"MEMORY.md": "- Ben too.\n", "trips/oslo.md": "Tram 12.\n"})
    write(tmp_path / "w" / "memory", {"MEMORY.md": "# Memory\n\n- Ada.\n"})
    before = read_notes(tmp_path / "w" / "memory")
    async with open_desk(tmp_path / "w") as desk:
        await NoteImporter(desk.memory, desk.state, RUN, NoteImportReport()).bring(
            FolderNotes(source), place_markdown, dry=False
        )
        brought = read_notes(tmp_path / "w" / "memory")
        report = UndoReport(RUN.run)
        await undo_notes(desk.memory, desk.state, report)
        assert (read_notes(tmp_path / "w" / "memory"), report.kept) == (
            {**before, "MEMORY.md": ["# Memory", "", "- Ada.", *brought["MEMORY.md"][3:-1]]},
            [],
        )
        made = await recorded(tmp_path / "w")
        assert {each.origin.made_by for each in made} == {"import"}
        assert sorted(each.undoes for each in made) == [0, 0, 1, 2]
        for each in made[2:]:
            await desk.undo(each.number)
        assert read_notes(tmp_path / "w" / "memory") == brought
        assert replay(await recorded(tmp_path / "w"), before) == brought
