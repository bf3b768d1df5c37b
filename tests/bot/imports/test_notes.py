"""The machine dies at every single call to the file system while notes are imported or taken back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from bot.imports.layouts import NoteTarget, is_openclaw, place_markdown, place_openclaw
from bot.imports.note_files import FolderNotes
from bot.imports.notes import NoteImporter, NoteImportReport
from bot.imports.undo import UndoReport, undo_notes
from bot.state import imports, note_effects
from bot.state.database import State
from bot.state.imports import ImportRun
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.bot.test_note_writes import Machine, PowerCut, dying
from tests.fakes.fresh_state import copy_fresh_state

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
RUN = ImportRun(1, "", "markdown", "vault", "running", "", "")
SOURCE = {
    "MEMORY.md": "# Memory\n\n- Anna lives in Oslo.\n- Ben is her brother.\n",
    "2026-03-03.md": "# 2026-03-03\n\n- Anna called.\n- Anna called.\n",
    "2026-03-04.md": "# 2026-03-04\n\n- Ben moved.\n",
    "a.md": "Theirs.\n",
    "trips/oslo.md": "Tram 12.\n\nHotel.\n",
}
OWN = {
    "MEMORY.md": "# Memory\n\n- Anna lives in Oslo.\n",
    "2026-03-03.md": "# 2026-03-03\n\n- Anna called.",
    "a.md": "Ours.\n",
}


@asynccontextmanager
async def opened(base: Path) -> AsyncIterator[tuple[Memory, State]]:
    async with (
        State(copy_fresh_state(base / ".commonplace" / "state.db")) as state,
        Memory(MemorySettings(), workspace=base, now=lambda: NOW) as memory,
    ):
        yield memory, state


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def notes_of(base: Path) -> dict[str, str]:
    folder = base / "memory"
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))}


async def bring(base: Path, source: Path, run: ImportRun = RUN) -> NoteImportReport:
    report = NoteImportReport()
    async with opened(base) as (memory, state):
        await NoteImporter(memory, state, run, report).bring(FolderNotes(source), place_markdown, dry=False)
    return report


async def take_back(base: Path) -> UndoReport:
    report = UndoReport(RUN.run)
    async with opened(base) as (memory, state):
        await undo_notes(memory, state, report)
    return report


MERGED = {
    "2026-03-03.md": "# 2026-03-03\n\n- Anna called.\n- Anna called.\n",
    "2026-03-04.md": "# 2026-03-04\n\n- Ben moved.\n",
    "MEMORY.md": "# Memory\n\n- Anna lives in Oslo.\n- Ben is her brother.\n",
    "a.md": "Ours.\n",
    "imported/1/a.md": "Theirs.\n",
    "trips/oslo.md": "Tram 12.\n\nHotel.\n",
}


async def test_notes_are_merged_and_taken_back(tmp_path: Path) -> None:
    source = write(tmp_path / "vault", SOURCE)
    write(tmp_path / "w" / "memory", OWN)
    report = await bring(tmp_path / "w", source)
    assert (report.created, report.merged, report.unchanged, report.moved) == (
        3,
        2,
        0,
        [("a.md", "imported/1/a.md")],
    )
    assert notes_of(tmp_path / "w") == MERGED
    await bring(tmp_path / "w", source)
    assert notes_of(tmp_path / "w") == MERGED
    assert (await take_back(tmp_path / "w")).kept == []
    assert notes_of(tmp_path / "w") == {**OWN, "2026-03-03.md": "# 2026-03-03\n\n- Anna called.\n"}


@pytest.mark.thorough
@pytest.mark.parametrize("part", [0.0, 0.5])
async def test_wherever_the_machine_dies_going_on_gives_the_same(tmp_path: Path, part: float) -> None:
    source = write(tmp_path / "vault", SOURCE)
    died = {"import": 0, "undo": 0}
    for left in range(200):
        base = tmp_path / str(left)
        write(base / "memory", OWN)
        with dying(Machine(left, part)):
            try:
                await bring(base, source)
            except PowerCut:
                died["import"] += 1
        await bring(base, source)
        assert notes_of(base) == MERGED, left
        with dying(Machine(left, part)):
            try:
                await take_back(base)
            except PowerCut:
                died["undo"] += 1
        await take_back(base)
        assert notes_of(base) == {**OWN, "2026-03-03.md": "# 2026-03-03\n\n- Anna called.\n"}, left
        if died["import"] <= left:
            break
    assert died["import"] > 20
    assert died["undo"] > 10


@pytest.mark.thorough
async def test_what_an_interrupted_import_has_only_planned_comes_from_elsewhere(tmp_path: Path) -> None:
    """Such as from a copy of the vault, which is another run."""
    for left in range(200):
        base = tmp_path / str(left)
        source, copy = write(base / "vault", SOURCE), write(base / "copy", SOURCE)
        write(base / "memory", OWN)
        async with opened(base) as (_, state):
            begin = partial(imports.begin_run, chat="", format="markdown", at="")
            await state.change(partial(begin, source="vault"))
            await state.change(partial(begin, source="copy"))
        with dying(Machine(left)):
            try:
                await bring(base, source)
            except PowerCut:
                pass
            else:
                break
        await bring(base, copy, run=replace(RUN, run=2))
        written = {
            path: text for path, text in notes_of(base).items() if text
        }  # the first run may go on with others
        assert sorted(written.values()) == sorted(MERGED.values()), left
    assert left > 20


async def test_an_empty_log_gets_no_title_of_another_note(tmp_path: Path) -> None:
    write(tmp_path / "w" / "memory", {"2026-03-03.md": "", "MEMORY.md": ""})
    await bring(tmp_path / "w", write(tmp_path / "vault", SOURCE))
    notes = notes_of(tmp_path / "w")
    assert notes["2026-03-03.md"] == SOURCE["2026-03-03.md"]
    assert notes["MEMORY.md"] == SOURCE["MEMORY.md"]


async def test_a_note_that_differs_in_case_stops_no_dry_run(tmp_path: Path) -> None:
    write(tmp_path / "w" / "memory", {"memory.md": "Own.\n"})
    source = FolderNotes(write(tmp_path / "vault", SOURCE))
    reports = {True: NoteImportReport(), False: NoteImportReport()}
    for dry, report in reports.items():
        async with opened(tmp_path / "w") as (memory, state):
            await NoteImporter(memory, state, RUN, report).bring(source, place_markdown, dry=dry)
    assert reports[True] == reports[False]
    assert notes_of(tmp_path / "w")["memory.md"].startswith("Own.\n")


@pytest.mark.thorough
async def test_a_line_of_ones_own_is_never_taken_back_twice(tmp_path: Path) -> None:
    """The lines that came are like one's own, and one of them was changed: they are no longer together."""
    source = write(tmp_path / "vault", {"2026-03-03.md": "- yes\n- no\n- yes\n"})
    for left in range(40):
        base = tmp_path / str(left)
        write(base / "memory", {"2026-03-03.md": "- yes\n"})
        await bring(base, source)
        log = base / "memory" / "2026-03-03.md"
        assert log.read_text("utf-8") == "- yes\n- no\n- yes\n"
        log.write_text("- yes\n- changed\n- yes\n", "utf-8")
        with dying(Machine(left)):
            try:
                await take_back(base)
            except PowerCut:
                pass
            else:
                break
        await take_back(base)
        assert log.read_text("utf-8") == "- yes\n- changed\n", left
    assert left > 3


async def test_a_taken_back_note_is_not_mistaken_for_another(tmp_path: Path) -> None:
    """`memory/a.md` means `a.md` to people, if there is no such note."""
    write(tmp_path / "w" / "memory", {"a.md": "Same.\n"})
    source = write(tmp_path / "vault", {"memory/a.md": "Same.\n"})
    await bring(tmp_path / "w", source)
    (tmp_path / "w/memory/memory/a.md").unlink()
    await take_back(tmp_path / "w")
    assert notes_of(tmp_path / "w") == {"a.md": "Same.\n"}


async def test_what_the_assistant_wrote_since_stays_in_an_imported_log(tmp_path: Path) -> None:
    source = write(tmp_path / "vault", {"2026-03-03.md": "- Theirs.\n"})
    await bring(tmp_path / "w", source)
    with (tmp_path / "w/memory/2026-03-03.md").open("a", encoding="utf-8") as log:
        log.write("- Ours.\n")
    assert (await take_back(tmp_path / "w")).kept == []
    assert notes_of(tmp_path / "w") == {"2026-03-03.md": "- Ours.\n"}


async def test_going_on_long_after_writes_nothing_twice(tmp_path: Path) -> None:
    """The record of the writes is deleted by then."""
    source = write(tmp_path / "vault", SOURCE)
    write(tmp_path / "w" / "memory", OWN)
    await bring(tmp_path / "w", source)
    async with opened(tmp_path / "w") as (_, state):
        await state.change(partial(note_effects.prune, before="2999"))
    await bring(tmp_path / "w", source)
    assert notes_of(tmp_path / "w") == MERGED


async def test_the_plan_of_a_note_is_stored_with_its_write(tmp_path: Path) -> None:
    source = write(tmp_path / "vault", SOURCE)
    write(tmp_path / "w" / "memory", OWN)
    await bring(tmp_path / "w", source)
    async with opened(tmp_path / "w") as (_, state):
        rows = await state.read(partial(imports.read_notes, run=1))
    assert [(row.source, row.path, row.kind, len(row.lines)) for row in rows] == [
        ("2026-03-03.md", "2026-03-03.md", "lines", 1),
        ("2026-03-04.md", "2026-03-04.md", "file", 3),
        ("MEMORY.md", "MEMORY.md", "lines", 1),
        ("a.md", "imported/1/a.md", "file", 1),
        ("trips/oslo.md", "trips/oslo.md", "file", 3),
    ]


def test_an_openclaw_workspace_is_told_by_its_files() -> None:
    assert is_openclaw(["MEMORY.md", "memory/2026-03-03.md"])
    assert is_openclaw(["SOUL.md", "USER.md", "x.md"])
    assert not is_openclaw(["MEMORY.md", "2026-03-03.md"])
    assert not is_openclaw(["memory/a.md", "b.md"])


def test_every_file_has_its_place() -> None:
    placed = {
        "MEMORY.md": NoteTarget("MEMORY.md", "lines"),
        "memory.md": NoteTarget("MEMORY.md", "lines"),
        "memory/2026-03-03.md": NoteTarget("2026-03-03.md", "lines"),
        "memory/2026-13-03.md": NoteTarget("2026-13-03.md", "file"),
        "memory/2026-03-03-house.md": NoteTarget("2026-03-03-house.md", "file"),
        "memory/x/2026-03-03.md": NoteTarget("x/2026-03-03.md", "file"),
        "USER.md": NoteTarget("USER.md", "file"),
        "SOUL.md": "it holds OpenClaw's own instructions",
        "skills/x/SKILL.md": "it is not part of OpenClaw's memory",
    }
    assert {path: place_openclaw(path) for path in placed} == placed
    assert place_markdown("0000-00-00.md") == NoteTarget("0000-00-00.md", "file")
    assert place_markdown("9999-12-31.md") == NoteTarget("9999-12-31.md", "lines")
