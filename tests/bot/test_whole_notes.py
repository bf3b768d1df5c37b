"""Notes that a person creates, rewrites, moves and deletes as a whole: recorded, undone, and whole after a crash."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from bot.change_texts import describe_effect, load_shown_change
from bot.note_removals import NoteRemovals
from bot.note_writes import RestorePlan
from bot.state.changes import ChangeOrigin
from bot.trash import plan_restore
from bot.undo import UndoRefused
from memory.errors import EditRefused, NoteChanged, NoteExists, NoteMissing, NothingToWrite, PathRefused
from tests.bot.test_change_record import recorded
from tests.bot.test_note_writes import Machine, PowerCut, dying
from tests.bot.test_undo import Desk, open_desk
from tests.replay import read_notes, replay

PAGE = ChangeOrigin("http")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as desk:
        yield desk


def mover(desk: Desk) -> NoteRemovals:
    return NoteRemovals(desk.memory, desk.state, PAGE)


async def rewrite(desk: Desk, path: str, text: str, *, key: str = "r") -> None:
    digest = (await desk.memory.read_whole(path)).digest
    await desk.writer.rewrite(path, text, digest=digest, key=key, origin=PAGE)


async def delete(desk: Desk, path: str, *, key: str = "d") -> None:
    digest = (await desk.memory.read_whole(path)).digest
    await desk.writer.delete(path, digest=digest, key=key, origin=PAGE)


async def test_a_note_is_created_rewritten_and_deleted_and_all_is_undone(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("trips/oslo.md", "# Oslo\n\nFerry", key="c", origin=PAGE)
    await rewrite(desk, "trips/oslo.md", "# Oslo\n\nFerry\nTrain\n")
    await delete(desk, "trips/oslo.md")
    assert not (tmp_path / "memory/trips").exists()
    (removed,) = [each for each in await desk.memory.removed() if each.is_whole]
    assert (removed.note, await desk.memory.read_trash(removed)) == (
        "trips/oslo.md",
        "# Oslo\n\nFerry\nTrain\n",
    )
    made = await recorded(tmp_path)
    assert [(each.path, each.origin.made_by, each.lines.old, each.lines.new) for each in made] == [
        ("trips/oslo.md", "http", (), ("# Oslo", "", "Ferry")),
        ("trips/oslo.md", "http", (), ("Train",)),
        ("trips/oslo.md", "http", ("# Oslo", "", "Ferry", "Train"), ()),
    ]
    await desk.undo(3)
    assert desk.text("trips/oslo.md") == "# Oslo\n\nFerry\nTrain\n"
    await desk.undo(2)
    await desk.undo(1)
    assert read_notes(tmp_path / "memory") == {}


@pytest.mark.parametrize("text", ["\n\n---\n\nx\n\n\n", "a\x0cb\0c\n", "# A \n\u2028\ufeffx\u200b\n", "one"])
async def test_a_deleted_note_comes_back_from_the_trash_to_the_letter(desk: Desk, text: str) -> None:
    await desk.writer.create("other.md", "one", key="c", origin=PAGE)
    desk.put(text, "a.md")
    await delete(desk, "a.md")

    async def find() -> RestorePlan:
        (removed,) = [each for each in await desk.memory.removed() if each.is_whole]
        return await plan_restore(removed, desk.memory)

    await desk.writer.restore(find, key="p", origin=PAGE)
    assert desk.text("a.md") == f"{text.removesuffix(chr(10))}\n"


async def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(desk: Desk) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    digest = (await desk.memory.read_whole("a.md")).digest
    await rewrite(desk, "a.md", "two")
    with pytest.raises(NoteChanged):
        await desk.writer.rewrite("a.md", "three", digest=digest, key="late", origin=PAGE)
    with pytest.raises(NoteChanged):
        await desk.writer.delete("a.md", digest=digest, key="late", origin=PAGE)
    assert desk.text("a.md") == "two\n"


async def test_nothing_is_created_over_a_note_or_out_of_the_folder(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    with pytest.raises(NoteExists):
        await desk.writer.create("a.md", "two", key="d", origin=PAGE)
    with pytest.raises(NothingToWrite):
        await desk.writer.create("b.md", " \n", key="e", origin=PAGE)
    for path in ("../b.md", "/b.md", ".b.md", "b\0.md", "b\\c.md", "b.txt", "c:b.md", "", "x/../b.md"):
        with pytest.raises(PathRefused):
            await desk.writer.create(path, "two", key=path, origin=PAGE)
        with pytest.raises(PathRefused):
            await mover(desk).move("a.md", path)
    assert read_notes(tmp_path / "memory") == {"a.md": ["one"]}


async def test_a_moved_note_keeps_its_changes_and_they_are_undone_there(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    await rewrite(desk, "a.md", "one\ntwo\n")
    written = await mover(desk).move("a.md", "deep/er/b.md")
    assert written.path == "deep/er/b.md"
    made = await recorded(tmp_path)
    assert {each.path for each in made} == {"deep/er/b.md"}
    shown = await desk.state.read(partial(load_shown_change, change=made[2]))
    assert (describe_effect(shown), shown.can_undo) == ("moved or renamed the note", False)
    await desk.undo(2)
    assert read_notes(tmp_path / "memory") == {"deep/er/b.md": ["one"]}
    with pytest.raises(UndoRefused):
        await desk.undo(3)


async def test_a_note_moves_onto_no_other_and_from_nowhere(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    await desk.writer.create("b.md", "two", key="d", origin=PAGE)
    for to in ("a.md", "b.md"):
        with pytest.raises(NoteExists):
            await mover(desk).move("a.md", to)
    with pytest.raises(NoteMissing):
        await mover(desk).move("c.md", "d.md")
    assert read_notes(tmp_path / "memory") == {"a.md": ["one"], "b.md": ["two"]}
    assert len(await recorded(tmp_path)) == 2


async def test_the_same_key_is_the_same_write(desk: Desk) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    digest = (await desk.memory.read_whole("a.md")).digest
    for _ in range(2):
        await desk.writer.rewrite("a.md", "two", digest=digest, key="r", origin=PAGE)
    with pytest.raises(EditRefused):
        await rewrite(desk, "a.md", "two\n", key="again")
    assert desk.text("a.md") == "two\n"


async def change(desk: Desk, what: str) -> None:
    if what == "rewrite":
        await rewrite(desk, "a.md", "# A\n\n1\ntwo\nthree\n")
    elif what == "delete":
        await delete(desk, "a.md")
    else:
        await mover(desk).move("a.md", "b/c.md")


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["rewrite", "delete", "move"])
async def test_wherever_the_machine_dies_the_note_is_whole_and_the_record_tells_it(
    tmp_path: Path, what: str
) -> None:
    deaths, old = 0, "# A\n\none\ntwo"
    for left in range(20):
        base = tmp_path / str(left)
        async with open_desk(base) as desk:
            await desk.writer.create("a.md", old, key="c", origin=PAGE)
            with dying(Machine(left, 0.5)):
                try:
                    await change(desk, what)
                except PowerCut:
                    deaths += 1
        async with open_desk(base) as desk:
            await desk.undoing.settle_open()
            notes = read_notes(base / "memory")
            assert replay(await recorded(base)) == notes
            before, after = (
                {"a.md": old.split("\n")},
                {
                    "rewrite": {"a.md": ["# A", "", "1", "two", "three"]},
                    "delete": {},
                    "move": {"b/c.md": old.split("\n")},
                },
            )
            assert notes in (before, after[what])
            if what == "delete" and not notes:
                assert [each.note for each in await desk.memory.removed()] == ["a.md"]
    assert deaths > 3
