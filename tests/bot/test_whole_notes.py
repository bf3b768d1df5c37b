"""Notes that a person creates, rewrites, moves and deletes as a whole: recorded, undone, and whole after a crash."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from bot.change_texts import describe_effect, load_shown_change
from bot.note_writes import RestorePlan
from bot.state.changes import ChangeOrigin, find_moved_note
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


async def move(desk: Desk, path: str, to: str, *, key: str = "m") -> str:
    return (await desk.writer.move(path, to, key=key, origin=PAGE)).path


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
            await move(desk, "a.md", path)
    assert read_notes(tmp_path / "memory") == {"a.md": ["one"]}


async def test_a_moved_note_keeps_its_changes_and_they_are_undone_there(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    await rewrite(desk, "a.md", "one\ntwo\n")
    assert await move(desk, "a.md", "deep/er/b.md") == "deep/er/b.md"
    made = await recorded(tmp_path)
    assert {each.path for each in made} == {"deep/er/b.md"}
    shown = await desk.state.read(partial(load_shown_change, change=made[2]))
    assert (describe_effect(shown), shown.can_undo) == ("moved the note from a.md to deep/er/b.md", True)
    await desk.undo(2)
    assert read_notes(tmp_path / "memory") == {"deep/er/b.md": ["one"]}
    await desk.undo(3)
    assert read_notes(tmp_path / "memory") == {"a.md": ["one"]}
    assert not (tmp_path / "memory/deep").exists()
    assert {each.path for each in await recorded(tmp_path)} == {"a.md"}
    await desk.undo(5)
    assert read_notes(tmp_path / "memory") == {"deep/er/b.md": ["one"]}
    assert await desk.state.read(partial(find_moved_note, path="a.md")) == "deep/er/b.md"


LINKED = (
    b"\xef\xbb\xbf# Oslo\r\n[ferry](ferry.md#times) ![](map.png)\r\nA plain line\n"
    b"![[map.png|300]] [[ferry]] `[x](ferry.md)` [home](../home.md) [web](https://example.org/ferry.md)\n"
    b"[gone](nothing.md) [me](oslo.md)\n[there]: <a plan.md> 'Plan'"
)
MOVED = (
    b"\xef\xbb\xbf# Oslo\r\n[ferry](../../trips/ferry.md#times) ![](../../trips/map.png)\r\nA plain line\n"
    b"![[map.png|300]] [[ferry]] `[x](ferry.md)` [home](../../home.md) [web](https://example.org/ferry.md)\n"
    b"[gone](nothing.md) [me](Oslo%20\xc3\xa5r.md)\n[there]: <../../trips/a plan.md> 'Plan'"
)


def put_linked(base: Path) -> Path:
    """Write a note with all kinds of links, and return its file."""
    for path in ("home.md", "trips/ferry.md", "trips/a plan.md"):
        note = base / "memory" / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("x\n")
    (base / "memory/trips/map.png").write_bytes(b"png")
    file = base / "memory/trips/oslo.md"
    file.write_bytes(LINKED)
    return file


async def test_a_moved_notes_own_links_still_lead_there_and_nothing_else_changes(
    desk: Desk, tmp_path: Path
) -> None:
    file = put_linked(tmp_path)
    there = tmp_path / "memory/north/2026/Oslo år.md"
    await move(desk, "trips/oslo.md", "north/2026/Oslo år.md")
    assert there.read_bytes() == MOVED
    assert not file.exists()
    assert await desk.memory.removed() == []
    (made,) = await recorded(tmp_path)
    assert (made.lines.line, len(made.lines.old), len(made.lines.new)) == (2, 5, 5)
    await desk.undo(1)
    assert file.read_bytes() == LINKED
    await desk.undo(2)
    assert there.read_bytes() == MOVED


async def test_a_move_is_undone_although_other_lines_were_added(desk: Desk, tmp_path: Path) -> None:
    file = put_linked(tmp_path)
    await move(desk, "trips/oslo.md", "oslo.md")
    there = tmp_path / "memory/oslo.md"
    there.write_bytes(there.read_bytes() + b"\n[later](trips/ferry.md)\n")
    await desk.undo(1)
    assert file.read_bytes() == LINKED + b"\n[later](ferry.md)\n"


async def test_a_move_is_not_undone_onto_another_note_or_over_edited_links(
    desk: Desk, tmp_path: Path
) -> None:
    file = put_linked(tmp_path)
    await move(desk, "trips/oslo.md", "oslo.md")
    there = tmp_path / "memory/oslo.md"
    moved = there.read_bytes()
    file.write_text("another\n")
    await refused(desk, 1, "name_taken")
    file.unlink()
    there.write_bytes(moved.replace(b"trips/ferry.md#times", b"trips/ferry.md#prices"))
    await refused(desk, 1, "edited")
    there.write_bytes(moved)
    await move(desk, "oslo.md", "b.md", key="n")
    await refused(desk, 1, "changed_later")
    await desk.undo(2)
    there.unlink()
    await refused(desk, 1, "note_gone")
    assert read_notes(tmp_path / "memory").keys() == {"home.md", "trips/ferry.md", "trips/a plan.md"}


async def refused(desk: Desk, number: int, reason: str) -> None:
    with pytest.raises(UndoRefused) as refusal:
        await desk.undo(number)
    assert refusal.value.reason == reason


async def test_a_move_is_the_latest_change_that_is_undone(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    await move(desk, "a.md", "b.md")
    undone = await desk.undoing.undo_last(None, key="u", origin=PAGE)
    again = await desk.undoing.undo_last(None, key="u", origin=PAGE)
    assert undone is not None
    assert again is not None
    assert (undone.path, undone.change.number, again.change.number) == ("a.md", 3, 3)
    assert read_notes(tmp_path / "memory") == {"a.md": ["one"]}


async def test_a_note_moves_onto_no_other_and_from_nowhere(desk: Desk, tmp_path: Path) -> None:
    await desk.writer.create("a.md", "one", key="c", origin=PAGE)
    await desk.writer.create("b.md", "two", key="d", origin=PAGE)
    for to in ("a.md", "b.md"):
        with pytest.raises(NoteExists):
            await move(desk, "a.md", to)
    with pytest.raises(NoteMissing):
        await move(desk, "c.md", "d.md")
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


OLD = "# A\n\n[one](one.md)\ntwo"


async def change(desk: Desk, what: str) -> None:
    if what == "rewrite":
        await rewrite(desk, "a.md", "# A\n\n1\ntwo\nthree\n")
    elif what == "delete":
        await delete(desk, "a.md")
    elif what == "move":
        await move(desk, "a.md", "b/c.md")
    else:
        await desk.undo(3)


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["rewrite", "delete", "move", "move back"])
async def test_wherever_the_machine_dies_the_note_is_whole_and_the_record_tells_it(
    tmp_path: Path, what: str
) -> None:
    deaths, there = 0, OLD.replace("(one.md)", "(../one.md)").split("\n")
    for left in range(20):
        base = tmp_path / str(left)
        async with open_desk(base) as desk:
            await desk.writer.create("a.md", OLD, key="c", origin=PAGE)
            await desk.writer.create("one.md", "1", key="one", origin=PAGE)
            if what == "move back":
                await move(desk, "a.md", "b/c.md")
            with dying(Machine(left, 0.5)):
                try:
                    await change(desk, what)
                except PowerCut:
                    deaths += 1
        async with open_desk(base) as desk:
            await desk.undoing.settle_open()
            notes = read_notes(base / "memory")
            assert replay(await recorded(base)) == notes
            del notes["one.md"]
            first, moved = {"a.md": OLD.split("\n")}, {"b/c.md": there}
            possible = {
                "rewrite": (first, {"a.md": ["# A", "", "1", "two", "three"]}),
                "delete": (first, {}),
                "move": (first, moved),
                "move back": (moved, first),
            }
            assert notes in possible[what]
            if what == "delete" and not notes:
                assert [each.note for each in await desk.memory.removed()] == ["a.md"]
    assert deaths > 3
