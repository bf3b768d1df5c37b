"""What an examination of the notes costs and finds: `python benchmarks/health.py [FOLDER…]`.

Without folders, it makes up ten thousand notes, half of them daily logs with a routine, and plants some of everything
that may need fixing. Compared with limits: the time, the memory, how late the event loop of a service gets meanwhile,
and how much of what was planted is found; anything else that is found counts as wrong. For each FOLDER of notes, it
prints the findings of each kind, for a reader to judge.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from figures import Report
from workspaces import COMMAND, ENVIRONMENT, MadeUpNotes, make_workspace, run_measured

from memory.memory import Memory
from memory.settings import MemorySettings

MAX_SECONDS, MAX_MEGABYTES, MAX_LATE_SECONDS, MIN_FOUND = 15.0, 150.0, 0.5, 0.95
PLANTED = 8
"""How many of each kind are planted; no kind shows more than ten."""
ROUTINE = (
    "Slept well and had tea with milk.",
    "Went for a walk in the park.",
    "The train was late again.",
    "Cooked pasta with tomatoes for everybody.",
)
WITHOUT_VECTORS = ENVIRONMENT | {"COMMONPLACE_MEMORY__EMBEDDING__PROVIDER": "none"}

Planted = dict[str, set[str]]
"""The notes in which something of a kind was planted."""


def write_memory(folder: Path, count: int, *, size: int) -> Planted:
    """Write notes, half of them daily logs, and plant some of each kind."""
    made_up, chance, planted = MadeUpNotes(), random.Random(2), Planted()
    first = date(2026, 11, 1) - timedelta(days=count // 2)
    texts: dict[str, str] = {}
    for number in range(count // 2):
        texts[f"{number // 100:03}/note-{number:05}.md"] = made_up.note(size)
        lines = [*chance.sample(ROUTINE, 3), *(made_up.sentence() for _ in range(size // 70))]
        chance.shuffle(lines)
        day = first + timedelta(days=number)
        texts[f"{day}.md"] = f"# {day}\n\n" + "".join(f"- {line}\n" for line in lines)
    logs = sorted(path for path in texts if "/" not in path)

    def plant(kind: str, path: str, line: str) -> None:
        texts[path] = f"{texts[path].rstrip()}\n\n{line}\n"
        if kind:
            planted.setdefault(kind, set()).add(path)

    for number in range(PLANTED):
        name = f"Anneke{number}"
        early, late = sorted(chance.sample(logs, 2))
        plant("", early, f"- {name}'s birthday is {number + 3} May.")
        plant("duplicate", late, f"- {name}'s birthday is {number + 3} May")
        plant("", early, f"- {name}'s door code is {number}711.")
        plant(
            "near_duplicate",
            late,
            f"- The door code of {name}: see below.\n- {name}'s door code: {number}711",
        )
        plant("superseded", early, f"- {name} lives in Bonn.")
        plant("", late, f"- {name} lives in Lille.")
        plant("broken_link", late, f"See [{name}](people/{name}.md).")
        plant("foreign_text", early, f"- {name} owes {number} euros. (says letter.pdf)")
        texts[f"empty-{number}.md"] = "\n"
        planted.setdefault("not_found", set()).add(f"empty-{number}.md")
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return planted


async def measure_service(workspace: Path) -> tuple[float, float]:
    """Return the seconds of an examination in a service, and how late its event loop was at worst."""
    late = 0.0

    async def tick() -> None:
        nonlocal late
        while True:
            due = time.monotonic() + 0.005
            await asyncio.sleep(0.005)
            late = max(late, time.monotonic() - due)

    async with Memory(MemorySettings(), workspace=workspace, now=lambda: datetime.now(UTC)) as memory:
        await memory.sync()
        ticking = asyncio.create_task(tick())
        began = time.monotonic()
        await memory.health()
        seconds = time.monotonic() - began
        ticking.cancel()
    return seconds, late


def examine(workspace: Path) -> dict[str, Any]:
    """Return the report of the command."""
    command = [*COMMAND, "memory", "health", "--json", "--workspace", str(workspace)]
    run = subprocess.run(
        command, env=WITHOUT_VECTORS, cwd=workspace, capture_output=True, text=True, check=True
    )
    document: dict[str, Any] = json.loads(run.stdout)
    return document


def measure(count: int, size: int) -> list[str]:
    """Print the figures of a made-up memory; return those beyond their limits."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder, "w"))
        planted = write_memory(workspace / "memory", count, size=size)
        print(f"{count:,} notes of about {size:,} bytes")
        cost = run_measured(
            [*COMMAND, "memory", "health", "--workspace", str(workspace)],
            workspace,
            environment=WITHOUT_VECTORS,
        )
        report.figure("examining them, by the command, CPU seconds", cost.seconds, limit=MAX_SECONDS)
        report.figure("its memory, MB", cost.megabytes, limit=MAX_MEGABYTES)
        found: dict[str, set[str]] = {}
        for each in examine(workspace)["findings"]:
            found.setdefault(each["kind"], set()).update(place["path"] for place in each["places"])
        due = sum(map(len, planted.values()))
        right = sum(len(planted[kind] & found.get(kind, set())) for kind in planted)
        wrong = {kind: paths - planted.get(kind, set()) for kind, paths in found.items()}
        report.figure("share of what was planted that it misses", 1 - right / due, limit=1 - MIN_FOUND)
        report.figure("findings that were not planted", sum(map(len, wrong.values())), limit=0)
        seconds, late = asyncio.run(measure_service(workspace))
        report.figure("examining them in a service, seconds", seconds)
        report.figure("the longest that its event loop was late, seconds", late, limit=MAX_LATE_SECONDS)
    return report.failed


def show(notes: Path) -> None:
    """Print what an examination of a folder finds."""
    with tempfile.TemporaryDirectory() as folder:
        report = examine(make_workspace(Path(folder, "w"), notes))
    counts = Counter(each["kind"] for each in report["findings"])
    print(
        f"{notes}: {report['notes']} notes, {report['seconds']:.1f} s, {dict(counts)}, more: {report['left_out']}"
    )
    for each in report["findings"]:
        about = each["about"]
        print(f"  {each['kind']}  {each['reason']}")
        for place in each["places"]:
            print(f"    {place['path']}:{place['line_start']}  {place['text']}")
        if about:
            print(f"    = {about['path']}:{about['line_start']}  {about['text']}")


def main() -> None:
    """Measure a made-up memory, or show what is found in folders; exit with 1 if a limit is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=1_500, help="bytes of a note")
    arguments = parser.parse_args()
    if arguments.folders:
        for folder in arguments.folders:
            show(folder)
        return
    if failed := measure(arguments.notes, arguments.size):
        sys.exit(f"not as promised: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
