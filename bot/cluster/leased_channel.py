"""A channel that one instance at a time serves: open only while its lease is held."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from bot import phrases
from bot.cluster.lease import Lease
from bot.cluster.ownership import Ownership
from bot.cluster.previous_holder import PreviousHolder
from bot.messages import (
    AcceptMessage,
    Adapter,
    Attachment,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    NotAccepted,
    PersonId,
    Reply,
    TracksWithdrawals,
    WriteChunk,
)
from bot.tasks import is_being_cancelled

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
"""Seconds between two looks at who holds the channel."""

Result = TypeVar("Result")


OpenAdapter = Callable[[Ownership], AbstractAsyncContextManager[Adapter]]


class LeasedChannel:
    """An Adapter around another one that is open while the lease is held; an async context manager.

    Nothing is shown, accepted or fetched once the lease is lost: replies are retried later, and reminders wait.
    Leaving the context closes the channel, then gives up the lease.
    """

    def __init__(
        self,
        name: str,
        lease: Lease,
        *,
        opens: OpenAdapter,
        before: PreviousHolder,
        resume: Callable[[], Awaitable[None]],
        problem: Callable[[], str] = lambda: "",
        stood_in_for: Callable[[], str] = lambda: "",
    ) -> None:
        """`resume` resumes unfinished work before the first new message.

        `problem`: why the holder of the lease is unknown, or "". `stood_in_for`: the workspace for which a takeover
        process of ours holds the lease, or "".
        """
        self._name = name
        self._lease = lease
        self._opens = opens
        self._before = before
        self._take_up = resume
        self._problem = problem
        self._stood_in_for = stood_in_for
        self._adapter: Adapter | None = None
        self._opened = AsyncExitStack()
        self._working: set[asyncio.Future[Any]] = set()
        """Renderings and fetches in progress; cancelled with the lease."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel, then release its lease for the other instances."""
        await self._close_adapter()
        await self._lease.give_up()

    # -- as an adapter --------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._name

    @property
    def health(self) -> ChannelHealth:
        """The channel's health; names the holder if another instance has the channel."""
        if adapter := self._check_held():
            return adapter.health
        if self._lease.is_held or not (self._lease.is_known or self._problem()):
            return ChannelHealth("starting")
        if self._problem():
            return ChannelHealth("down", phrases.LEASES_UNKNOWN)
        if workspace := self._stood_in_for():
            return ChannelHealth("stand-in", phrases.STANDS_IN.format(workspace=workspace))
        holder = self._lease.holder
        return ChannelHealth("standby", phrases.HELD_BY.format(holder=holder) if holder else "")

    def serves(self, chat: ChatId) -> bool:
        """Return whether the chat belongs to the channel and this instance holds it."""
        adapter = self._check_held()
        return adapter is not None and adapter.serves(chat)

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return the adapter's answer; None while another instance holds the channel."""
        adapter = self._check_held()
        return adapter.home_of(person) if adapter else None

    async def receive(self, path: str, headers: Mapping[str, str], body: bytes) -> int:
        """Pass a webhook request to the adapter; return the HTTP status, 503 while another instance has the channel."""
        adapter = self._check_held()
        hooks = {hook.path: hook for hook in getattr(adapter, "hooks", ())}
        return await hooks[path].receive(headers, body) if path in hooks else 503

    async def render(self, reply: Reply) -> None:
        """Show a reply. Raises ChannelFault, also when the channel is lost meanwhile."""
        await self._run_while_held(lambda adapter: adapter.render(reply))

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Fetch an attachment through the adapter. Raises ChannelFault, also when the channel is lost meanwhile."""
        await self._run_while_held(lambda adapter: adapter.fetch(attachment, write))

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Return whether the message was deleted, if the adapter can tell. Raises ChannelFault if the lease is lost."""

        async def asked(adapter: Adapter) -> bool:
            return isinstance(adapter, TracksWithdrawals) and await adapter.is_withdrawn(message)

        return await self._run_while_held(asked)

    async def run(self, accept: AcceptMessage) -> None:
        """Alternate between standby and serving until cancelled or until the adapter ends."""

        async def take_in(message: IncomingMessage) -> bool:
            if not self._lease.is_held:  # the platform also delivers it to the holder
                raise NotAccepted(phrases.NOT_OURS)
            return await accept(message)

        while True:
            await self._wait()
            log.info("%s: this instance serves it now", self._name)
            epoch = self._lease.epoch
            lost = asyncio.ensure_future(self._lease.wait_until_lost())
            running = asyncio.ensure_future(self._serve(take_in))
            try:
                await asyncio.wait([lost, running], return_when=asyncio.FIRST_COMPLETED)
                if self._lease.is_held and self._lease.epoch == epoch:
                    return running.result()
            except Exception:
                await self._close_adapter()  # the next run opens the channel again
                raise
            finally:
                for task in (lost, running):
                    task.cancel()
                await asyncio.gather(lost, running, return_exceptions=True)
            log.warning("%s: lease lost; another instance may serve it now, so this one stops", self._name)
            await self._close_adapter()

    async def _wait(self) -> None:
        is_told = False
        while not self._lease.is_held:
            self._before.observe(self._lease)
            if not is_told and (holder := self._lease.holder):
                is_told = True
                log.info("%s: standby, %s serves it", self._name, holder)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._lease.wait_until_held()

    # -- serving --------------------------------------------------------------------------------------------

    async def _serve(self, accept: AcceptMessage) -> None:
        ownership = Ownership(lambda: self._lease.is_held, self._before.answered_until())
        self._adapter = await self._opened.enter_async_context(self._opens(ownership))
        await self._take_up()
        await self._adapter.run(accept)

    async def _close_adapter(self) -> None:
        """Cancel work in progress and close the adapter."""
        self._adapter = None
        for each in self._working:
            each.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        try:
            await self._opened.aclose()
        except Exception:
            log.exception("%s: closing failed", self._name)

    def _check_held(self) -> Adapter | None:
        return self._adapter if self._lease.is_held else None

    async def _run_while_held(self, work: Callable[[Adapter], Coroutine[Any, Any, Result]]) -> Result:
        adapter = self._check_held()
        if adapter is None:
            raise ChannelFault(phrases.NOT_OURS)
        task = asyncio.ensure_future(work(adapter))
        self._working.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if is_being_cancelled() or self._check_held() is adapter:
                raise
            raise ChannelFault(phrases.NOT_OURS) from None
        finally:
            self._working.discard(task)
