"""Stores how often a message is begun before anything is done with it, so that none can crash the process forever."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial

from bot.inbox import Inbox
from bot.state.database import StateFault, run_to_completion
from bot.state.inbox import InboxMessage, QueuedNotice

log = logging.getLogger(__name__)

MAX_TURN_ATTEMPTS = 20
"""Attempts at a turn, a reply or a notice after crashes without progress; after these it counts as their cause."""
SUSPECT_SECONDS = 30.0
"""Seconds for which a possible cause of crashes waits while another one of its channel is shown."""
READING_ATTEMPTS = 2
"""Attempts to read the files of a message. If the process died this often, they are not read again: the person is
told, and the conversation only names the files."""


def has_no_attempts_left(received: InboxMessage) -> bool:
    """Return whether the process has died `READING_ATTEMPTS` times while it read the files of a message."""
    return (
        received.state == "waiting"
        and bool(received.message.attachments)
        and received.attempts >= READING_ATTEMPTS
    )


class Attempts:
    """Counts messages that are about to be read; if the process dies, the count stays stored."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._one_at_a_time = asyncio.Lock()
        self._showing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By channel."""

    @asynccontextmanager
    async def counted_while_shown(self, what: InboxMessage | QueuedNotice) -> AsyncIterator[None]:
        """Count a reply or notice that an earlier process left, while it is shown.

        One that was counted before is shown alone in its channel, as with `count_while_reading`. If state.db cannot be
        written, it is shown all the same.
        """
        number, inbox = what.number, self._inbox
        add: Callable[[], Awaitable[None]]
        undo: Callable[[], Awaitable[None]]
        if isinstance(what, QueuedNotice):
            chat = what.chat
            add, undo = (
                partial(inbox.count_notice_attempt, number),
                partial(inbox.uncount_notice_attempt, number),
            )
        else:
            chat = what.message.chat
            add, undo = partial(inbox.count_attempt, number), partial(inbox.uncount_attempt, number)
        if not what.taken_over or (isinstance(what, InboxMessage) and what.reply is None):
            yield
            return
        async with self._alone(chat.channel) if what.attempts else nullcontext():
            counting = asyncio.ensure_future(self._store(add))
            try:
                await run_to_completion(counting)
                yield
            finally:  # also where it was not delivered, by a fault of ours: nothing has crashed
                if counting.result():
                    await run_to_completion(self._store(undo))

    @asynccontextmanager
    async def _alone(self, channel: str) -> AsyncIterator[None]:
        lock, is_mine = self._showing[channel], False
        with suppress(TimeoutError):
            async with asyncio.timeout(SUSPECT_SECONDS):
                is_mine = await lock.acquire()
        try:
            yield
        finally:
            if is_mine:
                lock.release()

    async def _store(self, work: Callable[[], Awaitable[None]]) -> bool:
        try:
            await work()
        except StateFault as fault:
            log.error("%s", fault)
            return False
        return True

    @asynccontextmanager
    async def count_while_reading(self, messages: Sequence[InboxMessage]) -> AsyncIterator[None]:
        """Count messages with files, and those that an earlier process left, while they are read. Raises StateFault.

        A message that was counted before is read while no other such message is, so that the next crash counts against
        it alone. Without a crash, even if the turn is parked, the count is undone.
        """
        numbers = [
            each.number
            for each in messages
            if each.number
            and (each.message.attachments or each.taken_over)
            and not has_no_attempts_left(each)
        ]
        if not numbers:
            yield
            return
        is_suspect = any(each.attempts and each.message.attachments for each in messages)
        async with self._one_at_a_time if is_suspect else nullcontext():
            counting = asyncio.ensure_future(self._inbox.count_attempt(*numbers))
            try:
                await run_to_completion(counting)
                yield
            except BaseException:
                if counting.exception() is None:
                    await run_to_completion(self._uncount(numbers))
                raise

    async def _uncount(self, numbers: Sequence[int]) -> None:
        try:
            await self._inbox.uncount_attempt(*numbers)
        except StateFault as fault:
            log.error("%s", fault)
