"""Replies and notices on their way to the people: shown by the channel's adapter, again where that fails."""

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
"""Seconds after which a reply that could not be shown is tried again. The last one again and again where the channel
fails; after a fault of ours, with the next start."""


class Delivery:
    """Hands what is said to the adapter that serves its chat, and notes how far that has come."""

    def __init__(
        self,
        inbox: Inbox,
        channels: Channels,
        *,
        pauses: Sequence[float] = RETRY_SECONDS,
        measures: Metrics | None = None,
    ) -> None:
        self._inbox = inbox
        self._channels = channels
        self._measures = measures or Metrics()
        self._pauses = pauses
        self._unnoted: list[Callable[[], Awaitable[None]]] = []
        """What was delivered while state.db could not be written."""

    async def deliver_reply(self, received: InboxMessage, turn: ReplyTask, *, shown: list[str]) -> bool:
        """Show a reply as it grows until it has been delivered; tell whether it has, or never can be.

        `shown` is kept true: the platform's ids of the messages that show it. A turn whose reply cannot be shown
        still comes to its end: what was to be noted is noted.
        """
        number, message = received.number, received.message

        async def keep(ids: Sequence[str]) -> None:
            shown[:] = ids
            await self._save_or_queue(
                lambda: self._inbox.record_shown(number, tuple(shown))
            )  # noted late, it is still true

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
                self._measures.record_stage("delivery", since=turn.ended_at)
            await turn.wait()
        finally:
            await turn.stop_and_wait()
        return delivered or message.alone

    async def mark_done(self, number: int) -> None:
        """Note that a reply has been delivered."""
        await self._save_or_queue(lambda: self._inbox.mark_delivered(number))

    async def answer_once(self, message: IncomingMessage, text: str) -> None:
        """Answer what is not taken in, once and as well as it goes: nothing of it is kept."""

        async def forget(ids: Sequence[str]) -> None:
            del ids

        async def show() -> None:
            key = f"passing-{token_hex(8)}"
            reply = Reply(message.chat, message, key, _final_part(text), forget, in_passing=True)
            await self._channels.adapter_of(message.chat).render(reply)

        await self._retry(show, f"an answer to {message.chat}", message.chat, ())

    async def deliver_notice(self, notice: QueuedNotice) -> None:
        """Show what nobody asked for just now, and note that."""
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
        """Note what was delivered while state.db could not be written."""
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
        """Show until that succeeds; `before` is waited for before it is tried again."""
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
                self._measures.count_delivery(chat.channel, well=True)
                return True
            self._measures.count_delivery(chat.channel, well=False)
            if before is not None:
                await before()
            if not left:
                return False
            await asyncio.sleep(max(left[0], wanted))
            if len(left) > 1 or is_ours:
                del left[0]

    async def _save_or_queue(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Note it now, or as soon as state.db can be written again; tell which."""
        try:
            await work()
        except StateFault as fault:
            log.error("%s", fault)
            self._unnoted.append(work)
            return False
        return True


async def _final_part(text: str, choices: Sequence[Choice] = ()) -> AsyncIterator[ReplyPart]:
    yield ReplyPart(text, final=True, choices=tuple(choices))
