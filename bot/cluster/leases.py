"""The leases of this process, kept by one heartbeat.

Only the heartbeat talks to the server, through `LeaseClient`. It writes what it learns into each `Lease`, which ends
by the clock if nothing more is heard. docs/architecture.md explains why this is safe; `lease_table` has the SQL.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from bot.cluster.expiry import ExpiryWatch
from bot.cluster.instance import Instance, known_peers, remember_peers
from bot.cluster.lease import Lease, LeaseState, LeaveToOthers
from bot.cluster.lease_client import LeaseClient, RoundAnswer
from bot.cluster.lease_events import LeaseEvents
from bot.cluster.lease_table import LeaseRow
from bot.cluster.status import InstanceStatus
from bot.cluster.times import LeaseTimes, boot_time
from bot.cluster.uncontested import UncontestedLeases
from bot.supervisor import Supervisor
from memory.errors import MemoryFault
from memory.postgres.server import Server

REST_SECONDS = 0.02
"""Minimum seconds between two rounds, however many changes are announced."""

log = logging.getLogger(__name__)


class Leases:
    """Holds, renews and takes leases while entered; an async context manager. Leaving gives all of them up.

    A lease ends `fence` seconds after the start of its last renewal. It is kept longer only if the server cannot be
    reached and last reported that nobody else waits for the lease.
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
        """`private`: the workspace's `.commonplace`, where known peers are recorded."""
        self.instance = instance
        self.problem = ""
        """Why the server cannot be reached; "" while it can."""
        self._private = private
        self._times = times or LeaseTimes()
        self._clock = clock
        self._supervisor = supervisor or Supervisor()
        self._watch = ExpiryWatch(instance, self._times)
        self._events = LeaseEvents(instance)
        self._leases: dict[str, Lease] = {}
        self._releasing: set[str] = set()
        """Given up here; the server may not know yet."""
        self._released = asyncio.Event()
        """Set and replaced when the server has been told."""
        self._wanted_at: dict[str, float] = {}
        """When each wait was last recorded on the server."""
        self._uncontested = UncontestedLeases()
        self._rows: Sequence[LeaseRow] = ()
        self._has_peers: bool | None = None
        self._wake = asyncio.Event()
        self._client = LeaseClient(
            server, instance=instance, times=self._times, clock=clock, on_news=self._wake.set
        )
        self._leaving = False
        self._heartbeat: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._has_peers = known_peers(self._private)
        self._heartbeat = self._supervisor.start("leases", self._run)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name, lease in list(self._leases.items()):
            self._drop(name, lease)
        self._leaving = True
        self._wake.set()
        assert self._heartbeat
        done, _still = await asyncio.wait([self._heartbeat], timeout=self._times.leaving)
        if not done:
            self._heartbeat.cancel()
            await asyncio.wait([self._heartbeat])
        await self._client.close()

    def want(self, name: str, *, leave: LeaveToOthers | None = None) -> Lease:
        """Try to hold a lease until it is given up; return the existing `Lease` if it is already wanted.

        `leave` is asked before each take; if it returns true, the lease is left to another process this time.
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
        """Return every lease as last seen, by name; no I/O."""
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
        """Return the status of this instance among the others, as last seen; no I/O."""
        return InstanceStatus(self.instance.name, self.problem, self.snapshot())

    async def _release_lease(self, lease: Lease) -> None:
        if self._leases.get(lease.name) is not lease:
            return
        self._drop(lease.name, lease)
        released = self._released
        self._wake.set()
        if self._heartbeat and not self._heartbeat.done():
            try:
                await asyncio.wait_for(released.wait(), self._times.leaving)
            except TimeoutError:
                log.info(
                    "%s: the server was not told of the release; others must wait for it to expire",
                    lease.name,
                )

    def _drop(self, name: str, lease: Lease) -> None:
        """Stop holding and wanting it; the next round tells the server."""
        lease.drop()
        del self._leases[name]
        self._release(name)
        self._releasing.add(name)

    def _release(self, name: str) -> None:
        self._uncontested.discard(name)
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
                log.exception("could not renew leases; trying again")
                self._handle_failure(begun, f"a bug ({type(error).__name__}), see the log")
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
        """Release, renew, read and take leases in one round; return whether the server was queried."""
        if leaving and not (self._releasing and self._client.has_connection):
            return False
        for name in self._releasing & self._leases.keys():  # given up and wanted again
            self._leases[name].drop()
            self._release(name)
        releasing, unwritten = frozenset(self._releasing), self._names_to_write()
        alone = self._uncontested.offered
        told = await self._client.run_round(
            releasing=releasing, unwritten=unwritten, names=frozenset(self._leases), alone=alone
        )
        self._releasing -= releasing
        self._wanted_at |= dict.fromkeys(unwritten, told.begun)
        if leaving:
            return True
        candidates = self._update(told, alone)
        await self._update_peers(told.rows)
        if candidates:
            await self._take_leases(candidates)
        return True

    def _names_to_write(self) -> list[str]:
        """Return the leases we wait for that the server does not know about or would forget soon."""
        now = self._clock()
        return [
            name
            for name, lease in self._leases.items()
            if now - self._wanted_at.get(name, float("-inf")) > self._times.want / 3
            and (not lease.is_held or not lease.is_known)
        ]

    def _update(self, answer: RoundAnswer, alone: frozenset[str]) -> list[LeaseRow]:
        """Record the answer; return the rows that could be taken."""
        free = self._watch.find_expired(answer.rows, begun=answer.begun, ended=answer.ended)
        self._rows = answer.rows
        self._events.log_changes(answer.rows, free=free)
        candidates = []
        for row in answer.rows:
            lease = self._leases.get(row.name)
            if row.name in self._releasing:  # given up while the query ran
                continue
            if lease is None:
                if row.holder == self.instance.id:  # taken by a late query that we had given up on
                    self._releasing.add(row.name)
                    self._wake.set()
                continue
            lease.update(row, free=row.name in free)
            if row.renewed:
                lease.hold_until(until=answer.begun + self._times.fence, token=row.token)
                if self._uncontested.record_renewal(row.name, wanted=row.wanted, offered=row.name in alone):
                    self._wake.set()
            elif row.name in free and not self._is_left_to_others(lease):
                candidates.append(row)
            else:
                self._drop_lease(lease)
        for name in self._leases.keys() - {row.name for row in answer.rows}:
            if self._leases[name].is_known:  # the table was emptied or belongs to another server
                self._drop_lease(self._leases[name])
                self._wake.set()
        return candidates

    def _is_left_to_others(self, lease: Lease) -> bool:
        if lease.leave is None:
            return False
        try:
            return lease.leave(lease)
        except Exception:
            log.exception("could not decide whether to leave %s to another process; taking it", lease.name)
            return False

    async def _take_leases(self, candidates: list[LeaseRow]) -> None:
        for row in candidates:  # the server has it as strict from here on
            self._release(row.name)
        wanted = {row.name: self._leases[row.name] for row in candidates}
        answer = await self._client.take(candidates)
        for name, lease in wanted.items():
            if self._leases.get(name) is not lease or name in self._releasing:
                continue
            if name in answer.tokens:
                lease.hold_until(until=answer.begun + self._times.fence, token=answer.tokens[name])
            else:
                self._drop_lease(lease)
        if answer.tokens:
            self._wake.set()  # to learn whether anybody waits

    def _drop_lease(self, lease: Lease) -> None:
        self._uncontested.discard(lease.name)
        lease.drop()

    def _handle_failure(self, begun: float, problem: str) -> None:
        """Keep the leases that nobody else waits for after a failed query."""
        self._set_problem(problem)
        self._watch.mark_unreachable()
        self._events.mark_unreachable()
        self._wanted_at.clear()
        for name, lease in self._leases.items():
            if name in self._releasing:
                continue
            if not lease.is_known and self._has_peers is False:  # at startup, as if it had been ours before
                self._uncontested.keep_at_start(name)
            if name in self._uncontested.kept:
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
        """Store whether there are other instances, for a start without the server."""
        company = bool(self._has_peers) or any(row.company for row in rows)
        if company == self._has_peers:
            return
        self._has_peers = company
        try:
            await asyncio.to_thread(remember_peers, self._private, company)
        except OSError as error:
            log.warning("could not record in %s whether there are other instances: %s", self._private, error)
