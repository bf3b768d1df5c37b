"""Processes that write to one folder of notes and search it, and are killed meanwhile.

Each numbers its actions. After a restart it repeats the action that was interrupted, under the same key, so
in the end every line exists exactly once. All of them compete for one lease, which only one may hold.
"""

import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.fakes.memory_tasks import run_memory_tasks
from tests.origins import TOOL_CALL

if TYPE_CHECKING:
    from tests.fakes.lease_history import Disturbance, Span

ROOT = Path(__file__).parents[2]
NAMES = ("ada", "ben", "cyd")
CYCLE = 8
_DAYS = 3
_PATIENCE_SECONDS = 30.0
LEASE = "channel:everyone"
MAX_SECONDS_FREE = 30.0
"""Maximum seconds until another process holds the lease after its holder was killed, stopped or cut off."""
_LONG_PAUSE_SECONDS = (16.0, 20.0)
"""Long enough to lose the lease while others wait for a note that the holder may have locked."""
_LEAST = 5
"""Minimum number of actions of a process, usually, before it is disturbed again."""


def log_name(number: int) -> datetime:
    """Return a daily log's date: each process writes to several, forty times each before the next."""
    return datetime(2026, 11, 21 + number // (5 * CYCLE) % _DAYS, 9, tzinfo=UTC)


def token(name: str, number: int) -> str:
    return f"{name}{number:06}"


# -- one instance -------------------------------------------------------------------------------------------


class WriterInstance:
    """The process: a memory with its note writes, over a shared folder and a server."""

    def __init__(self, workspace: Path, name: str, url: str) -> None:
        from bot.cluster.instance import load_instance
        from bot.cluster.leases import Leases
        from bot.note_writes import OnceWriter
        from bot.state.database import State
        from memory.memory import Memory
        from memory.postgres.server import Server
        from memory.settings import MemorySettings

        self.name, self.number = name, 0
        self.server = Server(url, name=f"test {name}")
        self.state = State(workspace / ".commonplace" / "state.db")
        self.memory = Memory(
            MemorySettings(),
            workspace=workspace,
            now=lambda: log_name(self.number),
            server=self.server,
            instance=name,
            lasting=True,
        )
        self.journal = OnceWriter(self.memory, self.state)
        self.notes = workspace / "memory"
        private = workspace / ".commonplace"
        self.us = load_instance(private, name=name)
        self.lease_server = Server(url, name=f"test {name} leases")
        self.leases = Leases(self.lease_server, instance=self.us, private=private)
        self.held = workspace / "held"

    async def run(self, first: int) -> None:
        """Work from action `first` on until stdin is closed."""
        from tests.fakes.lease_recorder import start_recording

        ended = threading.Event()

        def wait() -> None:
            sys.stdin.read()
            ended.set()

        threading.Thread(target=wait, daemon=True).start()
        print("process", self.us.id, flush=True)
        async with self.state, self.memory, self.leases:
            start_recording({LEASE: self.leases.want(LEASE)}, self.us.id, self.held)
            upkeep = asyncio.create_task(run_memory_tasks(self.memory))
            for self.number in count(first):
                print("begun", self.number, flush=True)
                await self._do_until_done()
                if ended.is_set():  # not before the first, which finishes what a killed process began
                    break
            upkeep.cancel()
            await asyncio.wait([upkeep])
        self.lease_server.close()
        self.server.close()

    async def _do_until_done(self) -> None:
        from memory.errors import MemoryFault

        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                await self._do()
            except MemoryFault as fault:
                print("refused", self.number, fault, flush=True)
                if time.monotonic() > deadline:
                    print("failed", self.number, fault, flush=True)
                    return
                await asyncio.sleep(0.1)
            else:
                print("done", self.number, flush=True)
                return

    async def _do(self) -> None:
        number, own = self.number, token(self.name, self.number)
        match number % CYCLE:
            case 4:
                await self.journal.write(f"room {own} has a lamp", key=own, target="core", origin=TOOL_CALL)
            case 5:
                edited = token(self.name, number - 3)
                old, new = f"parcel {edited} is on the shelf", f"parcel {edited} was fetched"
                await self.journal.edit(
                    f"{log_name(number):%Y-%m-%d}.md", old, new, key=own, origin=TOOL_CALL
                )
            case 6:
                if number >= CYCLE:
                    await self._look_for(token(self.name, number - 6), "own")
            case 7:
                if other := await asyncio.to_thread(self._line_of_another):
                    await self._look_for(other, "other")
            case _:
                await self.journal.write(f"parcel {own} is on the shelf", key=own, origin=TOOL_CALL)

    async def _look_for(self, wanted: str, whose: str) -> None:
        began = time.monotonic()
        tries = 0
        while time.monotonic() - began < 2 * _PATIENCE_SECONDS:
            tries += 1
            results = await self.memory.search(wanted)
            if any(wanted in hit.snippet for hit in results.hits):
                print("found", whose, tries, f"{time.monotonic() - began:.3f}", flush=True)
                return
            await asyncio.sleep(0.2)
        print("missed", whose, wanted, flush=True)

    def _line_of_another(self) -> str:
        """Return the last line in today's log that another process wrote."""
        text = (self.notes / f"{log_name(self.number):%Y-%m-%d}.md").read_text("utf-8")
        others = re.findall(rf"(?m)^- .*\b((?!{self.name})[a-z]{{3}}\d{{6}})\b.*$", text)
        return str(others[-1]) if others else ""


# -- all of them --------------------------------------------------------------------------------------------


@dataclass
class WritersOutcome:
    """What the processes did, and any violations."""

    lines: int = 0
    edits: int = 0
    searches: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    """Maximum seconds until a search found a note that was written."""
    again: int = 0
    """How often a search did not find it at first."""
    refused: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    cuts: int = 0
    pauses: int = 0
    holders: int = 0
    """Number of successive lease holders."""
    take_overs: list[float] = field(default_factory=list)
    """Seconds from the end of each killed or stopped holder to the next holder."""
    longest_free: float = 0.0
    """Maximum seconds without a holder, for any reason."""
    problems: list[str] = field(default_factory=list)

    def told(self) -> str:
        refused = ", ".join(f"{times} × {why}" for why, times in self.refused.most_common()) or "none"
        took = (
            f"{len(self.take_overs)} take-overs from who was killed or paused, median {median(self.take_overs):.1f} s, "
            f"longest {max(self.take_overs):.1f} s (wanted: {MAX_SECONDS_FREE:.0f})"
            if self.take_overs
            else "no take-over"
        )
        return (
            f"{self.lines} lines and {self.edits} edits; {self.kills} kills, {self.cuts} times all connections cut, "
            f"{self.pauses} pauses; {self.searches['own']} searches for one's own lines and {self.searches['other']} "
            f"for others', {self.again} of them in vain at first, at most for {self.slowest:.1f} s; refused for a "
            f"while: {refused}; the lease had {self.holders} holders one after the other, {took}, free for "
            f"{self.longest_free:.1f} s at most; wrong: {'; '.join(self.problems[:5]) or 'nothing'}"
        )


class Writers:
    """Runs the processes and disturbs them."""

    def __init__(self, base: Path, url: str, *, seed: int = 1) -> None:
        """`base` holds the notes and a workspace per process; one workspace is on another disk if there is one."""
        self.folder = base / "notes"
        self.folder.mkdir()
        self.url = url
        self.outcome = WritersOutcome()
        self._random = random.Random(seed)
        self._begun: dict[str, int] = {}
        self._done: dict[str, set[int]] = {name: set() for name in NAMES}
        self._since_start = Counter[str]()
        self._ids: dict[str, str] = {}
        self._troubles: list[Disturbance] = []
        self._are_long = False
        self._was_holder_killed = False
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._readers: dict[str, threading.Thread] = {}
        self._elsewhere = _other_disk(base)
        self._workspaces: dict[str, Path] = {}
        for name in NAMES:
            home = self._elsewhere if self._elsewhere and name == NAMES[-1] else base
            self._workspaces[name] = home / name
            (home / name / ".commonplace").mkdir(parents=True)
            (home / name / "memory").symlink_to(self.folder)

    def run(self, seconds: float) -> WritersOutcome:
        """Run for `seconds` and check the results."""
        try:
            for name in NAMES:
                self._start(name)
            deadline = time.monotonic() + seconds
            self._are_long = seconds >= 60
            while time.monotonic() < deadline:
                time.sleep(self._random.uniform(0.3, 1.5))
                self._trouble(self._random.choice(NAMES))
            holder = self._wait_for_holder()
            if holder and not self._was_holder_killed:
                self._kill(holder)
                self._wait_for_holder()
            self._last_kill = time.time()
            for name in NAMES:
                self._end(name)
            self._look_at_notes()
            self._look_at_lease()
        finally:
            for process in self._processes.values():
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
                self._forget(process)
            for reader in self._readers.values():
                reader.join()
            if self._elsewhere:
                shutil.rmtree(self._elsewhere, ignore_errors=True)
        self._look_at_claims()
        return self.outcome

    def _start(self, name: str) -> None:
        last = self._begun.get(name, -1)
        self._since_start[name] = 0
        self._ids.pop(name, None)
        first = last + 1 if last in self._done[name] else max(last, 0)
        process = self._processes[name] = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.many_writers", str(self._workspaces[name]), name, self.url, str(first)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self._readers[name] = threading.Thread(target=self._read, args=(name, process))
        self._readers[name].start()

    def _read(self, name: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout
        outcome = self.outcome
        for line in process.stdout:
            match line.removesuffix("\n").split(" ", 3):
                case ["process", own]:
                    self._ids[name] = own
                case ["begun", number]:
                    self._begun[name] = int(number)
                case ["done", number]:
                    self._done[name].add(int(number))
                    self._since_start[name] += 1
                case ["found", whose, tries, seconds]:
                    outcome.searches[whose] += 1
                    outcome.again += int(tries) > 1
                    outcome.slowest = max(outcome.slowest, float(seconds))
                case ["refused", _, *why]:
                    outcome.refused[_error_kind(" ".join(why))] += 1
                case ["failed" | "missed", *_]:
                    outcome.problems.append(f"{name}: {line.strip()}")

        process.stdout.close()

    def _trouble(self, name: str) -> None:
        process = self._processes[name]
        if process.poll() is not None:
            self.outcome.problems.append(f"{name} ended by itself with {process.returncode}")
            self._readers[name].join()
            self._forget(process)
            self._start(name)
            return
        if self._since_start[name] < _LEAST and self._random.random() < 0.8:
            return  # on a busy machine none of them would make progress
        chance = self._random.random()
        if chance < 0.15:
            import psycopg

            self.outcome.cuts += 1
            with psycopg.connect(self.url, autocommit=True) as db:
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        elif chance < 0.3:
            self.outcome.pauses += 1
            is_long = self._are_long and name == self._holder()
            process.send_signal(signal.SIGSTOP)
            self._note_trouble(name)
            time.sleep(self._random.uniform(*_LONG_PAUSE_SECONDS if is_long else (0.2, 2)))
            process.send_signal(signal.SIGCONT)
        else:
            self._kill(name)

    def _kill(self, name: str) -> None:
        process = self._processes[name]
        self._was_holder_killed |= name == self._holder()
        self.outcome.kills += 1
        process.kill()
        self._note_trouble(name)
        process.wait()
        self._readers[name].join()
        self._forget(process)
        self._start(name)

    def _note_trouble(self, name: str) -> None:
        from bot.cluster.times import boot_time
        from tests.fakes.lease_history import Disturbance

        if name in self._ids:
            self._troubles.append(Disturbance(self._ids[name], boot_time()))

    def _spans(self, name: str) -> "list[Span]":
        from tests.fakes.lease_history import read_spans

        return read_spans(self._workspaces[name] / "held")

    def _holder(self) -> str:
        """Name of the current lease holder; "" if there is none."""
        from bot.cluster.times import boot_time

        for name in NAMES:
            last = self._spans(name)[-1:]
            # Ignore a dead process: its records stay.
            if last and last[0].process == self._ids.get(name) and boot_time() - last[0].to < 0.25:
                return name
        return ""

    def _wait_for_holder(self) -> str:
        """Return the lease holder once one exists after the last disturbance; "" if none does."""
        deadline = time.monotonic() + MAX_SECONDS_FREE
        while not (name := self._holder()):
            if time.monotonic() > deadline:
                self.outcome.problems.append(f"nobody took the lease within {MAX_SECONDS_FREE:.0f} s")
                break
            time.sleep(0.1)
        return name

    def _forget(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.close()

    def _end(self, name: str) -> None:
        process = self._processes[name]
        assert process.stdin
        process.stdin.close()
        try:
            code = process.wait(3 * _PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        if code:
            self.outcome.problems.append(f"{name} ended with {code}")
        elif code is None:
            self.outcome.problems.append(f"{name} did not end")
            process.kill()
        self._readers[name].join()

    def _look_at_notes(self) -> None:
        """Check that every line exists once, every edit is done, nothing is torn, and no temporary files are left."""
        outcome, lines = self.outcome, Counter[str]()
        for note in self.folder.glob("*.md"):
            for line in note.read_text("utf-8").splitlines():
                if match := re.fullmatch(
                    r"- (?:\d\d:\d\d )?((?:parcel|room) \w+ (?:is on the shelf|was fetched|has a lamp))", line
                ):
                    lines[match[1]] += 1
                elif line and not line.startswith("# "):
                    outcome.problems.append(f"torn: {line!r} in {note.name}")
        wanted = Counter[str]()
        for name in NAMES:
            done = self._done[name]
            if missing := set(range(self._begun.get(name, -1) + 1)) - done:
                outcome.problems.append(f"{name} never finished {sorted(missing)[:5]}")
            for number in done:
                match number % CYCLE:
                    case 4:
                        wanted[f"room {token(name, number)} has a lamp"] = 1
                    case 5 | 6 | 7:
                        outcome.edits += number % CYCLE == 5
                    case 2 if number + 3 in done:
                        wanted[f"parcel {token(name, number)} was fetched"] = 1
                    case _:
                        wanted[f"parcel {token(name, number)} is on the shelf"] = 1
        outcome.lines = len(wanted)
        outcome.problems += [f"not there: {line}" for line in (wanted - lines)]
        outcome.problems += [f"{times} too often: {line}" for line, times in (lines - wanted).items()]
        left = [path.name for path in self.folder.rglob("*") if path.name.startswith(".")]
        outcome.problems += [f"left behind: {name}" for name in left]

    def _look_at_lease(self) -> None:
        """Check that two never held the lease, and that it was soon taken over."""
        from tests.fakes.lease_history import find_faults, group_epochs, longest_free, take_overs

        spans = [span for name in NAMES for span in self._spans(name)]
        tenures, outcome = group_epochs(spans), self.outcome
        outcome.holders = len(tenures)
        outcome.take_overs = take_overs(tenures, self._troubles)
        outcome.longest_free = longest_free(spans)
        outcome.problems += find_faults(tenures)
        if outcome.longest_free > MAX_SECONDS_FREE:
            outcome.problems.append(f"nobody held the lease for {outcome.longest_free:.1f} s")

    def _look_at_claims(self) -> None:
        """Check that orderly exits left no claims; those of killed processes expire within a minute."""
        import psycopg

        from memory.index.protocol import CLAIM_SECONDS

        with psycopg.connect(self.url, autocommit=True) as db:
            after = self._last_kill + CLAIM_SECONDS + 1
            rows = db.execute(
                "SELECT path FROM commonplace.claims WHERE until > to_timestamp(%s)", (after,)
            ).fetchall()
            self.outcome.problems += [f"still claimed: {path}" for (path,) in rows]
            # Pretend that this time has passed.
            db.execute(
                "UPDATE commonplace.claims SET until = until - make_interval(secs => %s)", (CLAIM_SECONDS,)
            )


def _error_kind(why: str) -> str:
    """Return an error's kind without names and addresses."""
    return re.sub(r"^\S+\.md|postgresql://\S+|\(.*\)", "…", why)[:100]


def _other_disk(base: Path) -> Path | None:
    """Return a folder from which renaming into `base` fails, on another disk; None if there is none."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and memory.stat().st_dev != base.stat().st_dev:
        return Path(tempfile.mkdtemp(prefix="writers-", dir=memory))
    return None


async def _run(at: str, who: str, where: str, start: str) -> None:
    await WriterInstance(Path(at), who, where).run(int(start))


if __name__ == "__main__":
    asyncio.run(_run(*sys.argv[1:]))
