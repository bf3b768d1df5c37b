"""Two instances undo and redo what they wrote into the same notes, at once, and are killed meanwhile."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.changing_process import (
    ROOT,
    Step,
    open_changed,
    parse_steps,
    read_record,
    read_words,
    run_and_kill,
)

pytestmark = pytest.mark.thorough

_LINE = re.compile(r"|# .+|## 12:00 Ada|(- (\d\d:\d\d )?)?fact xq[a-p]+|A fact: xq[a-p]+")
_WORD = re.compile(r"xq[a-p]+")


def make_instance(root: Path, name: str) -> Path:
    """Return a workspace with a record of its own, whose notes are those of all."""
    (root / "notes").mkdir(exist_ok=True)
    (root / name / ".commonplace").mkdir(parents=True)
    (root / name / "memory").symlink_to(root / "notes")
    return root / name


def count_words(step: Step, outcome: dict[str, list[str]]) -> Counter[str]:
    """Return how often each word is in the notes more than before a step."""
    words = Counter[str]()
    if outcome.get("refused"):
        return words
    match step.kind:
        case "write" | "document" | "section":
            words.update(step.word.split())
        case "edit":
            words.update({step.word: -1, step.other: 1})
        case _:
            words.update(outcome["put_back"])
            words.subtract(outcome["removed"])
    return words


async def live(base: Path, url: str, *, seed: int, calls: list[int]) -> Counter[str]:
    """Run one process after the other, each killed at a call to the file system, and complete what it had begun."""
    words = Counter[str]()
    for number, count in enumerate(calls):
        run = partial(run_and_kill, base, seed=seed * 100 + number, calls=count, url=url)
        taken, open_step = parse_steps(await asyncio.to_thread(run))
        for step, outcome in taken:
            words.update(count_words(step, outcome))
        async with open_changed(base, url) as workspace:
            await workspace.undoing.settle_open()
            if open_step:
                words.update(count_words(open_step, await workspace.take(open_step)))
    return words


async def read_recorded(base: Path, url: str) -> Counter[str]:
    """Return how often each word is in the notes more than before all recorded changes of an instance."""
    words = Counter[str]()
    async with open_changed(base, url) as workspace:
        for change in await read_record(workspace):
            words.update(_WORD.findall("\n".join(change.lines.new)))
            words.subtract(_WORD.findall("\n".join(change.lines.old)))
    return words


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_is_lost_doubled_or_half_done(tmp_path: Path, database: str, seed: int) -> None:
    ada, ben = make_instance(tmp_path, "ada"), make_instance(tmp_path, "ben")
    calls = [[60 + seed, 31 + seed, 90 + seed, 17 + seed], [45 + seed, 24 + seed, 75 + seed, 52 + seed]]
    ran = await asyncio.gather(
        live(ada, database, seed=2 * seed, calls=calls[0]),
        live(ben, database, seed=2 * seed + 1, calls=calls[1]),
    )
    there = Counter(read_words(ada))
    assert there == +(ran[0] + ran[1]), f"{there - ran[0] - ran[1]}"
    assert set(there.values()) <= {1}
    recorded = [await read_recorded(each, database) for each in (ada, ben)]
    recorded[0].update(recorded[1])
    assert there == +recorded[0]
    assert not -recorded[0]
    for note in (tmp_path / "notes").rglob("*.md"):
        text = note.read_text("utf-8")
        assert not text or text.endswith("\n")
        assert [line for line in text.splitlines() if not _LINE.fullmatch(line)] == []


_UNDO = """
import asyncio, sys
from pathlib import Path
from tests.fakes.changing_process import Step, die_after, open_changed

async def main(base, url, number, calls):
    async with open_changed(Path(base), url) as workspace:
        die_after(int(calls), part=1.0)
        print(await workspace.take(Step("undo", "asked", number=int(number))))

asyncio.run(main(*sys.argv[1:]))
"""


def undo_until_killed(base: Path, url: str, *, number: int, calls: int) -> bool:
    """Undo a change in a process that is killed at a call to the file system; return False if it comes to its end."""
    ran = subprocess.run(
        [sys.executable, "-c", _UNDO, str(base), url, str(number), str(calls)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=False,
    )
    return ran.returncode == -signal.SIGKILL


@pytest.mark.parametrize("redoes", [False, True])
@pytest.mark.parametrize("beside", ["edit", "append", "undo"])
async def test_an_undo_that_was_killed_is_completed_after_another_instance_has_written(
    tmp_path: Path, database: str, beside: str, redoes: bool
) -> None:
    words = [f"xq{letter * 14}" for letter in "abcdefgh"]
    for calls in range(3, 60):
        root = tmp_path / str(calls)
        root.mkdir()
        ada, ben = make_instance(root, "ada"), make_instance(root, "ben")
        note = "2026-01-01.md"
        async with open_changed(ben, database) as workspace:
            await workspace.take(Step("section", "1", words[0]))
        async with open_changed(ada, database) as workspace:
            await workspace.take(Step("section", "1", " ".join(words[1:4])))
        async with open_changed(ben, database) as workspace:
            await workspace.take(Step("section", "2", words[4]))
        if redoes:
            async with open_changed(ada, database) as workspace:
                await workspace.take(Step("undo", "2", number=1))
        killed = await asyncio.to_thread(
            partial(undo_until_killed, ada, database, number=2 if redoes else 1, calls=calls)
        )
        there = set(read_words(ben))
        async with open_changed(ben, database) as workspace:
            match beside:
                case "edit" if words[2] in there:
                    await workspace.take(Step("edit", "3", words[2], words[6], path=note))
                case "edit" | "append":
                    await workspace.take(Step("section", "3", words[6]))
                case "undo":
                    await workspace.take(Step("undo", "3", number=2))
        async with open_changed(ada, database) as workspace:
            await workspace.undoing.settle_open()
            settled = list(read_words(ada))
            await workspace.take(Step("undo", "asked", number=2 if redoes else 1))
        there_now = Counter(read_words(ada))
        text = (root / "notes" / note).read_text()
        recorded = [await read_recorded(each, database) for each in (ada, ben)]
        recorded[0].update(recorded[1])
        print(calls, killed, sorted(there), sorted(settled), sorted(there_now))
        assert there_now == +recorded[0], (calls, text)
        assert set(there_now.values()) <= {1}, (calls, text)
        if not killed:
            break
    else:
        pytest.fail("it never came to its end")
