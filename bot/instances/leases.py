"""The leases of this process: one heartbeat for all of them.

Nobody but the heartbeat speaks to the server. What it has heard is put down in each `Lease`, which ends by the clock
where nothing more is heard. docs/architecture.md says why it is sound; its SQL is in `lease_table`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from bot.instances.chronicle import Chronicle
from bot.instances.instance import Instance, company_of, remember_company
from bot.instances.lease import Lease, LeaseState, Leave
from bot.instances.lease_table import LeaseRow, release, renew, take, want
from bot.instances.line import Line
from bot.instances.status import InstanceStatus
from bot.instances.taking import Watch
from bot.instances.times import LeaseTimes, awake
from bot.supervision import Supervisor
from memory.errors import MemoryFault
from memory.postgres.server import Server

if TYPE_CHECKING:
    from bot.instances.lease_table import Session

REST_SECONDS = 0.02
"""Between two rounds at least, whoever tells how much."""

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    """What the server has answered to one question, and when that was, by our clock."""

    begun: float
    ended: float
    rows: list[LeaseRow]


class Leases:
    """Holds, renews and takes leases while it is entered; an async context manager. Leaving gives up all of them.

    A lease ends `fence` seconds after the beginning of its last renewal. It is gone on with beyond that only where the
    server cannot be asked, and where it had told that nobody else waits for the lease.
    """

    def __init__(
        self,
        server: Server,
        *,
        instance: Instance,
        private: Path,
        times: LeaseTimes | None = None,
        clock: Callable[[], float] = awake,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`private`: the workspace's `.commonplace`, where it is remembered whether there are others."""
        self.instance = instance
        self.problem = ""
        """Why the server cannot be asked; "" while it can."""
        self._server = server
        self._private = private
        self._times = times or LeaseTimes()
        self._clock = clock
        self._supervisor = supervisor or Supervisor()
        self._watch = Watch(instance, self._times)
        self._chronicle = Chronicle(instance)
        self._leases: dict[str, Lease] = {}
        self._releasing: set[str] = set()
        """Given up, which the server may not know yet."""
        self._released = asyncio.Event()
        """Set, and replaced, when the server has been told."""
        self._wanted_at: dict[str, float] = {}
        """When it was last written down that we wait for them."""
        self._quiet: set[str] = set()
        """Ours, with nobody else waiting: the server is told that we may go on with them beyond the fence."""
        self._lasting: set[str] = set()
        """Of those, what we do go on with, since the server knows. Never is a lease among them that it takes for
        strict: others could take it. So it is out before anything else is told."""
        self._rows: Sequence[LeaseRow] = ()
        self._beat = 0
        self._company: bool | None = None
        self._line: Line | None = None
        self._wake = asyncio.Event()
        self._leaving = False
        self._heart: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._company = company_of(self._private)
        self._heart = self._supervisor.start("leases", self._run)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name, lease in list(self._leases.items()):
            self._forget(name, lease)
        self._leaving = True
        self._wake.set()
        assert self._heart
        done, _still = await asyncio.wait([self._heart], timeout=self._times.leaving)
        if not done:
            self._heart.cancel()
            await asyncio.wait([self._heart])
        line, self._line = self._line, None
        if line:
            line.close()
            await _ended(line, self._times.leaving)

    def want(self, name: str, *, leave: Leave | None = None) -> Lease:
        """Try to hold it from now on, until it is given up; the same `Lease` where it is wanted already.

        `leave` is asked before a lease is taken: where it says yes, the lease is left to somebody else this time.
        """
        found = self._leases.get(name)
        if found is None:
            found = self._leases[name] = Lease(
                name,
                holder_name=self.instance.name,
                give_up=self._give_up,
                leave=leave,
                clock=self._clock,
            )
            self._wake.set()
        return found

    def all(self) -> Sequence[LeaseState]:
        """Every lease as last seen, by name; asks nobody."""
        held = {name for name, lease in self._leases.items() if lease.is_held}
        seen = {row.name for row in self._rows}
        states = [
            LeaseState(row.name, row.holder_name, row.since, row.until, ours=False)
            if row.name not in held
            else LeaseState(row.name, self.instance.name, row.since, row.until, ours=True)
            for row in self._rows
        ]
        states += [LeaseState(name, self.instance.name, None, None, ours=True) for name in held - seen]
        return sorted(states, key=lambda state: state.name)

    def status(self) -> InstanceStatus:
        """How this instance stands to the others, as last seen; asks nobody."""
        return InstanceStatus(self.instance.name, self.problem, self.all())

    async def _give_up(self, lease: Lease) -> None:
        if self._leases.get(lease.name) is not lease:
            return
        self._forget(lease.name, lease)
        released = self._released
        self._wake.set()
        if self._heart and not self._heart.done():
            try:
                await asyncio.wait_for(released.wait(), self._times.leaving)
            except TimeoutError:
                log.info("%s: the others will see by its end that it was given up", lease.name)

    def _forget(self, name: str, lease: Lease) -> None:
        """Hold it no longer, and want it no longer; what the server has to know is done in the next round."""
        lease.drop()
        del self._leases[name]
        self._let_go_of(name)
        self._releasing.add(name)

    def _let_go_of(self, name: str) -> None:
        self._quiet.discard(name)
        self._lasting.discard(name)
        self._wanted_at.pop(name, None)

    # -- the heartbeat --------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            leaving = self._leaving
            begun = self._clock()
            try:
                answered = await self._round(leaving=leaving)
            except MemoryFault as error:
                self._miss(begun, str(error))
            except Exception as error:
                log.exception("leases could not be renewed; the next try follows")
                self._miss(begun, f"a fault of the program ({type(error).__name__}), see the log")
            else:
                if answered:
                    self._note("")
            self._tell_released()
            if leaving:
                return
            await asyncio.sleep(REST_SECONDS)
            await self._pause(begun)

    async def _pause(self, begun: float) -> None:
        waits = self.problem or any(not lease.is_held for lease in self._leases.values())
        due = begun + (self._times.look if waits else self._times.beat)
        try:
            await asyncio.wait_for(self._wake.wait(), max(0.0, due - self._clock()))
        except TimeoutError:
            return

    async def _round(self, *, leaving: bool) -> bool:
        """Tell the server what we have given up, renew what is ours, see what there is, and take what is free.

        Whether there was anything to ask it for.
        """
        if leaving and not (self._releasing and self._line):
            return False
        for name in self._releasing & self._leases.keys():  # given up, and wanted again
            self._leases[name].drop()
            self._let_go_of(name)
        self._beat += 2  # one for what is released, and one for what is renewed
        releasing, unwritten, alone = frozenset(self._releasing), self._unwritten(), frozenset(self._quiet)
        ask = partial(
            self._ask_all,
            beat=self._beat,
            releasing=releasing,
            names=frozenset(self._leases),
            unwritten=unwritten,
            alone=alone,
        )
        told = await self._ask(ask)
        self._releasing -= releasing
        self._wanted_at |= dict.fromkeys(unwritten, told.begun)
        if leaving:
            return True
        candidates = self._take_in(told, alone)
        await self._see_company(told.rows)
        if candidates:
            await self._take(candidates)
        return True

    def _ask_all(
        self,
        session: "Session",
        *,
        beat: int,
        releasing: frozenset[str],
        names: frozenset[str],
        unwritten: list[str],
        alone: frozenset[str],
    ) -> _Told:
        """In the thread."""
        if releasing:
            release(session, self.instance, releasing, beat=beat - 1)
        if unwritten:
            want(session, self.instance, unwritten, seconds=self._times.want)
        begun = self._clock()
        rows = renew(session, self.instance, names, beat=beat, alone=alone, seconds=self._times.life)
        return _Told(begun, self._clock(), rows)

    def _unwritten(self) -> list[str]:
        """What we wait for, and what the server does not know of, or would forget soon."""
        now = self._clock()
        return [
            name
            for name, lease in self._leases.items()
            if now - self._wanted_at.get(name, float("-inf")) > self._times.want / 3
            and (not lease.is_held or not lease.was_seen)
        ]

    def _take_in(self, told: _Told, alone: frozenset[str]) -> list[LeaseRow]:
        """Put down what was told; give what could be taken."""
        free = self._watch.look(told.rows, begun=told.begun, ended=told.ended)
        self._rows = told.rows
        self._chronicle.look(told.rows, free=free)
        candidates = []
        for row in told.rows:
            lease = self._leases.get(row.name)
            if row.name in self._releasing:  # given up while we asked
                continue
            if lease is None:
                if row.holder == self.instance.id:  # taken by what we asked long ago, and had given up on
                    self._releasing.add(row.name)
                    self._wake.set()
                continue
            lease.see(row, free=row.name in free)
            if row.renewed:
                self._keep(lease, row, until=told.begun + self._times.fence, alone=row.name in alone)
            elif row.name in free and not self._is_left(lease):
                candidates.append(row)
            else:
                self._lose(lease)
        for name in self._leases.keys() - {row.name for row in told.rows}:
            if self._leases[name].was_seen:  # the table was emptied, or is another's
                self._lose(self._leases[name])
                self._wake.set()
        return candidates

    def _keep(self, lease: Lease, row: LeaseRow, *, until: float, alone: bool) -> None:
        lease.hold(until=until, token=row.token)
        if row.wanted:
            if row.name in self._quiet:
                self._wake.set()  # the sooner the others know that we know, the sooner they may rely on the fence
            self._quiet.discard(row.name)
            self._lasting.discard(row.name)
            return
        if alone:
            self._lasting.add(row.name)
        elif row.name not in self._quiet:
            self._quiet.add(row.name)
            self._wake.set()

    def _is_left(self, lease: Lease) -> bool:
        if lease.leave is None:
            return False
        try:
            return lease.leave(lease)
        except Exception:
            log.exception("nobody knows whether to leave %s to somebody else; it is taken", lease.name)
            return False

    async def _take(self, candidates: list[LeaseRow]) -> None:
        for row in candidates:  # the server takes it for strict from here on
            self._let_go_of(row.name)
        wanted = {row.name: self._leases[row.name] for row in candidates}
        self._beat += 1
        beat = self._beat

        def ask(session: "Session") -> tuple[float, dict[str, int]]:
            begun = self._clock()
            return begun, take(session, self.instance, candidates, beat=beat, seconds=self._times.life)

        begun, taken = await self._ask(ask)
        for name, lease in wanted.items():
            if self._leases.get(name) is not lease or name in self._releasing:
                continue
            if name in taken:
                lease.hold(until=begun + self._times.fence, token=taken[name])
            else:
                self._lose(lease)
        if taken:
            self._wake.set()  # to see, and to have seen, whether anybody waits

    def _lose(self, lease: Lease) -> None:
        self._quiet.discard(lease.name)
        self._lasting.discard(lease.name)
        lease.drop()

    def _miss(self, begun: float, problem: str) -> None:
        """The server was not asked with success: go on with what nobody else waits for."""
        self._note(problem)
        self._watch.lose_touch()
        self._chronicle.lose_touch()
        self._wanted_at.clear()
        for name, lease in self._leases.items():
            if name in self._releasing:
                continue
            if not lease.was_seen and self._company is False:  # at a start, as if it had been ours before
                self._lasting.add(name)
            if name in self._lasting:
                lease.hold(until=begun + self._times.fence)

    def _note(self, problem: str) -> None:
        if problem and not self.problem:
            log.warning("leases: %s", problem)
        elif self.problem and not problem:
            log.info("leases: the server answers again")
        self.problem = problem

    def _tell_released(self) -> None:
        if not self._releasing or self.problem:
            self._released.set()
            self._released = asyncio.Event()

    async def _see_company(self, rows: Sequence[LeaseRow]) -> None:
        """Remember whether there are others, for a start without the server."""
        company = bool(self._company) or any(row.company for row in rows)
        if company == self._company:
            return
        self._company = company
        try:
            await asyncio.to_thread(remember_company, self._private, company)
        except OSError as error:
            log.warning("it cannot be remembered in %s whether there are others: %s", self._private, error)

    async def _ask(self, work: "Callable[[Session], Answer]") -> Answer:
        """Ask over the line that there is, or over a new one."""
        seconds = self._times.answer
        if self._line is None or not self._line.is_open:
            seconds = self._times.opening
            self._line = Line(self._server, on_news=self._wake.set)
        try:
            return await self._line.ask(work, seconds=seconds)
        except BaseException:
            self._line.cut()
            self._line = None
            raise


async def _ended(line: Line, seconds: float) -> None:
    try:
        await asyncio.wait_for(line.ended.wait(), seconds)
    except TimeoutError:
        log.info("the connection for leases does not end; it is left")
