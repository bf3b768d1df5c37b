"""Count on disk how often a message is begun, before anything is done with it: no message crashes us without end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext

from bot.inbox import Inbox
from bot.state.database import StateFault, to_the_end
from bot.state.inbox import Received

log = logging.getLogger(__name__)

READING_ATTEMPTS = 2
"""How often the files of a message are begun to be read. If the process died so often while it read them, they are
not touched again: the person is told, and the message stands in its conversation with its files named."""


def is_spent(received: Received) -> bool:
    """Return whether the process has died `READING_ATTEMPTS` times while it read the files of a message."""
    return (
        received.state == "waiting"
        and bool(received.message.attachments)
        and received.attempts >= READING_ATTEMPTS
    )


class Attempts:
    """Counts the messages that are about to be read. A process that dies meanwhile leaves the count on disk."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def counted(self, messages: Sequence[Received]) -> AsyncIterator[None]:
        """Count messages with files, and those that an earlier process left, while they are read.

        A message that was counted before is read while no other such message is: the next crash then counts against
        that one alone. What ends without a crash, such as a turn that is parked, is taken off the count. Raises
        StateFault.
        """
        numbers = [
            each.number
            for each in messages
            if each.number and (each.message.attachments or each.taken_over) and not is_spent(each)
        ]
        if not numbers:
            yield
            return
        is_suspect = any(each.attempts and each.message.attachments for each in messages)
        async with self._one_at_a_time if is_suspect else nullcontext():
            await self._inbox.tried(*numbers)
            try:
                yield
            except BaseException:
                await to_the_end(self._take_off(numbers))
                raise

    async def _take_off(self, numbers: Sequence[int]) -> None:
        try:
            await self._inbox.not_tried(*numbers)
        except StateFault as fault:
            log.error("%s", fault)
