"""Kill processes at random moments: is the index intact after the next command, and does every line exist once?

`python benchmarks/crash.py [--kills 100] [--seed 1]`

Notes are edited and indexed, the index is rebuilt, lines are written and corrected, embeddings are computed.
The process doing so is killed with SIGKILL at a random moment, and the next command continues. After each
kill the index file must be sound (SQLite's and FTS5's integrity-check, no orphaned rows, exact use counts of
texts), and every line that was reported as written must exist once and intact; a line whose writer was killed
before reporting it may be missing. After every ten kills, and at the end, the index must equal one that is
built from scratch.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import apsw
from workspaces import (
    COMMAND,
    ENVIRONMENT,
    ROOT,
    EmbeddingService,
    MadeUpNotes,
    embedding_service,
    make_workspace,
    write_config,
    write_notes,
)

sys.path.insert(0, str(ROOT))
from tests.fakes.index_checks import assert_sound, read_index_contents

NOTES = 150
CHANGED_AT_A_TIME = 40
ITEMS = 60
COMPARE_EVERY = 10
ANSWER_SECONDS = 0.03
"""Delay of the embedding server's answers, to leave time for kills."""

WRITER = """
import asyncio, sys
from datetime import datetime
from pathlib import Path
from memory.memory import Memory
from memory.settings import MemorySettings
async def write() -> None:
    async with Memory(MemorySettings(), workspace=Path(sys.argv[1]), now=datetime.now) as memory:
        print("begun", flush=True)
        sys.stdin.read()
        for line in Path(sys.argv[2]).read_text("utf-8").splitlines():
            before, _, text = line.rpartition("\\t")
            if before:
                await memory.edit("items.md", before, text)
            else:
                await memory.write(text)
            print(text, flush=True)
asyncio.run(write())
"""
"""Many writes in one process, each reported when done: `memory write` spends most of its time starting."""


class CheckFailed(Exception):
    """A violation, in one line."""


@dataclass(slots=True)
class WrittenLines:
    """Lines to write, and those reported as written."""

    asked: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    items: list[tuple[str, str]] = field(default_factory=list)
    """For each line that is corrected repeatedly: its confirmed text, and the text it may have."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A kind of work to interrupt."""

    name: str
    begin: Callable[[], "Running"]
    """Starts the next piece of work."""


@dataclass(frozen=True, slots=True)
class Running:
    """A working process. Its output is read after it has ended."""

    process: "subprocess.Popen[str]"
    said: Callable[[str], None] = lambda line: None


class Trial:
    """One workspace whose processes are often killed."""

    def __init__(self, folder: Path, service: EmbeddingService, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._text = MadeUpNotes(seed)
        self._workspace = make_workspace(folder / "w")
        self._notes = self._workspace / "memory"
        self._written = WrittenLines()
        self._words_only = write_config(
            folder / "words.toml", self._workspace, memory_embedding={"provider": "none"}
        )
        self._embedding = service.settings(dimensions=64, batch_size=20)
        self._vectors = write_config(
            folder / "vectors.toml", self._workspace, memory_embedding=self._embedding
        )
        self._numbers = iter(range(1_000_000))
        write_notes(self._notes, NOTES, size=2000, seed=seed)
        self._written.items = [(line, line) for line in (self._item(number, 0) for number in range(ITEMS))]
        lines = "".join(f"{line}\n" for line, _ in self._written.items)
        (self._notes / "items.md").write_text(f"# Items\n\n{lines}", "utf-8")
        self.phases = (
            Phase("indexing", lambda: self._index(self._words_only)),
            Phase("rebuilding", lambda: self._index(self._words_only, "--rebuild")),
            Phase("embedding", lambda: self._index(self._vectors)),
            Phase("rebuilding, embedding", lambda: self._index(self._vectors, "--rebuild")),
            Phase("writing", self._write_once),
            Phase("writing many", self._write_many),
            Phase("editing", self._edit_many),
        )

    # -- work to interrupt ----------------------------------------------------------------------------------

    def _index(self, config: Path, *more: str) -> Running:
        """Change notes and start a command that indexes them."""
        notes = sorted(self._notes.glob("*/*.md"))
        for note in self._chance.sample(notes, CHANGED_AT_A_TIME):
            self._change(note)
        for _ in range(NOTES - len(list(self._notes.glob("*/*.md")))):  # as many as were deleted
            new = self._notes / "000" / f"new-{next(self._numbers)}.md"
            new.write_text(self._text.note(2000), "utf-8")
        return Running(self._start([*COMMAND, "memory", "index", "--config", str(config), *more]))

    def _change(self, note: Path) -> None:
        match self._chance.randrange(6):
            case 0:
                note.unlink()
            case 1:
                note.rename(note.with_name(f"moved-{next(self._numbers)}.md"))
            case 2:
                draft = note.with_name(f".{note.name}.draft")
                draft.write_text(self._text.note(2000), "utf-8")
                draft.replace(note)
            case _:
                lines = note.read_text("utf-8").splitlines(keepends=True)
                lines.insert(self._chance.randrange(len(lines) + 1), f"- {self._text.sentence()}\n")
                note.write_text("".join(lines), "utf-8")

    def _write_once(self) -> Running:
        """Start `memory write`, as people call it."""
        line = self._line()
        self._written.asked.add(line)

        def said(answer: str) -> None:
            if answer.startswith("Noted in "):
                self._written.done.add(line)

        command = [*COMMAND, "memory", "write", line, "--config", str(self._words_only)]
        return Running(self._start(command), said)

    def _write_many(self) -> Running:
        lines = [self._line() for _ in range(200)]
        self._written.asked.update(lines)
        return self._writer([f"\t{line}" for line in lines], self._written.done.add)

    def _edit_many(self) -> Running:
        """Correct lines, each to its next version; the one that a kill may have interrupted is marked as open."""
        items = self._written.items
        at_work = [self._chance.randrange(ITEMS) for _ in range(200)]
        asked: list[tuple[int, str, str]] = []
        for version, number in enumerate(at_work, next(self._numbers) * 1000):
            before = next((after for at, _, after in reversed(asked) if at == number), items[number][0])
            asked.append((number, before, self._item(number, version)))
        number, before, after = asked[0]
        items[number] = (before, after)
        done = iter(range(1, len(asked) + 1))

        def said(_: str) -> None:
            at = next(done)
            number, _, after = asked[at - 1]
            items[number] = (after, after)
            if at < len(asked):
                number, before, after = asked[at]
                items[number] = (before, after)

        return self._writer([f"{before}\t{after}" for _, before, after in asked], said)

    def _writer(self, lines: Sequence[str], said: Callable[[str], None]) -> Running:
        file = self._folder / "lines.txt"
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        command = [sys.executable, "-c", WRITER, str(self._workspace), str(file)]
        process = self._start(command, with_input=True)
        assert process.stdin
        assert process.stdout
        if process.stdout.readline() != "begun\n":
            raise CheckFailed("the writer did not begin")
        process.stdin.close()  # now it begins, so that the kill hits its work, not its start
        process.stdin = None
        return Running(process, said)

    def _line(self) -> str:
        words = self._text.words(self._chance.choice((5, 20, 400)))
        return f"Parcel {next(self._numbers):06} holds {words}."

    def _item(self, number: int, version: int) -> str:
        return (
            f"- Item {number:03}, version {version}: {self._text.words(self._chance.choice((4, 30, 120)))}."
        )

    def _start(self, command: Sequence[str], *, with_input: bool = False) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command,
            cwd=self._folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    # -- killing --------------------------------------------------------------------------------------------

    def run(self, phase: Phase, seconds: float | None = None) -> float | None:
        """Kill a piece of work after this many seconds, or let it finish.

        Returns how long it took if it finished, None if it was killed.
        """
        running = phase.begin()
        began = time.perf_counter()
        process = running.process
        try:
            # Its output fits into the pipe, except the lines of many writes.
            out, error = _communicate(process, seconds)
        finally:
            process.kill()
        took = time.perf_counter() - began
        for line in out.splitlines(keepends=True):
            if line.endswith("\n"):
                running.said(line[:-1])
        if process.returncode == -9:
            return None
        if process.returncode or error:
            raise CheckFailed(f"{phase.name} ended with {process.returncode}: {error.strip()}")
        return took

    def run_next_command(self) -> None:
        """Run the next command after a kill."""
        self._command("memory", "index", "--config", str(self._words_only))

    def start_seconds(self) -> float:
        """Return the seconds that a command takes which does nothing."""
        began = time.perf_counter()
        self._command("memory", "status", "--config", str(self._words_only))
        return time.perf_counter() - began

    def _command(self, *arguments: str) -> None:
        run = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self._folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode or run.stderr:
            raise CheckFailed(f"{' '.join(arguments)} ended with {run.returncode}: {run.stderr.strip()}")

    # -- checks ----------------------------------------------------------------------------------------------

    def check_lines(self) -> None:
        """Check that every written line exists once and intact; of corrected lines, the old or the new version."""
        found = Counter(
            line.removeprefix("- ")
            for note in self._notes.glob("*.md")
            for line in note.read_text("utf-8").splitlines()
            if "arcel " in line
        )
        if torn := set(found) - self._written.asked:
            raise CheckFailed(f"a line that nobody wrote so: {min(torn)[:80]!r}")
        if lost := self._written.done - set(found):
            raise CheckFailed(f"a line that was said to be written is not there: {min(lost)[:80]!r}")
        if doubled := [line for line, times in found.items() if times > 1]:
            raise CheckFailed(f"a line stands twice: {doubled[0][:80]!r}")
        self._written.asked, self._written.done = set(found), set(found)
        items = [line for line in self._items_note() if line.startswith("- ")]
        if len(items) != ITEMS:
            raise CheckFailed(f"items.md has {len(items)} items, not {ITEMS}")
        for number, (line, wanted) in enumerate(zip(items, self._written.items, strict=True)):
            if line not in wanted:
                raise CheckFailed(f"item {number} reads {line[:80]!r}, not {wanted[0][:80]!r}")
            self._written.items[number] = (line, line)

    def _items_note(self) -> list[str]:
        text = (self._notes / "items.md").read_text("utf-8")
        if not re.fullmatch(r"# Items\n\n(?:- Item .*\.\n)+", text):
            raise CheckFailed("items.md is torn")
        return text.splitlines()

    def check_index(self) -> None:
        """Check that the index file is sound."""
        try:
            assert_sound(self._workspace / ".commonplace" / "index.db")
        except (AssertionError, apsw.Error) as error:
            where = traceback.extract_tb(error.__traceback__)[-1].line
            raise CheckFailed(f"the index is not sound: {error}: {where}") from error

    def check_against_new(self) -> None:
        """Check that the index and its vectors equal those built from scratch."""
        self._command("memory", "index", "--config", str(self._vectors))
        self.check_index()
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            fresh = make_workspace(Path(name, "w"), self._notes)
            config = write_config(Path(name, "config.toml"), fresh, memory_embedding=self._embedding)
            self._command("memory", "index", "--config", str(config))
            ours, new = (each / ".commonplace" / "index.db" for each in (self._workspace, fresh))
            ours_holds, new_holds = read_index_contents(ours), read_index_contents(new)
            if different := {
                path for path in {*ours_holds, *new_holds} if ours_holds.get(path) != new_holds.get(path)
            }:
                raise CheckFailed(
                    f"{len(different)} notes are indexed otherwise than anew, such as {min(different)}"
                )
            if read_vectors(ours) != read_vectors(new):
                raise CheckFailed("the vectors are not those that are made anew")


def _communicate(process: "subprocess.Popen[str]", seconds: float | None) -> tuple[str, str]:
    """Return a process's output until its end, or until it was killed after this many seconds."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def read_vectors(file: Path) -> dict[bytes, tuple[object, ...]]:
    """Return model and vector of each used text, by its digest."""
    sql = (
        "SELECT digest, provider, model.model, dimensions, embedding FROM texts"
        " LEFT JOIN vectors ON vectors.text = texts.id LEFT JOIN models AS model ON model.id = vectors.model"
        " WHERE uses"
    )
    found: dict[bytes, tuple[object, ...]] = {}
    with closing(apsw.Connection(str(file))) as db:
        for digest, *row in db.execute(sql):
            assert isinstance(digest, bytes)
            if digest in found or None in row:
                raise CheckFailed("a text has no vector, or more than one")
            found[digest] = tuple(row)
    return found


def kill_repeatedly(trial: Trial, kills: int, seed: int) -> Counter[str]:
    """Kill this many times, check, and return how often each phase was hit."""
    chance = random.Random(seed)
    trial.run_next_command()
    start = trial.start_seconds()
    takes = {phase.name: trial.run(phase) or 0.0 for phase in trial.phases}
    trial.check_lines()
    trial.check_against_new()
    done: Counter[str] = Counter()
    while done.total() < kills:
        phase = min(trial.phases, key=lambda phase: (done[phase.name], trial.phases.index(phase)))
        # Processes that report when they begin work from the first moment; a command has to start first.
        begin = 0.0 if phase.name in {"writing many", "editing"} else 0.7 * start
        took = trial.run(phase, chance.uniform(min(begin, takes[phase.name] * 0.7), takes[phase.name]))
        if took is None:
            done[phase.name] += 1
        else:  # it finished before
            takes[phase.name] = (takes[phase.name] + took) / 2
        trial.run_next_command()
        trial.check_lines()
        trial.check_index()
        if took is None and done.total() % COMPARE_EVERY == 0:
            trial.check_against_new()
            print(f"  {done.total()} kills", flush=True)
    trial.check_against_new()
    return done


def main() -> None:
    """Print how often what was killed; exit with 1 on any violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, embedding_service(delay=ANSWER_SECONDS) as service:
        try:
            done = kill_repeatedly(
                Trial(Path(folder), service, arguments.seed), arguments.kills, arguments.seed
            )
        except CheckFailed as broken:
            sys.exit(f"{broken} (seed {arguments.seed})")
    for name, times in done.items():
        print(f"  killed while {name:24}{times:4} times")
    print(
        f"{done.total()} kills in {time.perf_counter() - began:.0f} s: every index sound and equal to a new one,"
    )
    print("every line that was said to be written there once and whole")


if __name__ == "__main__":
    main()
