"""Writes that are done once, whatever happens between two tries."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.maintenance.cleanup import clean_up
from bot.note_writes import OnceWriter
from bot.state import inbox
from bot.state.database import State
from memory.errors import EditRefused, NoteUnwritable, NothingToWrite
from memory.memory import Memory
from memory.settings import MemorySettings
from memory.write_result import WriteResult
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.turns import message
from tests.origins import TOOL_CALL

MORNING = datetime(2026, 11, 21, 9, tzinfo=UTC)
DAY = "2026-11-21.md"


class PowerCut(BaseException):
    """The process ends here: nothing that would follow happens, not even what tidies up."""


@dataclass
class Machine:
    """Dies at a call of a thread to the file system, after `left` others; `part`: how much of a write got through."""

    left: int
    part: float = 0.0
    at: str = ""
    """Which calls count; "" for all."""
    dead: bool = False
    real: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return self.real[name](*arguments, **named)
        if self.dead:
            raise PowerCut
        if self.at not in ("", name):
            return self.real[name](*arguments, **named)
        if self.left == 0:
            self.dead = True
            if name == "write":
                fd, data = arguments
                self.real[name](fd, data[: int(len(data) * self.part)])
            raise PowerCut
        self.left -= 1
        return self.real[name](*arguments, **named)


@contextmanager
def dying(machine: Machine) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("write", "fsync", "rename", "ftruncate", "unlink", "lseek"):
            machine.real[name] = getattr(os, name)

            def replaced(*arguments: Any, _name: str = name, **named: Any) -> Any:
                return machine.call(_name, *arguments, **named)

            patch.setattr(os, name, replaced)
        yield


@asynccontextmanager
async def opened(base: Path, now: Callable[[], datetime] = lambda: MORNING) -> AsyncIterator[OnceWriter]:
    async with (
        State(copy_fresh_state(base / ".commonplace" / "state.db")) as state,
        Memory(MemorySettings(), workspace=base, now=now) as memory,
    ):
        yield OnceWriter(memory, state)


async def dies(note_writer: OnceWriter, machine: Machine, *, key: str = "k", text: str = "milk") -> bool:
    """Write on a machine that dies; tell whether it did."""
    with dying(machine):
        try:
            await note_writer.write(text, key=key, origin=TOOL_CALL)
        except PowerCut:
            return True
    return False


def note(base: Path, path: str = DAY) -> str:
    return (base / "memory" / path).read_bytes().decode()


async def test_a_second_try_tells_where_the_first_one_wrote(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        first = await journal.write("milk", key="k", origin=TOOL_CALL)
        await journal.write("eggs", key="other", origin=TOOL_CALL)
        assert await journal.write("milk", key="k", origin=TOOL_CALL) == first == WriteResult(DAY, 3, 3, 14)
        assert await journal.write("milk", key="third", origin=TOOL_CALL) == WriteResult(DAY, 5, 5, 28)
    async with opened(tmp_path) as journal:
        assert await journal.write("milk", key="k", origin=TOOL_CALL) == first
    assert note(tmp_path) == "# 2026-11-21\n\n- milk\n- eggs\n- milk\n"


async def test_equal_keys_that_say_different_things_are_two_writes(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.write("milk", key="k", origin=TOOL_CALL)
        await journal.write("eggs", key="k", origin=TOOL_CALL)
        await journal.write("eggs", key="k", target="core", origin=TOOL_CALL)
    assert note(tmp_path) == "# 2026-11-21\n\n- milk\n- eggs\n"
    assert note(tmp_path, "MEMORY.md") == "# Memory\n\n- eggs\n"


async def test_the_day_is_that_of_the_first_try(tmp_path: Path) -> None:
    clock = [datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)]
    async with opened(tmp_path, now=lambda: clock[0]) as journal:
        assert await dies(journal, Machine(0))
        clock[0] = datetime(2026, 11, 22, tzinfo=UTC)
        assert (await journal.write("milk", key="k", origin=TOOL_CALL)).path == DAY
        await journal.write("eggs", key="next", origin=TOOL_CALL)
    assert note(tmp_path) == "# 2026-11-21\n\n- milk\n"
    assert note(tmp_path, "2026-11-22.md") == "# 2026-11-22\n\n- eggs\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "before",
    [
        None,
        b"",
        b"# 2026-11-21\n\n- milk and eggs\n",
        b"# 2026-11-21\r\n\r\n- milk and eggs\r\n- bread\r\n",
        b"text without an end",
        "\ufeff# Täglich\n".encode(),
        "# Täglich\n\n- bread\n".encode("utf-16"),
        b"caf\xe9\n",
    ],
)
async def test_a_write_that_a_crash_cut_off_is_completed_by_the_next_try(
    tmp_path: Path, before: bytes | None
) -> None:
    text = "明日は milk and eggs"
    moments = [("write", part) for part in (0.0, 0.2, 0.5, 0.7, 0.99, 1.0)]
    moments += [(name, left) for name, most in (("fsync", 2), ("lseek", 4)) for left in range(most)]
    deaths = 0
    whole = b""
    for number, (name, how) in enumerate([("never", 0), *moments]):
        base = tmp_path / str(number)
        path = base / "memory" / DAY
        path.parent.mkdir(parents=True)
        if before is not None:
            path.write_bytes(before)
        async with opened(base) as journal:
            machine = Machine(0, how, at=name) if name == "write" else Machine(int(how), at=name)
            deaths += await dies(journal, machine, text=text)
            written = await journal.write(text, key="k", origin=TOOL_CALL)
            assert written == await journal.write(text, key="k", origin=TOOL_CALL)
        whole = whole or path.read_bytes()
        assert path.read_bytes() == whole
    assert deaths > len(moments) - 3


async def test_a_write_that_was_cut_off_is_completed_by_whoever_writes_next(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.write("bread", key="a", origin=TOOL_CALL)
        assert await dies(journal, Machine(0, 0.5, at="write"), text="milk and eggs")
        assert not note(tmp_path).endswith("\n")
        await journal.write("tea", key="b", origin=TOOL_CALL)
        assert note(tmp_path) == "# 2026-11-21\n\n- bread\n- milk and eggs\n- tea\n"
        assert await journal.write("milk and eggs", key="k", origin=TOOL_CALL) == WriteResult(DAY, 4, 4, 22)


async def test_a_torn_line_is_completed_where_the_note_has_changed_above_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.write("bread", key="a", origin=TOOL_CALL)
        assert await dies(journal, Machine(0, 0.5, at="write"), text="milk and eggs")
        path = tmp_path / "memory" / DAY
        path.write_text(note(tmp_path).replace("- bread", "- brown bread and butter"))
        await journal.write("milk and eggs", key="k", origin=TOOL_CALL)
    assert note(tmp_path) == "# 2026-11-21\n\n- brown bread and butter\n- milk and eggs\n"


async def test_equal_lines_under_two_keys_are_not_taken_for_each_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        assert await dies(journal, Machine(0), key="first")  # nothing was written
        await journal.write("milk", key="second", origin=TOOL_CALL)
        await journal.write("milk\n- eggs", key="third", origin=TOOL_CALL)
        await journal.write("milk", key="first", origin=TOOL_CALL)
    assert note(tmp_path).count("- milk\n") == 3
    assert note(tmp_path).count("- eggs\n") == 1


async def test_a_section_is_set_off_by_a_blank_line_and_done_once(tmp_path: Path) -> None:
    section = "## 14:05 kitchen\n\n- milk\n- eggs\n"
    async with opened(tmp_path) as journal:
        await journal.write("tea", key="a", origin=TOOL_CALL)
        first = await journal.append(DAY, section, key="flush-1", title="2026-11-21", origin=TOOL_CALL)
        assert (
            await journal.append(DAY, section, key="flush-1", title="2026-11-21", origin=TOOL_CALL) == first
        )
        assert first == WriteResult(DAY, 5, 8, 21)
        await journal.write("coffee", key="b", origin=TOOL_CALL)
        await journal.write("cake", key="c", origin=TOOL_CALL)
        new = await journal.append("kitchen.md", "text", key="flush-2", title="Kitchen", origin=TOOL_CALL)
    assert re.fullmatch(
        r"# 2026-11-21\n\n- tea\n\n## 14:05 kitchen\n\n- milk\n- eggs\n\n## \d\d:\d\d\n\n- coffee\n- cake\n",
        note(tmp_path),
    )
    assert (new.line_start, note(tmp_path, "kitchen.md")) == (3, "# Kitchen\n\ntext\n")


REPORT = "documents/2026-11-21-report.md"


async def files(
    note_writer: OnceWriter, text: str, *, key: str, machine: Machine | None = None
) -> WriteResult | None:
    """File a text; None where the machine died over it."""
    if machine is None:
        return await note_writer.write_document(REPORT, text, key=key, title="Report", origin=TOOL_CALL)
    with dying(machine):
        try:
            return await note_writer.write_document(REPORT, text, key=key, title="Report", origin=TOOL_CALL)
        except PowerCut:
            return None


def filed(base: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (base / "memory" / "documents").glob("*")}


async def test_a_note_of_its_own_never_goes_into_another_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        first = await files(journal, "one", key="a")
        assert first == WriteResult(REPORT, 3, 3, 10)
        second = await files(journal, "two", key="b")
        assert second
        assert second.path == "documents/2026-11-21-report-2.md"
        assert await journal.find_document("a") == first
        assert await journal.find_document("c") is None
    async with opened(tmp_path) as journal:
        assert await files(journal, "one, read anew", key="a") == first
        assert await files(journal, "two", key="b") == second
        assert await files(journal, "one", key="c")
    assert filed(tmp_path) == {
        "2026-11-21-report.md": "# Report\n\none\n",
        "2026-11-21-report-2.md": "# Report\n\ntwo\n",
        "2026-11-21-report-3.md": "# Report\n\none\n",
    }


async def test_a_note_that_somebody_else_wrote_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "memory" / "documents").mkdir(parents=True)
    (tmp_path / "memory" / REPORT).write_text("mine")
    async with opened(tmp_path) as journal:
        assert await files(journal, "one", key="a")
    assert filed(tmp_path)["2026-11-21-report.md"] == "mine"
    assert filed(tmp_path)["2026-11-21-report-2.md"] == "# Report\n\none\n"


@pytest.mark.thorough
@pytest.mark.parametrize(("part", "between"), [(0.0, True), (0.5, False), (0.5, True), (1.0, True)])
async def test_a_note_whose_writing_a_crash_cut_off_is_there_once(
    tmp_path: Path, part: float, between: bool
) -> None:
    """`between`: another one of the same name is filed before the second try."""
    died = 0
    for left in range(6):
        base = tmp_path / str(left)
        async with opened(base) as journal:
            died += await files(journal, "one\n\nand more", key="a", machine=Machine(left, part)) is None
        async with opened(base) as journal:
            if between:
                await files(journal, "two", key="b")
            again = await files(journal, "one\n\nand more", key="a")
            assert again == await journal.find_document("a")
        expected = ["# Report\n\none\n\nand more\n", *(["# Report\n\ntwo\n"] if between else [])]
        assert sorted(filed(base).values()) == expected
        assert again
        assert (base / "memory" / again.path).read_text() == expected[0]
    assert died > 2


async def test_tries_of_one_key_at_the_same_time_file_one_note(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        tries = [files(each, "one", key="a") for each in (one, two, one)]
        others = [files(each, "other", key=f"b{n}") for n, each in enumerate((one, two, one))]
        places = await asyncio.gather(*tries, *others)
    assert len(set(places[:3])) == 1
    assert len(set(places)) == 4
    assert sorted(filed(tmp_path).values()) == ["# Report\n\none\n", *["# Report\n\nother\n"] * 3]


async def test_what_is_refused_may_be_tried_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        with pytest.raises(NothingToWrite):
            await journal.write(" ", key="k", origin=TOOL_CALL)
        with pytest.raises(NothingToWrite):
            await journal.append(DAY, "\n", key="k", title="T", origin=TOOL_CALL)
        await journal.write("milk", key="a", origin=TOOL_CALL)
        with pytest.raises(EditRefused):
            await journal.edit(DAY, "eggs", "tea", key="e", origin=TOOL_CALL)
        with pytest.raises(EditRefused):
            await journal.edit(DAY, " ", "tea", key="e", origin=TOOL_CALL)
        await journal.write("eggs", key="b", origin=TOOL_CALL)
        await journal.edit(DAY, "eggs", "tea", key="e", origin=TOOL_CALL)
        (tmp_path / "memory" / "folder.md").mkdir()
        with pytest.raises(NoteUnwritable):
            await journal.append("folder.md", "x", key="f", title="T", origin=TOOL_CALL)
        (tmp_path / "memory" / "folder.md").rmdir()
        await journal.append("folder.md", "x", key="f", title="T", origin=TOOL_CALL)
    assert note(tmp_path) == "# 2026-11-21\n\n- milk\n- tea\n"
    assert note(tmp_path, "folder.md") == "# T\n\nx\n"


EDITS = {
    "replaced": ("blue", "red"),
    "longer": ("blue folder", "blue folder and a red box"),
    "followed": ("- tea", "- tea\n- blue tea"),
    "a word removed": (" blue", ""),
    "a line removed": ("- the blue folder\n", ""),
    "lines joined": ("folder\n- tea", "folder, tea"),
    "already there elsewhere": ("blue folder", "tea"),
}


@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize(
    ("name", "left"),
    [
        pytest.param(name, left, marks=() if name == "longer" or left in {2, 7} else pytest.mark.thorough)
        for name in EDITS
        for left in range(12)
    ],
)
async def test_an_edit_that_a_crash_cut_off_is_done_once(
    tmp_path: Path, name: str, left: int, meanwhile: bool
) -> None:
    """Also where another program has changed another line before the second try."""
    old, new = EDITS[name]
    before = "# Täglich\n\n- first\n- the blue folder\n- tea\n- last\n"
    path = tmp_path / "memory" / "n.md"
    path.parent.mkdir()
    path.write_text(before)
    machine = Machine(left)
    async with opened(tmp_path) as journal:
        with dying(machine):
            try:
                first = await journal.edit("n.md", old, new, key="e", origin=TOOL_CALL)
            except PowerCut:
                first = None
        if meanwhile:
            path.write_text(path.read_text().replace("- first", "- the very first"))
        again = await journal.edit("n.md", old, new, key="e", origin=TOOL_CALL)
        assert again == await journal.edit("n.md", old, new, key="e", origin=TOOL_CALL)
        assert first in (None, again)
    expected = before.replace(old, new).replace("- first", "- the very first" if meanwhile else "- first")
    assert path.read_text() == expected
    if new:
        shown = "\n".join(expected.split("\n")[again.line_start - 1 : again.line_end])
        assert new.strip() in shown


async def test_an_edit_whose_passage_was_changed_by_hand_meanwhile_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.write("milk", key="a", origin=TOOL_CALL)
        with dying(Machine(0)), pytest.raises(PowerCut):
            await journal.edit(DAY, "milk", "eggs", key="e", origin=TOOL_CALL)
        (tmp_path / "memory" / DAY).write_text("- bread\n")
        with pytest.raises(EditRefused):
            await journal.edit(DAY, "milk", "eggs", key="e", origin=TOOL_CALL)
    assert note(tmp_path) == "- bread\n"


async def test_tries_of_one_key_at_the_same_time_write_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        places = await asyncio.gather(
            *(
                journal.write(f"line {n}", key=f"k{n}", origin=TOOL_CALL)
                for n in range(10)
                for journal in (one, other, one)
            )
        )
    assert [places[at] for at in range(0, 30, 3)] == [places[at + 1] for at in range(0, 30, 3)]
    lines = note(tmp_path).splitlines()[2:]
    assert sorted(lines) == [f"- line {n}" for n in range(10)]


async def test_a_cancelled_write_comes_to_its_end_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        writing = asyncio.create_task(journal.write("milk", key="k", origin=TOOL_CALL))
        while not (tmp_path / "memory" / DAY).exists():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert note(tmp_path).endswith("- milk\n")
        assert (await journal.write("milk", key="k", origin=TOOL_CALL)).line_start == 3
    assert note(tmp_path).count("milk") == 1


async def test_what_was_written_does_not_stay_in_the_journal(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.write("a secret word", key="k", origin=TOOL_CALL)
        await journal.edit(DAY, "secret", "hidden", key="e", origin=TOOL_CALL)
    async with State(tmp_path / ".commonplace" / "state.db") as state:
        rows = await state.read(lambda db: list(db.execute("SELECT key, intent, result FROM effects")))
    assert len(rows) == 2
    assert "secret" not in str(rows)


async def test_keys_of_long_ago_are_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal, State(tmp_path / ".commonplace" / "state.db") as state:
        await journal.write("milk", key="k", origin=TOOL_CALL)
        await clean_up(state, datetime.now(UTC))
        assert (await journal.write("milk", key="k", origin=TOOL_CALL)).line_start == 3
        await clean_up(state, datetime(2999, 1, 1, tzinfo=UTC))
        assert (await journal.write("milk", key="k", origin=TOOL_CALL)).line_start == 4


async def test_keys_are_known_as_long_as_a_turn_may_be_resumed(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal, State(tmp_path / ".commonplace" / "state.db") as state:
        waits = message("note milk", chat="telegram:1")
        await state.change(lambda db: inbox.add(db, waits, owner="", at=state.at()))
        await journal.write("milk", key="k", origin=TOOL_CALL)
        await clean_up(state, datetime(2999, 1, 1, tzinfo=UTC))
        assert (await journal.write("milk", key="k", origin=TOOL_CALL)).line_start == 3
        await state.change(lambda db: inbox.mark_delivered(db, 1))
        await clean_up(state, datetime(2999, 1, 1, tzinfo=UTC))
        assert await state.read(lambda db: db.execute("SELECT count(*) FROM effects").get) == 0


async def test_what_was_written_is_told_also_where_that_cannot_be_journalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Told otherwise, a model or a person would note it once more."""
    async with State(tmp_path / ".commonplace" / "state.db") as state, opened(tmp_path) as other:
        memory = other._memory
        journal = OnceWriter(memory, state)
        await state.read(lambda db: db.set_busy_timeout(20))
        locker = apsw.Connection(str(tmp_path / ".commonplace" / "state.db"))
        fsync = os.fsync

        def locks(fd: int) -> None:
            fsync(fd)
            if (tmp_path / "memory" / DAY).exists() and not locker.in_transaction:
                locker.execute("BEGIN IMMEDIATE")

        monkeypatch.setattr(os, "fsync", locks)
        try:
            assert (await journal.write("milk", key="k", origin=TOOL_CALL)).line_start == 3
        finally:
            monkeypatch.undo()
            locker.close()
        assert "was written, but state.db could not be updated yet" in caplog.text
        assert (await journal.write("milk", key="k", origin=TOOL_CALL)).line_start == 3
        assert (await journal.write("milk", key="another", origin=TOOL_CALL)).line_start == 4
    assert note(tmp_path).count("milk") == 2


async def test_without_a_journal_nothing_is_written(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        async with State(tmp_path / ".commonplace" / "state.db") as state:
            await state.change(lambda db: db.execute("DROP TABLE effects"))
        with pytest.raises(Exception, match="effects"):
            await journal.write("milk", key="k", origin=TOOL_CALL)
    assert not (tmp_path / "memory").exists()


# -- any order of writes, edits, crashes and other programs ---------------------------------------------------


@dataclass(frozen=True)
class Step:
    do: str
    text: str
    left: int
    part: float
    retried: int
    """After how many further steps it is tried again."""


WORDS = ["milk", "milk\n- eggs", "eggs", "the long way\n\nto town", "明日 ✓", "## 14:05\n\n- milk"]
STEPS = st.lists(
    st.builds(
        Step,
        do=st.sampled_from(["write", "write", "write", "edit", "other adds", "other saves"]),
        text=st.sampled_from(WORDS),
        left=st.integers(0, 14),
        part=st.floats(0, 1),
        retried=st.integers(0, 3),
    ),
    max_size=10,
)
EDITED = "- state 0"


async def play(base: Path, steps: list[Step]) -> None:
    path = base / "memory" / DAY
    path.parent.mkdir()
    path.write_text(f"# 2026-11-21\n\n{EDITED}\n")
    others: list[str] = []
    waiting: list[tuple[int, Callable[[], Any]]] = []
    torn = b""  # the note as a crash in the middle of a write has left it
    edits = 0
    async with opened(base) as journal:
        for number, step in enumerate(steps):
            for due, work in [each for each in waiting if each[0] <= number]:
                waiting.remove((due, work))
                await work()
            if step.do.startswith("other"):
                if torn == path.read_bytes():
                    continue  # what another program puts behind a torn line is glued to it by that program
                line = f"* other {number}"
                others.append(line)
                text = path.read_text()
                if step.do == "other adds":
                    path.write_text(f"{text}{line}\n")
                else:
                    (base / "saved").write_text(text.replace("# 2026-11-21\n", f"# 2026-11-21\n\n{line}\n"))
                    (base / "saved").rename(path)
                continue

            if step.do == "edit":
                if any(str(work.__name__) == "edit" for _, work in waiting):
                    continue  # an edit before that is not done yet would be in its way
                old, edits = f"state {edits}", edits + 1
                new = f"state {edits}"

                async def edit(old: str = old, new: str = new, number: int = number) -> None:
                    await journal.edit(DAY, old, new, key=f"k{number}", origin=TOOL_CALL)

                work = edit
            else:

                async def write(text: str = step.text, number: int = number) -> None:
                    await journal.write(text, key=f"k{number}", origin=TOOL_CALL)

                work = write
            machine = Machine(step.left, step.part)
            with dying(machine):
                try:
                    await work()
                except PowerCut:
                    torn = path.read_bytes()
            waiting.append((number + 1 + step.retried, work))
        for _, work in waiting:
            await work()

    entries = ["# 2026-11-21", EDITED.replace("0", str(edits)), *others]
    for step in steps:
        if step.do == "write":
            async with Memory(MemorySettings(), workspace=base, now=lambda: MORNING) as memory:
                entries.append(memory.draft(step.text).block)
    expected = sorted(line for entry in entries for line in entry.split("\n") if line)
    assert sorted(line for line in path.read_text().split("\n") if line) == expected
    assert path.read_text().endswith("\n")


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_after_any_crashes_every_write_stands_there_once(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as base:
        asyncio.run(play(Path(base), steps))


WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from bot.note_writes import OnceWriter
from bot.state.changes import ChangeOrigin
from bot.state.database import State
from memory.memory import Memory
from memory.settings import MemorySettings

async def main(base, first):
    async with (
        State(base / ".commonplace" / "state.db") as state,
        Memory(MemorySettings(), workspace=base, now=lambda: datetime(2026, 11, 21, tzinfo=UTC)) as memory,
    ):
        journal, origin = OnceWriter(memory, state), ChangeOrigin("tool")
        for number in range(first, 100_000):
            text = f"line {number:05} " + "word " * (number % 20 // 19 * 2000) + "end."
            twice = (journal.write(text, key=f"k{number}", origin=origin) for _ in range(2))
            written, = set(await asyncio.gather(*twice))
            if number % 5 == 4:
                old = f"line {number - 2:05} "
                await journal.edit(written.path, old, old + "edited ", key=f"e{number}", origin=origin)
            print(number, flush=True)

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


@pytest.mark.thorough
def test_a_killed_process_that_tries_again_writes_every_line_once(tmp_path: Path) -> None:
    chance = random.Random(5)
    reached = 0
    for _ in range(25):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(reached)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        ) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(chance.random() * 0.08)
            writer.send_signal(signal.SIGKILL)
            said = [line for line in (first + writer.stdout.read()).splitlines(keepends=True) if "\n" in line]
        reached = int(said[-1]) + 1
    lines = note(tmp_path).split("\n")
    numbers = [int(line.split()[2]) for line in lines if line.startswith("- line")]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) in (reached, reached + 1)
    assert len(lines) == 2 + len(numbers) + 1
    assert all(line.endswith("end.") for line in lines[2:-1])
    edited = [int(line.split()[2]) for line in lines if " edited " in line]
    assert edited[: reached // 5] == [number - 2 for number in range(reached) if number % 5 == 4]
    assert not any(line.count("edited") > 1 for line in lines)
