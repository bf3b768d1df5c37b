"""The soak in small, and that it tells what should not be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def run(code: str) -> str:
    start = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


HELD = """
from collections import Counter
from process_watch import Held
import soak
def look(turns, rss=100.0, tasks=20, files=9, peers=None, threads=1, **more):
    held = Held(rss, rss, 1, 0, Counter({"log": files}), Counter(peers or {"telegram": 3, "other": 5}), **more)
    inside = {"tasks": {"lane": tasks}, "threads": {"state": threads}, "types": {}, "growth": []}
    return soak.Look(turns, 1.0, held, inside)
def wrong(last, loaded=100.0, middle=103.0):
    samples = [(at, Held(100.0 if at < 5000 else loaded, 1, 1, 0)) for at in range(0, 10_000, 100)]
    found = soak.check_held([look(1000), look(5000, rss=middle), last], samples, 10_000)
    return sorted(what for what, each in found.wrong.items() if each)
"""


@pytest.mark.thorough
def test_what_grows_or_is_left_is_told() -> None:
    code = """
for last, *more in (
    (look(10_000, rss=103.9), 103.9), (look(10_000, rss=104.1), 100.0, 103.5), (look(10_000), 104.1),
    (look(10_000, rss=103.0), 100.0, 101.9), (look(10_000, tasks=21),), (look(10_000, threads=2),),
    (look(10_000, files=10),), (look(10_000, peers={"telegram": 34, "other": 6}),),
    (look(10_000, peers={"openai": 17, "other": 5}),), (look(10_000, forsaken=7),),
):
    print("told:", wrong(last, *more))
"""
    told = [line for line in run(HELD + code).splitlines() if line.startswith("told: ")]
    assert told == [
        "told: []",
        "told: ['memory, silent: too much more']",
        "told: ['memory, under load: too much more']",
        "told: ['memory, silent, second half: too much more']",
        "told: ['tasks that are left']",
        "told: ['threads that are left']",
        "told: ['files that are left']",
        "told: ['sockets that are left']",
        "told: ['more connections than are kept for later']",
        "told: ['sockets whose other side is gone']",
    ]


TALKS = """
import random
import soak_people as s
class Here:
    name, room = "here", False
    def __init__(self, *texts): self.texts = texts
    def shown(self, begin, end=None): return [s.Shown(each, 0.0, None) for each in self.texts[begin:end] if each]
    def reminders(self): return iter(["⏰ look after T00004"] * 2)
def told(*texts, notes=()):
    talks = s.Talks(random.Random(1))
    talks.places["here"] = Here(*texts)
    kinds = ("say", "write", "write", "/remind", "/remind")
    talks.rounds["here"] = [
        s.Round((s.Said(f"T{at:05}", kind, "here"),), 2 * at, 1) for at, kind in enumerate(kinds)
    ]
    count, done = s.check_talks(talks)
    wrong = {**count.wrong, **s.check_facts(talks, done, notes).wrong}
    lost, twice = s.missing_reminders(talks, done)
    print(sorted(what for what, each in wrong.items() if each), lost, twice)
right = ("", "T00000 is done.", "", "T00001 is done.", "", "*builtin/notebook*", "", "Set.", "", "Set.")
noted = ("- Parcel T00001 is on the shelf.", "- Parcel T00002 is on the shelf.")
"""


def test_what_is_lost_doubled_or_out_of_order_is_told() -> None:
    code = """
told(*right, notes=noted)
told(*right, notes=noted[:1])
told(*right, notes=(*noted, noted[0], "- Parcel T00009 is on the shelf."))
told(*right[:3], "", *right[4:], notes=noted)
told("", "T00001 is done.", "", "T00000 is done.", *right[4:], notes=noted)
told("T00000 is done.", *right[1:], notes=noted)
told(*right[:9], "- T00001 is done.", notes=noted)
"""
    reminders = "['T00003'] ['T00004']"
    assert run(TALKS + code).splitlines() == [
        f"[] {reminders}",
        f"['facts lost'] {reminders}",
        f"['facts that nobody told', 'facts that stand twice'] {reminders}",
        f"['messages without an answer'] {reminders}",
        f"['answers out of order'] {reminders}",
        f"['answers that were given twice', 'places with more replies than messages'] {reminders}",
        f"[] {reminders}",  # what is quoted from the notes is nobody's answer
    ]


@LINUX
def test_a_process_is_counted_from_outside_and_from_within(tmp_path: Path) -> None:
    code = f"""
import asyncio, json, os, signal, socket
from pathlib import Path
from process_watch import held_by
from watched_bot import Looker
async def main():
    file = Path({str(tmp_path / "inside.json")!r})
    signal.signal(signal.SIGUSR1, Looker(file).ask)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    before = held_by(os.getpid(), {{port: "here"}})
    with socket.create_connection(("127.0.0.1", port)), Path({str(tmp_path / "note-17.md")!r}).open("w"):
        listener.accept()[0].close()
        after = held_by(os.getpid(), {{port: "here"}})
    print(after.files - before.files, after.peers - before.peers, after.forsaken, after.rss > 5)
    async def lane(): await asyncio.sleep(60)
    lanes = [asyncio.create_task(lane()) for _ in range(3)]
    os.kill(os.getpid(), signal.SIGUSR1)
    while not file.exists():
        await asyncio.sleep(0.001)
    told = json.loads(file.read_text())
    print(sorted(told["tasks"].items()), told["threads"], told["types"]["builtins.dict"] > 100)
asyncio.run(main())
"""
    outside, inside = run(code).splitlines()
    assert outside == "Counter({'note-#.md': 1}) Counter({'here': 1}) 1 True"
    assert inside == "[('main', 1), ('main.<locals>.lane', 3)] {'MainThread': 1} True"


@pytest.mark.thorough
@LINUX
def test_a_service_that_everybody_talks_to_while_models_fail_loses_and_leaves_nothing() -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "benchmarks" / "soak.py"),
            *("--turns=150", "--chats=30", "--notes=40", "--looks=2", "--quiet=1"),
        ],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert "all as promised" in done.stdout
