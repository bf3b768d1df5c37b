"""Delivers replies and notices through the channel's adapter, and retries what fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from secrets import token_hex

from bot.channels import Channels
from bot.inbox import Inbox
from bot.messages import ChannelFault, ChatId, Choice, IncomingMessage, Reply, ReplyPart
from bot.metrics import Metrics
from bot.reply_task import ReplyTask
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.state.inbox import InboxMessage, QueuedNotice
from bot.tasks import is_being_cancelled

log = logging.getLogger(__name__)

RETRY_SECONDS = (1.0, 5.0, 30.0, 120.0)
"""Seconds before each retry of a reply. If the channel fails, the last one repeats; after an error of ours, the next
start tries again."""


class Delivery:
    """Shows replies in their chats, and stores how far they have come."""

    def __init__(
        self,
        inbox: Inbox,
        channels: Channels,
        *,
        pauses: Sequence[float] = RETRY_SECONDS,
        metrics: Metrics | None = None,
    ) -> None:
        self._inbox = inbox
        self._channels = channels
        self._metrics = metrics or Metrics()
        self._pauses = pauses
        self._unnoted: list[Callable[[], Awaitable[None]]] = []
        """Writes to state.db that failed and are still to be made."""

    async def deliver_reply(self, received: InboxMessage, turn: ReplyTask, *, shown: list[str]) -> bool:
        """Show a reply as it grows; return whether it was delivered, or never can be.

        `shown` holds the platform's ids of the messages that show it, and is kept up to date. A turn whose reply cannot
        be shown still runs to its end, and its result is stored.
        """
        number, message = received.number, received.message

        async def keep(ids: Sequence[str]) -> None:
            shown[:] = ids
            await self._save_or_queue(lambda: self._inbox.record_shown(number, tuple(shown)))

        async def show() -> None:
            async with aclosing(turn.stream_parts()) as parts:
                key = f"reply-{number}"
                reply = Reply(message.chat, message, key, parts, keep, tuple(shown), sending=turn.sending)
                await self._channels.adapter_of(message.chat).render(reply)

        what = f"the reply to message {one_line(message.id)} of {message.chat}"
        pauses = () if message.alone else self._pauses  # nobody waits for it later
        try:
            delivered = await self._retry(show, what, message.chat, pauses, before=turn.wait)
            if delivered and turn.ended_at:
                self._metrics.record_stage("delivery", since=turn.ended_at)
            await turn.wait()
        finally:
            await turn.stop_and_wait()
        return delivered or message.alone

    async def mark_done(self, number: int) -> None:
        """Store that a reply was delivered."""
        await self._save_or_queue(lambda: self._inbox.mark_delivered(number))

    async def answer_once(self, message: IncomingMessage, text: str) -> None:
        """Show an answer to a message that was not accepted; it is tried once, and nothing is stored."""

        async def forget(ids: Sequence[str]) -> None:
            del ids

        async def show() -> None:
            key = f"passing-{token_hex(8)}"
            reply = Reply(message.chat, message, key, _final_part(text), forget, in_passing=True)
            await self._channels.adapter_of(message.chat).render(reply)

        await self._retry(show, f"an answer to {message.chat}", message.chat, ())

    async def deliver_notice(self, notice: QueuedNotice) -> None:
        """Show a notice and store that it was delivered."""
        shown = list(notice.shown)

        async def keep(ids: Sequence[str]) -> None:
            shown[:] = ids
            await self._save_or_queue(lambda: self._inbox.record_notice_shown(notice.number, tuple(shown)))

        async def show() -> None:
            key = f"notice-{notice.number}"
            reply = Reply(
                notice.chat, None, key, _final_part(notice.text, notice.choices), keep, tuple(shown)
            )
            await self._channels.adapter_of(notice.chat).render(reply)

        if await self._retry(show, f"a notice to {notice.chat}", notice.chat, self._pauses):
            await self._save_or_queue(lambda: self._inbox.mark_notice_delivered(notice.number))

    async def save_queued(self) -> None:
        """Write to state.db what could not be written before."""
        while self._unnoted and await self._save_or_queue(self._unnoted.pop(0)):
            pass

    async def _retry(
        self,
        show: Callable[[], Awaitable[None]],
        what: str,
        chat: ChatId,
        pauses: Sequence[float],
        *,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> bool:
        """Show until that succeeds or the pauses are used up; wait for `before` before each retry."""
        left = list(pauses)
        while True:
            is_ours, wanted = False, 0.0
            try:
                await show()
            except (ChannelFault, OSError) as error:
                log.warning("%s was not delivered: %s", what, one_line(str(error) or type(error).__name__))
                wanted = error.retry_after if isinstance(error, ChannelFault) else 0.0
            except (Exception, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                    raise
                log.exception("%s was not delivered", what)
                is_ours = True
            else:
                self._metrics.count_delivery(chat.channel, well=True)
                return True
            self._metrics.count_delivery(chat.channel, well=False)
            if before is not None:
                await before()
            if not left:
                return False
            await asyncio.sleep(max(left[0], wanted))
            if len(left) > 1 or is_ours:
                del left[0]

    async def _save_or_queue(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Write now, or queue it until state.db can be written; return False if it was queued."""
        try:
            await work()
        except StateFault as fault:
            log.error("%s", fault)
            self._unnoted.append(work)
            return False
        return True


async def _final_part(text: str, choices: Sequence[Choice] = ()) -> AsyncIterator[ReplyPart]:
    yield ReplyPart(text, final=True, choices=tuple(choices))
