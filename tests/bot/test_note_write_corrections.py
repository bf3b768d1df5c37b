"""Lines that are corrected, and what is put back from the trash: once, wherever the machine dies."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bot.note_writes import CorrectedLines, OnceWriter, RestorePlan
from bot.trash import plan_restore
from memory.errors import EditRefused, MemoryFault, NoteMissing, NothingToWrite, PathRefused
from memory.trash import list_trash, save_removed
from tests.bot.test_note_writes import Machine, PowerCut, dying, note, opened
from tests.origins import TOOL_CALL

BEFORE = "# Täglich\n\n- first\n- the blue folder\n- the blue folder\n- tea\n"


def crashes(limit: int) -> list[Any]:
    """After how many calls to the file system a machine dies; a few of them always."""
    usual = {2, 8}
    return [pytest.param(left, marks=() if left in usual else pytest.mark.thorough) for left in range(limit)]


def lay(base: Path, text: str = BEFORE, name: str = "n.md") -> Path:
    path = base / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def trash(base: Path) -> list[str]:
    """The texts in the trash, newest first."""
    folder = base / ".commonplace" / "trash"
    return [(folder / each.file).read_text() for each in list_trash(folder) if not each.is_restored]


async def back(note_writer: OnceWriter, number: int = 1) -> RestorePlan:
    found = (await note_writer._memory.removed())[number - 1]
    return await plan_restore(found, note_writer._memory)


async def test_one_of_two_equal_lines_is_corrected_and_the_old_one_kept(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        done = await journal.correct("n.md", 5, "the red folder", key="c", origin=TOOL_CALL)
        assert (done.written.path, done.written.line_start, done.written.line_end) == ("n.md", 5, 5)
        assert done.correction
        assert (done.correction.old, done.correction.new) == ("- the blue folder", "- the red folder")
        again = await journal.correct("n.md", 5, "the red folder", key="c", origin=TOOL_CALL)
        assert again == CorrectedLines(done.written, None)
    assert path.read_text() == "# Täglich\n\n- first\n- the blue folder\n- the red folder\n- tea\n"
    assert trash(tmp_path) == ["- the blue folder\n"]


@pytest.mark.parametrize(
    ("path", "line", "text", "error"),
    [
        ("n.md", 99, "x", EditRefused),
        ("n.md", 0, "x", EditRefused),
        ("n.md", 2, "x", EditRefused),
        ("n.md", 3, "first", EditRefused),
        ("n.md", 3, "two\nlines", EditRefused),
        ("n.md", 3, " ", NothingToWrite),
        ("none.md", 1, "x", NoteMissing),
        ("../n.md", 1, "x", PathRefused),
        ("/etc/passwd.md", 1, "x", PathRefused),
    ],
)
async def test_what_cannot_be_corrected_is_refused_and_may_be_tried_again(
    tmp_path: Path, path: str, line: int, text: str, error: type[MemoryFault]
) -> None:
    lay(tmp_path)
    async with opened(tmp_path) as journal:
        with pytest.raises(error):
            await journal.correct(path, line, text, key="c", origin=TOOL_CALL)
        assert note(tmp_path, "n.md") == BEFORE
        await journal.correct("n.md", 3, "second", key="c", origin=TOOL_CALL)
    assert trash(tmp_path) == ["- first\n"]


@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize("left", crashes(12))
async def test_a_correction_that_a_crash_cut_off_is_done_once(
    tmp_path: Path, left: int, meanwhile: bool
) -> None:
    """Also where another program has changed another line before the second try."""
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        with dying(Machine(left)), suppress(PowerCut):
            await journal.correct("n.md", 4, "the red folder", key="c", origin=TOOL_CALL)
        if meanwhile:
            path.write_text(path.read_text().replace("- tea", "- much tea"))
        again = await journal.correct("n.md", 4, "the red folder", key="c", origin=TOOL_CALL)
        assert (
            again.written
            == (await journal.correct("n.md", 4, "the red folder", key="c", origin=TOOL_CALL)).written
        )
    expected = BEFORE.replace("- the blue folder", "- the red folder", 1)
    assert path.read_text() == (expected.replace("- tea", "- much tea") if meanwhile else expected)
    assert (again.written.line_start, again.written.line_end) == (4, 4)
    assert set(trash(tmp_path)) - {""} == {"- the blue folder\n"}  # one may be torn


async def test_a_line_that_has_changed_since_the_crash_is_left_alone(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        with dying(Machine(0, at="rename")), pytest.raises(PowerCut):
            await journal.correct("n.md", 6, "coffee", key="c", origin=TOOL_CALL)
        changed = BEFORE.replace("- tea", "- green tea")
        path.write_text(changed)
        with pytest.raises(EditRefused, match="has changed in the meantime"):
            await journal.correct("n.md", 6, "coffee", key="c", origin=TOOL_CALL)
    assert path.read_text() == changed


async def test_a_removed_line_comes_back_where_it_stood(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.edit("n.md", "- first\n", "", key="e", origin=TOOL_CALL)
        written = (await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)).written
        assert (written.path, written.line_start, written.line_end) == ("n.md", 3, 3)
    assert path.read_text() == BEFORE
    assert trash(tmp_path) == []


async def test_a_line_comes_back_below_what_was_above_it_though_the_note_has_grown(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.edit("n.md", "- tea\n", "", key="e", origin=TOOL_CALL)
        path.write_text(path.read_text().replace("# Täglich\n", "# Täglich\n\n## New\n\n- much\n"))
        await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
    assert path.read_text() == BEFORE.replace("# Täglich\n", "# Täglich\n\n## New\n\n- much\n")


async def test_a_corrected_line_comes_back_in_place_of_the_new_one(tmp_path: Path) -> None:
    """Also where the note has grown; the new line is in the trash then, and comes back in its turn."""
    path = lay(tmp_path)
    grown = ("# Täglich\n", "# Täglich\n\n## New\n\n- the red folder\n")
    async with opened(tmp_path) as journal:
        await journal.correct("n.md", 5, "the red folder", key="c", origin=TOOL_CALL)
        path.write_text(path.read_text().replace(*grown))
        done = await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
        assert done.correction
        assert (done.written.line_start, done.written.line_end, done.correction.old) == (
            9,
            9,
            "- the red folder",
        )
        assert path.read_text() == BEFORE.replace(*grown)
        assert trash(tmp_path) == ["- the red folder\n"]
        await journal.restore(lambda: back(journal), key="again", origin=TOOL_CALL)
        assert trash(tmp_path) == ["- the blue folder\n"]
    assert path.read_text() == (
        "# Täglich\n\n## New\n\n- the red folder\n\n- first\n- the blue folder\n- the red folder\n- tea\n"
    )


async def test_a_line_that_was_corrected_twice_comes_back_in_place_of_the_last_one(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.correct("n.md", 6, "coffee", key="c", origin=TOOL_CALL)
        await journal.correct("n.md", 6, "water", key="d", origin=TOOL_CALL)
        await journal.restore(lambda: back(journal, 2), key="r", origin=TOOL_CALL)
        assert path.read_text() == BEFORE
        assert trash(tmp_path) == ["- water\n", "- coffee\n"]
        await journal.restore(lambda: back(journal, 2), key="s", origin=TOOL_CALL)
    assert path.read_text() == BEFORE.replace("tea", "coffee")
    assert trash(tmp_path) == ["- tea\n", "- water\n"]


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", [True, False])
async def test_several_lines_that_an_edit_replaced_come_back_whole(
    tmp_path: Path, eol: str, end: bool
) -> None:
    text = BEFORE.replace("\n", eol) if end else BEFORE.rstrip("\n").replace("\n", eol)
    path = lay(tmp_path, "")
    path.write_bytes(text.encode())
    async with opened(tmp_path) as journal:
        await journal.edit(
            "n.md", "folder\n- tea", "folder, the green folder\n- water\n- coffee", key="e", origin=TOOL_CALL
        )
        await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
    assert path.read_bytes().decode().splitlines() == BEFORE.splitlines()
    assert [each.splitlines() for each in trash(tmp_path)] == [
        ["- the blue folder, the green folder", "- water", "- coffee"]
    ]


async def test_where_the_new_line_is_gone_the_old_one_is_added(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.correct("n.md", 6, "coffee", key="c", origin=TOOL_CALL)
        path.write_text(path.read_text().replace("- coffee", "- cocoa"))
        done = await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
        assert done.correction is None
    assert path.read_text() == BEFORE + "- cocoa\n"


async def test_a_line_that_stands_there_again_is_not_doubled(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.correct("n.md", 6, "coffee", key="c", origin=TOOL_CALL)
        path.write_text(BEFORE)
        with pytest.raises(EditRefused, match=r"n\.md:6 already says that again"):
            await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
    assert path.read_text() == BEFORE


async def test_a_line_whose_surroundings_are_gone_comes_back_at_the_end(tmp_path: Path) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.correct("n.md", 4, "the red folder", key="c", origin=TOOL_CALL)
        path.write_text("# Anew\n\nText.\n")
        await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
        assert path.read_text() == "# Anew\n\nText.\n\n- the blue folder\n"


async def test_a_line_comes_back_into_a_new_note_where_the_old_one_is_gone(tmp_path: Path) -> None:
    path = lay(tmp_path, name="trips/oslo.md")
    async with opened(tmp_path) as journal:
        await journal.edit("trips/oslo.md", "- tea\n", "", key="e", origin=TOOL_CALL)
        path.unlink()
        await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
    assert path.read_text() == "# oslo\n\n- tea\n"


async def test_a_whole_note_comes_back_under_its_name_and_never_over_another(tmp_path: Path) -> None:
    folder = tmp_path / ".commonplace" / "trash"
    async with opened(tmp_path) as journal:
        save_removed(folder, note="trips/oslo.md", removed=b"# Oslo\n\nBoats.\n")
        save_removed(folder, note="trips/oslo.md", removed=b"# Oslo\n\nShips.\n")
        first = await journal.restore(lambda: back(journal, 2), key="one", origin=TOOL_CALL)
        second = await journal.restore(lambda: back(journal, 1), key="two", origin=TOOL_CALL)
    assert (first.written.path, second.written.path) == ("trips/oslo.md", "trips/oslo-2.md")
    assert note(tmp_path, "trips/oslo.md") == "# Oslo\n\nBoats.\n"
    assert note(tmp_path, "trips/oslo-2.md") == "# Oslo\n\nShips.\n"
    assert trash(tmp_path) == []


@pytest.mark.parametrize("left", crashes(14))
async def test_a_correction_whose_undoing_a_crash_cut_off_is_undone_once(tmp_path: Path, left: int) -> None:
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.correct("n.md", 4, "the red folder", key="c", origin=TOOL_CALL)
        memory = journal._memory
        [old] = await memory.removed()
        with dying(Machine(left)), suppress(PowerCut):
            await journal.restore(lambda: plan_restore(old, memory), key="r", origin=TOOL_CALL)
        await journal.correct("n.md", 3, "second", key="later", origin=TOOL_CALL)
        again = await journal.restore(lambda: plan_restore(old, memory), key="r", origin=TOOL_CALL)
        assert again.written.line_start == 4
    assert path.read_text() == BEFORE.replace("first", "second")
    assert set(trash(tmp_path)) - {""} == {"- first\n", "- the red folder\n"}  # one may be torn


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("left", crashes(14))
async def test_what_a_crash_cut_off_comes_back_once(tmp_path: Path, left: int, whole: bool) -> None:
    """Though something else is the newest in the trash by the second try."""
    path = lay(tmp_path)
    async with opened(tmp_path) as journal:
        await journal.edit("n.md", "- tea\n", "", key="e", origin=TOOL_CALL)
        removed = path.read_text()
        if whole:
            save_removed(tmp_path / ".commonplace" / "trash", note="other.md", removed=b"# Other\n\ntea\n")
        first: CorrectedLines | None = None
        with dying(Machine(left)), suppress(PowerCut):
            first = await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
        await journal.edit("n.md", "- first", "- second", key="later", origin=TOOL_CALL)
        again = await journal.restore(lambda: back(journal), key="r", origin=TOOL_CALL)
        assert first in (None, again)
    if whole:
        assert note(tmp_path, "other.md") == "# Other\n\ntea\n"
        assert path.read_text() == removed.replace("first", "second")
        assert sorted(trash(tmp_path)) == ["- first\n", "- tea\n"]
    else:
        assert path.read_text() == BEFORE.replace("first", "second")
        assert trash(tmp_path) == ["- first\n"]
