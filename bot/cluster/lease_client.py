"""Asks the server about leases: whole rounds of statements, on a connection that is opened again after an error."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bot.cluster.instance import Instance
from bot.cluster.lease_connection import LeaseConnection
from bot.cluster.lease_table import LeaseRow, release, renew, take, want
from bot.cluster.times import LeaseTimes
from memory.postgres.server import Server

if TYPE_CHECKING:
    from bot.cluster.lease_table import Session

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoundAnswer:
    """All leases after a round, and our clock before and after the renewal."""

    begun: float
    ended: float
    rows: list[LeaseRow]


@dataclass(frozen=True, slots=True)
class TakeAnswer:
    """The tokens of the leases taken, by name, and our clock before."""

    begun: float
    tokens: dict[str, int]


class LeaseClient:
    """Numbers the statements of one instance and sends them; for one caller at a time."""

    def __init__(
        self,
        server: Server,
        *,
        instance: Instance,
        times: LeaseTimes,
        clock: Callable[[], float],
        on_news: Callable[[], None],
    ) -> None:
        """`on_news` is called in the event loop when a lease was released."""
        self.beat = 0
        """Number of the latest statement."""
        self._server = server
        self._instance = instance
        self._times = times
        self._clock = clock
        self._on_news = on_news
        self._connection: LeaseConnection | None = None

    @property
    def has_connection(self) -> bool:
        """Whether a connection was opened and has not failed."""
        return self._connection is not None

    async def run_round(
        self,
        *,
        releasing: frozenset[str],
        unwritten: list[str],
        names: frozenset[str],
        alone: frozenset[str],
    ) -> RoundAnswer:
        """Release leases, record those that we wait for, renew ours among `names`, and read all.

        `alone`: those that we may keep past the fence if nobody waits for them. Raises MemoryFault.
        """
        self.beat += 2  # one for the release, one for the renewal
        beat = self.beat

        def ask(session: "Session") -> RoundAnswer:
            if releasing:
                release(session, self._instance, releasing, beat=beat - 1)
            if unwritten:
                want(session, self._instance, unwritten, seconds=self._times.want)
            begun = self._clock()
            rows = renew(session, self._instance, names, beat=beat, alone=alone, seconds=self._times.life)
            return RoundAnswer(begun, self._clock(), rows)

        return await self._query(ask)

    async def take(self, candidates: list[LeaseRow]) -> TakeAnswer:
        """Take the leases that are unchanged since these rows were read. Raises MemoryFault."""
        self.beat += 1
        beat = self.beat

        def ask(session: "Session") -> TakeAnswer:
            begun = self._clock()
            tokens = take(session, self._instance, candidates, beat=beat, seconds=self._times.life)
            return TakeAnswer(begun, tokens)

        return await self._query(ask)

    async def close(self) -> None:
        """Hang up, and wait a while for the end of the connection."""
        connection, self._connection = self._connection, None
        if connection:
            connection.close()
            try:
                await asyncio.wait_for(connection.ended.wait(), self._times.leaving)
            except TimeoutError:
                log.info("the connection for leases did not close in time")

    async def _query(self, work: "Callable[[Session], Answer]") -> Answer:
        """Run `work` in the thread of the current connection, or of a new one."""
        seconds = self._times.answer
        if self._connection is None or not self._connection.is_open:
            seconds = self._times.opening
            self._connection = LeaseConnection(self._server, on_news=self._on_news)
        try:
            return await self._connection.run(work, seconds=seconds)
        except BaseException:
            self._connection.abort()
            self._connection = None
            raise
