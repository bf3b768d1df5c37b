"""What the record of changes costs: `python benchmarks/changes.py [--writes 400] [--kills 300]`.

Measured: the processor time and the wall time of a write with the record (and, with `--before REPOSITORY`, of the
same write by another version), of an undo and of a redo, and how much a change adds to state.db. With `--kills 300`,
that many processes are killed while they write, undo, redo and forget; after each, nothing may be lost, doubled or
half done, and the record, replayed from nothing, must give the notes on disk.
"""

import argparse
import asyncio
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw
from figures import Report, measure_to_the_end
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from bot.state import changes
from tests.fakes.changing_process import Expected, Step, check_after_kill, open_changed, run_and_kill

KILLS_OF_ONE = 10
"""Kills after which an empty workspace is taken."""
MAX_SECONDS = 0.5
"""A process lives at most so long after its start, if it is killed by the clock."""
MAX_CALLS = 60
"""Calls to the file system before it is killed at one."""
WRITE_CODE = """
import asyncio, sys, time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from bot.note_writes import OnceWriter
from bot.state.database import State
from memory.memory import Memory
from memory.settings import MemorySettings
try:
    from bot.state.changes import ChangeOrigin
    more = {"origin": ChangeOrigin("tool", person="telegram:1", chat="telegram:1", model="test/one")}
except ImportError:
    more = {}

async def main(base, writes):
    now = lambda: datetime.now(UTC)
    async with State(base / ".commonplace" / "state.db") as state, Memory(
        MemorySettings(), workspace=base, now=now
    ) as memory:
        writer = OnceWriter(memory, state)
        for number in range(20):
            await writer.write(f"warm {number}", key=f"w{number}", **more)
        cpu, wall = time.process_time(), time.perf_counter()
        for number in range(writes):
            await writer.write(f"The parcel {number} of Ada is on the shelf by the door.", key=f"k{number}", **more)
        print((time.process_time() - cpu) / writes * 1000, (time.perf_counter() - wall) / writes * 1000)

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


def measure_writes(version: Path, writes: int) -> tuple[float, float]:
    """Return CPU and wall ms of a write by a version of the program; the median of five runs."""
    found = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", WRITE_CODE, folder, str(writes)]
            done = subprocess.run(command, cwd=version, capture_output=True, check=True, encoding="utf-8")
            cpu, wall = map(float, done.stdout.split())
            found.append((cpu, wall))
    return statistics.median(cpu for cpu, _ in found), statistics.median(wall for _, wall in found)


async def measure_undo(writes: int) -> tuple[float, float, float]:
    """Return CPU ms of an undo and of a redo, and the bytes that a change adds to state.db."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        async with open_changed(base) as workspace:
            for number in range(writes):
                text = f"xq{number} The parcel of Ada is on the shelf by the door."
                await workspace.take(Step("write", f"k{number}", text, number=1))
            spent = []
            for kind in ("undo_last", "redo_last"):
                began = time.process_time()
                for number in range(writes // 2):
                    await workspace.take(Step(kind, f"{kind} {number}"))
                spent.append((time.process_time() - began) / (writes // 2) * 1000)
            made = await workspace.state.read(lambda db: changes.read_changes(db, limit=1_000_000))
            assert len(made) == writes + writes // 2 * 2, len(made)
        return spent[0], spent[1], measure_size(base / ".commonplace" / "state.db") / len(made)


def measure_size(file: Path) -> int:
    """Return how many bytes of state.db the record takes, with its indexes."""
    with closing(apsw.Connection(str(file))) as db:
        db.execute("VACUUM")
        whole: int = db.execute("PRAGMA page_count").get
        db.execute("DELETE FROM changes")
        db.execute("VACUUM")
        rest: int = db.execute("PRAGMA page_count").get
        size: int = db.execute("PRAGMA page_size").get
    return (whole - rest) * size


async def kill(times: int, report: Report) -> None:
    """Kill processes, and check after each what must be true."""
    killed_in = Counter[str]()
    steps, base, expected = 0, Path(), Expected()
    for number in range(times):
        if number % KILLS_OF_ONE == 0:
            shutil.rmtree(base) if number else None
            base, expected = Path(tempfile.mkdtemp()), Expected()
        chance = random.Random(number)
        # By the clock, and at a call to the file system, where there is most to lose.
        when: dict[str, Any] = {"seconds": chance.random() * MAX_SECONDS}
        if number % 2:
            when = {"calls": chance.randint(1, MAX_CALLS)}
        lines = await asyncio.to_thread(partial(run_and_kill, base, seed=number, **when))
        steps += sum(line.startswith('["done"') for line in lines)
        step = await check_after_kill(base, lines, expected)
        killed_in[step.kind if step else "between two steps"] += 1
    shutil.rmtree(base, ignore_errors=True)
    where = ", ".join(f"{name} {count}" for name, count in killed_in.most_common())
    print(
        f"  {times} processes killed, in {where}: nothing lost, doubled or half done, and the record is right"
    )
    report.figure("steps that were taken before the kills", steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    options = parser.parse_args()
    measure_to_the_end(measure(options.writes, options.kills, options.before))


async def measure(writes: int, kills: int, before: Path | None) -> list[str]:
    """Measure everything; return what is not as promised."""
    report = Report()
    if kills:
        await kill(kills, report)
    if writes:
        cpu, wall = measure_writes(ROOT, writes)
        report.figure("CPU ms of a write", cpu)
        report.figure("ms of a write", wall)
        if before:
            cpu_before, wall_before = measure_writes(before, writes)
            report.figure("CPU ms of a write by the other version", cpu_before)
            report.figure("ms of a write by the other version", wall_before)
        undo, redo, size = await measure_undo(writes)
        report.figure("CPU ms of an undo", undo)
        report.figure("CPU ms of a redo", redo)
        report.figure("bytes in state.db for a change of one line", size)
    return report.failed


if __name__ == "__main__":
    main()
