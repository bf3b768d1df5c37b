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

from bot.cluster.expiry import ExpiryWatch
from bot.cluster.instance import Instance, known_peers, remember_peers
from bot.cluster.lease import Lease, LeaseState, LeaveToOthers
from bot.cluster.lease_connection import LeaseConnection
from bot.cluster.lease_events import LeaseEvents
from bot.cluster.lease_table import LeaseRow, release, renew, take, want
from bot.cluster.status import InstanceStatus
from bot.cluster.times import LeaseTimes, boot_time
from bot.supervisor import Supervisor
from memory.errors import MemoryFault
from memory.postgres.server import Server

if TYPE_CHECKING:
    from bot.cluster.lease_table import Session

REST_SECONDS = 0.02
"""Between two rounds at least, whoever tells how much."""

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _ServerAnswer:
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
        clock: Callable[[], float] = boot_time,
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
        self._watch = ExpiryWatch(instance, self._times)
        self._chronicle = LeaseEvents(instance)
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
        self._line: LeaseConnection | None = None
        self._wake = asyncio.Event()
        self._leaving = False
        self._heart: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._company = known_peers(self._private)
        self._heart = self._supervisor.start("leases", self._run)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name, lease in list(self._leases.items()):
            self._drop(name, lease)
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
            await _wait_for_end(line, self._times.leaving)

    def want(self, name: str, *, leave: LeaveToOthers | None = None) -> Lease:
        """Try to hold it from now on, until it is given up; the same `Lease` where it is wanted already.

        `leave` is asked before a lease is taken: where it says yes, the lease is left to somebody else this time.
        """
        found = self._leases.get(name)
        if found is None:
            found = self._leases[name] = Lease(
                name,
                holder_name=self.instance.name,
                give_up=self._release_lease,
                leave=leave,
                clock=self._clock,
            )
            self._wake.set()
        return found

    def snapshot(self) -> Sequence[LeaseState]:
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
        return InstanceStatus(self.instance.name, self.problem, self.snapshot())

    async def _release_lease(self, lease: Lease) -> None:
        if self._leases.get(lease.name) is not lease:
            return
        self._drop(lease.name, lease)
        released = self._released
        self._wake.set()
        if self._heart and not self._heart.done():
            try:
                await asyncio.wait_for(released.wait(), self._times.leaving)
            except TimeoutError:
                log.info("%s: the others will see by its end that it was given up", lease.name)

    def _drop(self, name: str, lease: Lease) -> None:
        """Hold it no longer, and want it no longer; what the server has to know is done in the next round."""
        lease.drop()
        del self._leases[name]
        self._release(name)
        self._releasing.add(name)

    def _release(self, name: str) -> None:
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
                answered = await self._run_round(leaving=leaving)
            except MemoryFault as error:
                self._handle_failure(begun, str(error))
            except Exception as error:
                log.exception("leases could not be renewed; the next try follows")
                self._handle_failure(begun, f"a fault of the program ({type(error).__name__}), see the log")
            else:
                if answered:
                    self._set_problem("")
            self._notify_released()
            if leaving:
                return
            await asyncio.sleep(REST_SECONDS)
            await self._sleep(begun)

    async def _sleep(self, begun: float) -> None:
        waits = self.problem or any(not lease.is_held for lease in self._leases.values())
        due = begun + (self._times.look if waits else self._times.beat)
        try:
            await asyncio.wait_for(self._wake.wait(), max(0.0, due - self._clock()))
        except TimeoutError:
            return

    async def _run_round(self, *, leaving: bool) -> bool:
        """Tell the server what we have given up, renew what is ours, see what there is, and take what is free.

        Whether there was anything to ask it for.
        """
        if leaving and not (self._releasing and self._line):
            return False
        for name in self._releasing & self._leases.keys():  # given up, and wanted again
            self._leases[name].drop()
            self._release(name)
        self._beat += 2  # one for what is released, and one for what is renewed
        releasing, unwritten, alone = (
            frozenset(self._releasing),
            self._names_to_write(),
            frozenset(self._quiet),
        )
        ask = partial(
            self._query_all,
            beat=self._beat,
            releasing=releasing,
            names=frozenset(self._leases),
            unwritten=unwritten,
            alone=alone,
        )
        told = await self._query(ask)
        self._releasing -= releasing
        self._wanted_at |= dict.fromkeys(unwritten, told.begun)
        if leaving:
            return True
        candidates = self._update(told, alone)
        await self._update_peers(told.rows)
        if candidates:
            await self._take_leases(candidates)
        return True

    def _query_all(
        self,
        session: "Session",
        *,
        beat: int,
        releasing: frozenset[str],
        names: frozenset[str],
        unwritten: list[str],
        alone: frozenset[str],
    ) -> _ServerAnswer:
        """In the thread."""
        if releasing:
            release(session, self.instance, releasing, beat=beat - 1)
        if unwritten:
            want(session, self.instance, unwritten, seconds=self._times.want)
        begun = self._clock()
        rows = renew(session, self.instance, names, beat=beat, alone=alone, seconds=self._times.life)
        return _ServerAnswer(begun, self._clock(), rows)

    def _names_to_write(self) -> list[str]:
        """What we wait for, and what the server does not know of, or would forget soon."""
        now = self._clock()
        return [
            name
            for name, lease in self._leases.items()
            if now - self._wanted_at.get(name, float("-inf")) > self._times.want / 3
            and (not lease.is_held or not lease.is_known)
        ]

    def _update(self, told: _ServerAnswer, alone: frozenset[str]) -> list[LeaseRow]:
        """Put down what was told; give what could be taken."""
        free = self._watch.find_expired(told.rows, begun=told.begun, ended=told.ended)
        self._rows = told.rows
        self._chronicle.log_changes(told.rows, free=free)
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
            lease.update(row, free=row.name in free)
            if row.renewed:
                self._extend(lease, row, until=told.begun + self._times.fence, alone=row.name in alone)
            elif row.name in free and not self._is_left_to_others(lease):
                candidates.append(row)
            else:
                self._drop_lease(lease)
        for name in self._leases.keys() - {row.name for row in told.rows}:
            if self._leases[name].is_known:  # the table was emptied, or is another's
                self._drop_lease(self._leases[name])
                self._wake.set()
        return candidates

    def _extend(self, lease: Lease, row: LeaseRow, *, until: float, alone: bool) -> None:
        lease.hold_until(until=until, token=row.token)
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

    def _is_left_to_others(self, lease: Lease) -> bool:
        if lease.leave is None:
            return False
        try:
            return lease.leave(lease)
        except Exception:
            log.exception("nobody knows whether to leave %s to somebody else; it is taken", lease.name)
            return False

    async def _take_leases(self, candidates: list[LeaseRow]) -> None:
        for row in candidates:  # the server takes it for strict from here on
            self._release(row.name)
        wanted = {row.name: self._leases[row.name] for row in candidates}
        self._beat += 1
        beat = self._beat

        def ask(session: "Session") -> tuple[float, dict[str, int]]:
            begun = self._clock()
            return begun, take(session, self.instance, candidates, beat=beat, seconds=self._times.life)

        begun, taken = await self._query(ask)
        for name, lease in wanted.items():
            if self._leases.get(name) is not lease or name in self._releasing:
                continue
            if name in taken:
                lease.hold_until(until=begun + self._times.fence, token=taken[name])
            else:
                self._drop_lease(lease)
        if taken:
            self._wake.set()  # to see, and to have seen, whether anybody waits

    def _drop_lease(self, lease: Lease) -> None:
        self._quiet.discard(lease.name)
        self._lasting.discard(lease.name)
        lease.drop()

    def _handle_failure(self, begun: float, problem: str) -> None:
        """The server was not asked with success: go on with what nobody else waits for."""
        self._set_problem(problem)
        self._watch.mark_unreachable()
        self._chronicle.mark_unreachable()
        self._wanted_at.clear()
        for name, lease in self._leases.items():
            if name in self._releasing:
                continue
            if not lease.is_known and self._company is False:  # at a start, as if it had been ours before
                self._lasting.add(name)
            if name in self._lasting:
                lease.hold_until(until=begun + self._times.fence)

    def _set_problem(self, problem: str) -> None:
        if problem and not self.problem:
            log.warning("leases: %s", problem)
        elif self.problem and not problem:
            log.info("leases: the server answers again")
        self.problem = problem

    def _notify_released(self) -> None:
        if not self._releasing or self.problem:
            self._released.set()
            self._released = asyncio.Event()

    async def _update_peers(self, rows: Sequence[LeaseRow]) -> None:
        """Remember whether there are others, for a start without the server."""
        company = bool(self._company) or any(row.company for row in rows)
        if company == self._company:
            return
        self._company = company
        try:
            await asyncio.to_thread(remember_peers, self._private, company)
        except OSError as error:
            log.warning("it cannot be remembered in %s whether there are others: %s", self._private, error)

    async def _query(self, work: "Callable[[Session], Answer]") -> Answer:
        """Ask over the line that there is, or over a new one."""
        seconds = self._times.answer
        if self._line is None or not self._line.is_open:
            seconds = self._times.opening
            self._line = LeaseConnection(self._server, on_news=self._wake.set)
        try:
            return await self._line.run(work, seconds=seconds)
        except BaseException:
            self._line.abort()
            self._line = None
            raise


async def _wait_for_end(line: LeaseConnection, seconds: float) -> None:
    try:
        await asyncio.wait_for(line.ended.wait(), seconds)
    except TimeoutError:
        log.info("the connection for leases does not end; it is left")
