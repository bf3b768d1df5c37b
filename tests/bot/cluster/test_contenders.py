"""Processes that want the same leases, and are killed, stopped and cut off: never do two hold one."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bot.cluster.times import LeaseTimes, boot_time
from tests.bot.cluster.relay import Relay
from tests.fakes.lease_history import Span, overlaps, read_spans
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs

ROOT = Path(__file__).parents[3]
SECONDS = 60
NAMES = ("channel:a", "channel:b", "job:c")

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not find_programs(), reason=NEEDS)]


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that may be killed."""
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()


class Contender:
    """One process; its folder is a workspace."""

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        names: tuple[str, ...] = NAMES,
        times: LeaseTimes,
        wild: bool = False,
    ) -> None:
        given = {
            "url": url,
            "folder": str(folder),
            "names": names,
            "times": {field: getattr(times, field) for field in LeaseTimes.__slots__},
            "wild": wild,
        }
        self.url = url
        self.file = folder / "held"
        self._errors = folder / "errors"
        folder.mkdir(exist_ok=True)
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.bot.cluster.contender", json.dumps(given)],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def send(self, what: signal.Signals) -> None:
        self.process.send_signal(what)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(10)

    def last_held(self, name: str) -> float:
        """When it held it last; 0 where it never did."""
        return max((span.to for span in read_spans(self.file) if span.name == name), default=0.0)

    def holds(self, name: str) -> bool:
        return boot_time() - self.last_held(name) < 0.25

    def first_held_after(self, name: str, moment: float) -> float:
        held = [
            max(span.begin, moment)
            for span in read_spans(self.file)
            if span.name == name and span.to > moment
        ]
        return min(held, default=0.0)


def wait_until(what: Callable[[], bool], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.02)


def test_overlaps_are_seen() -> None:
    one, other = Span("a", 1, "p", 1.0, 2.0), Span("a", 2, "q", 1.9, 3.0)
    assert overlaps([one, other, Span("b", 2, "q", 1.0, 3.0)]) == [(one, other)]
    assert overlaps([one, Span("a", 2, "q", 2.1, 3.0)]) == []


class Chaos:
    """What happens to some contenders and to their server, one thing after the other."""

    def __init__(self, own: PostgresServer, folder: Path, times: LeaseTimes, *, seed: int) -> None:
        self.done: dict[str, int] = defaultdict(int)
        self._own = own
        self._folder = folder
        self._times = times
        self._chance = random.Random(seed)
        self._running: list[Contender] = []
        self._relays: list[Relay] = []
        self._due: list[tuple[float, Callable[[], None]]] = []
        """What is to be undone, and when."""
        self._server_is_well_at = 0.0
        self._well_at: dict[int, float] = {}

    async def run(self, number: int, seconds: float, weights: dict[str, int]) -> list[Span]:
        """Start so many contenders, and give what they have held."""
        try:
            for n in range(number):
                self._relays.append(Relay(self._own.url()))
                url = await self._relays[n].open()
                self._running.append(self._contender(n, url))
            await asyncio.sleep(3)  # until all have said that they wait
            began = boot_time()
            while boot_time() - began < seconds:
                await asyncio.sleep(self._chance.uniform(0.1, self._times.life / 3))
                for each in [each for each in self._due if each[0] < boot_time()]:
                    self._due.remove(each)
                    each[1]()
                (what,) = self._chance.choices([*weights], [*weights.values()])
                whom = self._any_of_them()
                if whom is not None and getattr(self, f"_{what}")(whom):
                    self.done[what] += 1
        finally:
            for _, undo in sorted(self._due, key=lambda each: each[0]):
                undo()
            for contender in self._running:
                contender.kill()
            for relay in self._relays:
                await relay.close()
        return [span for file in self._folder.glob("*/held") for span in read_spans(file)]

    def _contender(self, n: int, url: str) -> Contender:
        return Contender(url, self._folder / f"instance{n}", times=self._times, wild=True)

    def _any_of_them(self) -> int | None:
        """Rather one who holds something; nobody while half of them have enough to do with what happened before."""
        well = [n for n in range(len(self._running)) if self._well_at.get(n, 0.0) < boot_time()]
        if len(well) <= len(self._running) // 2:
            return None
        holders = [n for n in well if any(map(self._running[n].holds, NAMES))]
        found: int = self._chance.choice([*well, *holders * 8])
        return found

    def _some_time(self) -> float:
        life, fence = self._times.life, self._times.fence
        return self._chance.choice(
            [0.3, self._chance.uniform(fence, life), self._chance.uniform(life, 2 * life), 2.5 * life]
        )

    def _trouble(self, n: int) -> float:
        seconds = self._some_time()
        self._well_at[n] = boot_time() + seconds + self._times.look
        return seconds

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        self._due.append((boot_time() + seconds, undo))

    def _kill(self, n: int) -> bool:
        self._running[n].kill()
        self._running[n] = self._contender(n, self._running[n].url)
        return True

    def _stop(self, n: int) -> bool:
        process = self._running[n].process
        process.send_signal(signal.SIGSTOP)
        self._later(self._trouble(n), partial(process.send_signal, signal.SIGCONT))
        return True

    def _cut(self, n: int) -> bool:
        relay = self._relays[n]
        relay.cut()
        self._later(self._trouble(n), partial(setattr, relay, "is_cut", False))
        return True

    def _clog(self, n: int) -> bool:
        relay = self._relays[n]
        relay.flows.clear()
        self._later(self._trouble(n), relay.flows.set)
        return True

    def _drop(self, n: int) -> bool:
        for relay in self._relays:
            relay.drop()
        return True

    def _halt(self, n: int) -> bool:
        return self._server_goes(self._own.halt, self._own.resume)

    def _restart(self, n: int) -> bool:
        return self._server_goes(self._own.kill, self._own.start)

    def _server_goes(self, do: Callable[[], None], undo: Callable[[], None]) -> bool:
        if boot_time() < self._server_is_well_at:
            return False
        away = self._some_time()
        self._server_is_well_at = boot_time() + away + 2 * self._times.life
        do()
        self._later(away, undo)
        return True


EACH_BY_ITSELF = {"kill": 2, "stop": 4, "cut": 3, "clog": 3, "drop": 1, "halt": 1, "restart": 1}
ALL_ALIKE = {"kill": 4, "stop": 4, "drop": 2, "halt": 1, "restart": 1}
BUSY = LeaseTimes(beat=0.4, look=0.3, life=3.0, fence=2.0, want=60, answer=0.5, opening=0.9)
"""None of them ever forgets that there are others: cut off, each ends at its fence."""
FORGETFUL = LeaseTimes(beat=1.2, look=0.8, life=7.5, fence=4.5, want=9, answer=1.2, opening=1.9)
"""Where all others are gone for long, the last one goes on without the server, and gives way when they come back."""


@pytest.mark.parametrize(("times", "weights"), [(BUSY, EACH_BY_ITSELF), (FORGETFUL, ALL_ALIKE)])
async def test_never_do_two_hold_one_whatever_happens(
    own: PostgresServer, tmp_path: Path, times: LeaseTimes, weights: dict[str, int]
) -> None:
    seed = int(os.environ.get("SEED", time.time()))
    chaos = Chaos(own, tmp_path, times, seed=seed)
    spans = await chaos.run(4, SECONDS, weights)
    holders: dict[tuple[str, int], set[str]] = defaultdict(set)
    for span in spans:
        holders[span.name, span.token].add(span.process)
    print(f"\nseed {seed}: {dict(chaos.done)}; leases had {len(holders)} holders one after the other")
    assert overlaps(spans) == []
    assert [key for key, each in holders.items() if len(each) > 1 and key[1]] == []
    assert len(holders) > 6
    for name in NAMES:
        tokens = [span.token for span in sorted(spans, key=lambda span: span.begin) if span.name == name]
        assert tokens == sorted(tokens), f"{name}: a token came back"


def test_a_holder_that_is_killed_is_followed_within_twenty_seconds(
    own: PostgresServer, tmp_path: Path
) -> None:
    """With the times as they are."""
    times = LeaseTimes()
    first = Contender(own.url(), tmp_path / "first", times=times)
    wait_until(lambda: first.holds("channel:a"), seconds=10)
    second = Contender(own.url(), tmp_path / "second", times=times)
    try:
        time.sleep(8)  # until the one knows of the other
        first.kill()
        killed = boot_time()
        wait_until(lambda: second.holds("channel:a"), seconds=25)
        took = second.first_held_after("channel:a", killed) - killed
        print(f"\nfollowed {took:.1f} s after SIGKILL")
        assert took <= 20
        assert first.last_held("channel:a") <= killed
    finally:
        first.kill()
        second.kill()


def test_a_holder_that_was_stopped_holds_nothing_when_it_goes_on(own: PostgresServer, tmp_path: Path) -> None:
    first = Contender(own.url(), tmp_path / "first", times=BUSY)
    wait_until(lambda: first.holds("channel:a"), seconds=10)
    second = Contender(own.url(), tmp_path / "second", times=BUSY)
    try:
        time.sleep(2)
        first.send(signal.SIGSTOP)
        stopped = boot_time()
        wait_until(lambda: second.holds("channel:a"), seconds=BUSY.life + 3)
        print(f"\nfollowed {second.first_held_after('channel:a', stopped) - stopped:.1f} s after SIGSTOP")
        time.sleep(20 - (boot_time() - stopped))
        first.send(signal.SIGCONT)
        time.sleep(2)
        assert first.last_held("channel:a") <= stopped + 0.05
        assert second.holds("channel:a")
    finally:
        first.kill()
        second.kill()
