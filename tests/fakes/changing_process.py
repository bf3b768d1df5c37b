"""A process that writes, undoes, redoes and forgets until it is killed, and what must be true afterwards.

Run it as `python -m tests.fakes.changing_process FOLDER SEED CALLS [URL]`. It prints each step before and after it
takes it. With CALLS it kills itself at its next call to the file system after so many; with 0, it is killed from
outside. With URL, a PostgreSQL server, other instances may change the same notes; then it forgets nothing, and edits
only its own words, which begin with the first letter of FOLDER.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bot.forgetting import AlreadyForgotten, ForgetService, NothingToForget
from bot.messages import ChatId, PersonId
from bot.note_writes import OnceWriter
from bot.state import changes
from bot.state.changes import Change, ChangeOrigin
from bot.state.database import State
from bot.undo import Undone, UndoRefused, UndoService
from memory.errors import EditRefused, NoteExists, NoteMissing
from memory.forgetting import FORGOTTEN
from memory.memory import Memory
from memory.postgres.server import Server
from memory.settings import MemorySettings, WatchSettings
from tests.replay import are_alike, read_notes, replay

CHAT, OWNER = ChatId("telegram", "1"), PersonId("telegram", "1")
ORIGIN = ChangeOrigin("tool", person=str(OWNER), chat=str(CHAT), model="test/one")
ROOT = Path(__file__).parent.parent.parent

StepKind = Literal[
    "write",
    "section",
    "document",
    "edit",
    "undo",
    "undo_last",
    "redo_last",
    "forget",
    "rewrite",
    "move",
    "delete",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One step, which a retry takes again under the same key."""

    kind: StepKind
    key: str
    word: str = ""
    """A word that is nowhere else: what is written, edited, or forgotten."""
    other: str = ""
    """The word that replaces it; the code of `/forget`; the version of a note; or where it is moved to."""
    number: int = 0
    path: str = ""
    text: str = ""
    """Of the whole note."""


@dataclass
class Expected:
    """Which words the notes must hold after the steps so far."""

    present: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)

    def apply(self, step: Step, outcome: dict[str, Any]) -> None:
        """Follow a step that was taken."""
        if outcome.get("refused"):
            return
        match step.kind:
            case "write" | "document":
                self.present.add(step.word)
            case "section":
                self.present |= set(step.word.split())
            case "edit":
                self.present.discard(step.word)
                self.present.add(step.other)
            case "undo" | "undo_last" | "redo_last":
                self.present -= set(outcome.get("removed", ()))
                self.present |= set(outcome.get("put_back", ()))
            case "rewrite":
                self.present |= set(step.word.split())
            case "delete":
                self.present -= set(step.word.split())
            case "move":
                pass
            case "forget":
                self.present.discard(step.word)
                self.forgotten.add(step.word)


class ChangedWorkspace:
    """The notes in a folder, and everything that changes them."""

    def __init__(self, base: Path, memory: Memory, state: State) -> None:
        self.base = base
        self.state = state
        self.writer = OnceWriter(memory, state)
        self.memory = memory
        self.undoing = UndoService(self.writer, state)
        self.forgetting = ForgetService(memory, state, now=_now)

    async def take(self, step: Step) -> dict[str, Any]:
        """Take a step, or find that it is done; return what it has changed."""
        key = step.key
        try:
            match step.kind:
                case "write":
                    target: Literal["core", "daily"] = "core" if step.number else "daily"
                    await self.writer.write(f"fact {step.word}", key=key, target=target, origin=ORIGIN)
                case "section":
                    lines = "\n".join(f"- fact {word}" for word in step.word.split())
                    block = f"## 12:00 Ada\n\n{lines}"
                    await self.writer.append("2026-01-01.md", block, key=key, title="Day", origin=ORIGIN)
                case "document":
                    path, block = "documents/2026/a.md", f"A fact: {step.word}"
                    await self.writer.write_document(path, block, key=key, title="A", origin=ORIGIN)
                case "edit":
                    await self.writer.edit(step.path, step.word, step.other, key=key, origin=ORIGIN)
                case "rewrite":
                    await self.writer.rewrite(step.path, step.text, digest=step.other, key=key, origin=ORIGIN)
                case "delete":
                    await self.writer.delete(step.path, digest=step.other, key=key, origin=ORIGIN)
                case "move":
                    await self.writer.move(step.path, step.other, key=key, origin=ORIGIN)
                case "undo":
                    return _words_of(await self.undoing.undo(step.number, key=key, origin=ORIGIN))
                case "undo_last":
                    return _words_of(await self.undoing.undo_last(None, key=key, origin=ORIGIN))
                case "redo_last":
                    return _words_of(await self.undoing.redo_last(None, key=key, origin=ORIGIN))
                case "forget":
                    done = await self.forgetting.confirm(step.other, chat=CHAT, person=OWNER, key=key)
                    assert not done.missed, done
        except UndoRefused as refused:
            return {"refused": refused.reason}
        except (
            EditRefused,
            NoteMissing,
            NoteExists,
        ) as refused:  # another instance has edited or deleted it just before
            return {"refused": str(refused)}
        except AlreadyForgotten:
            return {}
        return {}


@asynccontextmanager
async def open_changed(base: Path, url: str = "") -> AsyncIterator[ChangedWorkspace]:
    settings = MemorySettings(watch=WatchSettings(enabled=False))
    server = Server(url, name=f"test {base.name}") if url else None
    async with (
        State(base / ".commonplace" / "state.db") as state,
        Memory(settings, workspace=base, now=_now, server=server, instance=base.name) as memory,
    ):
        yield ChangedWorkspace(base, memory, state)
    if server:
        server.close()


async def work(base: Path, seed: int, calls: int, url: str = "") -> None:
    """Take steps without end."""
    chance = random.Random(seed)
    async with open_changed(base, url) as workspace:
        print("begun", flush=True)
        if calls:
            # The beginning of a torn line stays if another instance writes before this one is back.
            die_after(calls, part=chance.choice((0.0, 1.0)) if url else chance.random())
        number = 0
        while True:
            number += 1
            step = await choose_step(workspace, chance, f"{seed}-{number}", shared=bool(url))
            print(json.dumps(["begin", _fields(step)]), flush=True)
            print(json.dumps(["done", await workspace.take(step)]), flush=True)


def die_after(calls: int, *, part: float) -> None:
    """Kill this process at a call to the file system; a write gets through in part."""
    left = [calls]

    def replace(name: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                if name == "write":
                    fd, data = arguments
                    real(fd, data[: int(len(data) * part)])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        setattr(os, name, counted)

    for name in ("write", "fsync", "rename", "link", "unlink", "ftruncate", "rmdir"):
        replace(name)


async def choose_step(
    workspace: ChangedWorkspace, chance: random.Random, key: str, *, shared: bool = False
) -> Step:
    """Return a step that is possible now."""
    make_word = partial(_make_word, chance, workspace.base.name[0] if shared else "")
    word = make_word()
    standing = sorted(each for each in read_words(workspace.base) if each[:3] == word[:3] or not shared)
    kind = chance.choices(
        (
            *("write", "section", "document", "edit", "undo", "undo_last", "redo_last"),
            *("forget", "rewrite", "move", "delete"),
        ),
        (4, 1, 1, 3, 4, 3, 4, *(4 * [0] if shared else [1, 2, 2, 1])),
    )[0]
    if kind in ("write", "document") or not standing:
        return Step("document" if kind == "document" else "write", key, word, number=chance.randrange(2))
    if kind == "section":
        return Step("section", key, " ".join((word, make_word(), make_word())))
    if kind == "edit":
        edited = chance.choice(standing)
        path = find_note_with(workspace.base, edited)
        return Step("edit", key, edited, word, path=path) if path else Step("write", key, word)
    if kind == "forget":
        wanted = chance.choice(standing)
        try:
            found = await workspace.forgetting.find(wanted, chat=CHAT, person=OWNER)
        except NothingToForget:
            return Step("write", key, word)
        return Step("forget", key, wanted, found.code)
    if kind in ("rewrite", "move", "delete"):
        path = find_note_with(workspace.base, chance.choice(standing))
        if kind == "move":
            # Never where another note was: its changes would be told of this one.
            return Step("move", key, path=path, other=f"moved/{chance.randrange(3)}/{key}.md")
        note = await workspace.memory.read_whole(path)
        if kind == "delete":
            return Step("delete", key, _ours_in(note.text), note.digest, path=path)
        lines = note.text.split("\n")
        for added in (word, make_word()):
            lines.insert(chance.randrange(len(lines)), f"- fact {added}")
            word = f"{word} {added}" if added != word else word
        return Step("rewrite", key, word, note.digest, path=path, text="\n".join(lines))
    if kind == "undo":
        latest = await workspace.state.read(partial(changes.read_changes, limit=30))
        return Step("undo", key, number=chance.choice(latest).number if latest else 1)
    return Step("undo_last" if kind == "undo_last" else "redo_last", key)


def run_and_kill(base: Path, *, seed: int, seconds: float = 0.0, calls: int = 0, url: str = "") -> list[str]:
    """Run the process for some time or calls, kill it, and return the lines that it has printed."""
    command = [sys.executable, "-m", "tests.fakes.changing_process", str(base), str(seed), str(calls), url]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        if not calls:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        lines = process.stdout.read().splitlines()
        assert process.wait() == -signal.SIGKILL, "it was still at work"
    return lines


def parse_steps(lines: Iterable[str]) -> tuple[list[tuple[Step, dict[str, Any]]], Step | None]:
    """Return the steps that a process took, with what each changed, and the one in which it was killed, if any."""
    taken: list[tuple[Step, dict[str, Any]]] = []
    open_step: Step | None = None
    for line in lines:
        try:
            what, fields = json.loads(line)
        except ValueError:
            break  # the last line, cut off
        if what == "begin":
            open_step = Step(**fields)
        elif open_step:
            taken.append((open_step, fields))
            open_step = None
    return taken, open_step


async def check_after_kill(base: Path, lines: list[str], expected: Expected) -> Step | None:
    """Complete the step in which the process was killed, and assert that everything is as it must be.

    Returns that step; None if it was killed between two.
    """
    taken, open_step = parse_steps(lines)
    for step, outcome in taken:
        expected.apply(step, outcome)
    async with open_changed(base) as workspace:
        # Whoever looks at the record first settles what is open; nothing is retried yet.
        await workspace.undoing.settle_open()
        made, notes = await read_record(workspace), read_notes(base / "memory")
        assert are_alike(replay(made), notes), open_step
        if open_step:
            expected.apply(open_step, await workspace.take(open_step))
            made, notes = await read_record(workspace), read_notes(base / "memory")
        assert replay(made) == notes, open_step
    counted = list(read_words(base))
    assert sorted(counted) == sorted(expected.present), (open_step, set(counted) ^ expected.present)
    assert not any(FORGOTTEN in line for lines in read_notes(base / "memory").values() for line in lines)
    for word in expected.forgotten:
        assert find_files_with(base, word) == [], (word, open_step)
    return open_step


async def read_record(workspace: ChangedWorkspace) -> tuple[Change, ...]:
    """Return all recorded changes."""
    return await workspace.state.read(partial(changes.read_changes, limit=1_000_000))


def read_words(base: Path) -> Iterator[str]:
    """Yield every word of ours in the notes, as often as it is there."""
    for lines in read_notes(base / "memory").values():
        for line in lines:
            yield from (word for word in line.split() if word.startswith("xq"))


def find_note_with(base: Path, word: str) -> str:
    """Return the path of the note that holds a word; "" if none does."""
    notes = read_notes(base / "memory").items()
    return next((path for path, lines in notes if any(word in line.split() for line in lines)), "")


def find_files_with(base: Path, word: str) -> list[str]:
    """Return every file below a folder in whose bytes a word is.

    Drafts of edits do not count: one that a killed process has left is removed when it is older than any lock.
    """
    files = (path for path in base.rglob("*") if path.is_file() and path.parent.name != "tmp")
    return [str(path) for path in files if word.encode() in path.read_bytes()]


def _words_of(done: Undone | None) -> dict[str, Any]:
    if done is None:
        return {"refused": "nothing to do"}
    found = {"removed": done.removed, "put_back": done.put_back}
    return {
        name: [word for line in lines for word in line.split() if word.startswith("xq")]
        for name, lines in found.items()
    }


def _ours_in(text: str) -> str:
    return " ".join(word for word in text.split() if word.startswith("xq"))


def _fields(step: Step) -> dict[str, Any]:
    return {name: getattr(step, name) for name in Step.__slots__}


def _make_word(chance: random.Random, begins: str = "") -> str:
    return "xq" + begins + "".join(chance.choice("abcdefghijklmnop") for _ in range(14))


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]))
