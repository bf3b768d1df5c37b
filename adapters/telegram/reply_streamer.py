"""Stream one reply into a chat: shown while it grows, complete at the end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

from adapters.latest_part import LatestPart
from adapters.long_reply import LongReply, message_ids, render_part
from adapters.markdown.blocks import BlockCache
from adapters.markdown.layout import FileMessage
from adapters.telegram.api_calls import (
    ApiCalls,
    ApiRefused,
    ChatGone,
    ChatIdChanged,
    MessageGone,
    Target,
    ThreadGone,
    TooLong,
)
from adapters.telegram.markdown.messages import LIMIT, TextMessage, render_messages, render_preview
from adapters.telegram.rate_limiter import SETTLE_SECONDS, RateLimiter, SendSlot
from bot.messages import ChannelFault, Choice, ReplyPart, Sending

TYPING_AFTER = 0.4
"""Seconds before the typing indicator is shown; most commands finish sooner."""
TYPING_SECONDS = 4.5
"""Seconds between typing indicators; Telegram shows one for five."""
DRAFT_SECONDS = 20.0
"""Seconds between repeats of an unchanged draft, which vanishes after thirty."""
AFTER_FAULT = 2.0
"""Seconds that a reply does not grow after a failed call."""
FILE = "f"
"""Mark before a stored id whose message is a file."""
SHORTEST_LIMIT = 256


@dataclass(frozen=True, slots=True)
class SentPart:
    """A message that shows part of the reply."""

    id: int
    is_file: bool = False
    text: TextMessage | None = None
    """Its content, if known."""

    @property
    def encoded(self) -> str:
        """The message's id in stored form."""
        return f"{FILE}{self.id}" if self.is_file else str(self.id)

    @classmethod
    def parse(cls, kept: str) -> "SentPart":
        """Parse a stored id."""
        return cls(int(kept.removeprefix(FILE)), kept.startswith(FILE))


class ReplyStreamer:
    """Shows one reply: in private chats by drafts and then messages, elsewhere in messages that it edits."""

    def __init__(
        self,
        calls: ApiCalls,
        pace: RateLimiter,
        place: Target,
        *,
        key: str,
        shown: Sequence[str],
        keep: Callable[[Sequence[str]], Awaitable[None]],
        reply_to: Callable[[], int | None],
        moved: Callable[[int, int], None],
        is_answer: bool = True,
        settle_seconds: float = SETTLE_SECONDS,
        sending: Sending | None = None,
    ) -> None:
        """`reply_to`: what the first message replies to; `moved` gets the chat's old and new id.

        `is_answer`: somebody waits for it.
        """
        self._calls = calls
        self._pace = pace
        self._place = place
        self._draft = crc32(key.encode()) & 0x7FFFFFFF or 1
        self._sent = [SentPart.parse(each) for each in message_ids(shown)]
        self._long_reply = LongReply(shown, sending)
        self._keep = keep
        self._reply_to = reply_to
        self._moved = moved
        self._is_answer = is_answer
        self._settle_seconds = settle_seconds
        self._drafted: TextMessage | None = None
        self._drafted_at = 0.0
        self._limit = LIMIT
        self._takes_files = True
        self._known: BlockCache = {}
        """Parsed blocks of the text."""

    async def show(self, parts: AsyncIterator[ReplyPart]) -> None:
        """Show the reply. Raises ApiRefused if that is impossible for good, ChannelFault if it may work later."""
        newest = LatestPart(parts)
        typing = asyncio.create_task(self._show_typing()) if self._is_answer else None
        try:
            if await newest.wait_for_change(None):
                await asyncio.wait([newest.ended], timeout=self._settle_seconds)
                newest.recheck()
            while await newest.wait_for_change(DRAFT_SECONDS if self._drafted else None):
                if turn := await self._wait_for_slot(newest):
                    try:
                        fault = await self._show_growth(newest.text)
                    finally:
                        turn.finish()
                    if fault:
                        await asyncio.wait([newest.ended], timeout=fault)
            last = await newest.last()
        finally:
            if typing:
                typing.cancel()
            await newest.close()
        if last is not None and last.final and last.text.strip():
            await self._finish(last)

    # -- growing --------------------------------------------------------------------------------------------

    async def _wait_for_slot(self, newest: LatestPart) -> SendSlot | None:
        """Wait until a step may be shown; return None if the reply ended before."""
        waiting = asyncio.create_task(self._pace.wait_for_slot(self._place.chat, urgent=False))
        try:
            await asyncio.wait([waiting, newest.ended], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            _cancel_slot(waiting)
            raise
        if not newest.ended.done():
            return await waiting
        _cancel_slot(waiting)
        return None

    async def _show_growth(self, text: str) -> float:
        """Show the next step; return for how many seconds to pause after a failure.

        Failures are made good at the end.
        """
        try:
            await self._step(text)
        except ChatGone:
            raise
        except ChatIdChanged as refused:
            self._migrate(refused.chat)
        except ThreadGone:
            self._place = replace(self._place, thread=None)
        except (ApiRefused, ChannelFault) as fault:
            wait = AFTER_FAULT
            if isinstance(fault, ChannelFault) and fault.retry_after:
                self._pace.pause(self._place.chat, fault.retry_after)
                wait = fault.retry_after
            return wait
        return 0.0

    async def _step(self, text: str) -> None:
        """Send or edit the first message that differs from its target content."""
        messages = await render_part(text, partial(render_preview, known=self._known))
        for number, message in enumerate(messages):
            if isinstance(message, FileMessage):
                return  # files are only sent when complete
            if number < len(self._sent):
                sent = self._sent[number]
                if sent.is_file:
                    return
                if sent.text != message:
                    try:
                        await self._edit(number, message, growing=True)
                    except MessageGone:
                        await self._delete_from(number)
                    return
            elif number < len(messages) - 1 or not await self._send_draft(message):
                await self._send(message, growing=True)
                return

    async def _send_draft(self, message: TextMessage) -> bool:
        """Show the end of a reply as a draft; return False if drafts are not possible here."""
        if not (self._place.is_private and self._calls.has_drafts):
            return False
        if message == self._drafted and self._now() - self._drafted_at < DRAFT_SECONDS:
            return True
        try:
            await self._calls.draft(self._place, self._draft, message.text, message.entities)
        except ApiRefused:
            if self._calls.has_drafts:
                raise
            return False
        self._drafted, self._drafted_at = message, self._now()
        return True

    async def _show_typing(self) -> None:
        """Show the typing indicator until part of the reply is visible."""
        await asyncio.sleep(TYPING_AFTER)
        while self._drafted is None and not any(each.text for each in self._sent):
            with suppress(ApiRefused, ChannelFault):
                await self._calls.typing(self._place)
            await asyncio.sleep(TYPING_SECONDS)

    # -- finishing ------------------------------------------------------------------------------------------

    async def _finish(self, part: ReplyPart) -> None:
        """Make the complete reply stand there, whatever was shown before."""
        while True:
            try:
                await self._complete(part.text, part.choices)
            except ChatIdChanged as refused:
                self._migrate(refused.chat)
            except ThreadGone:
                if self._place.thread is None:
                    raise
                self._place = replace(self._place, thread=None)
            except TooLong:
                self._limit //= 2
                if self._limit < SHORTEST_LIMIT:
                    raise
            else:
                return

    async def _complete(self, text: str, choices: Sequence[Choice]) -> None:
        messages = await self._messages(text)
        for number, message in enumerate(messages):
            if number and number >= len(self._sent):
                await self._wait_for_room()
            if not self._long_reply.may_send(number, sent=len(self._sent), messages=len(messages)):
                await self._keep_ids()
                await self._complete(text, choices)
                return
            offered = choices if number == len(messages) - 1 else ()
            if number < len(self._sent) and self._sent[number].is_file != isinstance(message, FileMessage):
                await self._delete_from(number)
            if number < len(self._sent):
                if isinstance(message, FileMessage) or (self._sent[number].text == message and not offered):
                    continue
                try:
                    await self._edit(number, message, choices=offered)
                    continue
                except (ChatGone, ChatIdChanged, ThreadGone, TooLong):
                    raise
                except ApiRefused:  # deleted, too old or refused: send it again
                    await self._delete_from(number)
            if isinstance(message, FileMessage):
                try:
                    await self._send_file(message)
                except (ChatIdChanged, ThreadGone):
                    raise
                except ApiRefused:  # files may be forbidden there; text may work
                    self._takes_files = False
                    await self._complete(text, choices)
                    return
            else:
                await self._send(message, choices=offered)
        await self._delete_from(len(messages))

    async def _wait_for_room(self) -> None:
        """Wait for the rate limit before a message, so that a stop meanwhile still applies to it."""
        turn = await self._pace.wait_for_slot(self._place.chat, urgent=True)
        turn.cancel()

    async def _messages(self, text: str) -> list[TextMessage | FileMessage]:
        """Return the messages of the whole reply; if its sending was stopped, a file replaces the rest."""
        files = self._takes_files
        render = partial(render_messages, limit=self._limit, known=self._known, files=files)
        begun = sum(not each.is_file for each in self._sent)
        return await self._long_reply.messages(
            text, render, lambda each: len(each.text), files=files, begun=begun
        )

    async def _send(
        self, message: TextMessage, *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        reply_to = None if self._sent else self._reply_to()
        number = await self._calls.send(
            self._place, message.text, message.entities, reply_to=reply_to, choices=choices, growing=growing
        )
        await self._add(SentPart(number, text=message))

    async def _send_file(self, message: FileMessage) -> None:
        reply_to = None if self._sent else self._reply_to()
        content = message.content.encode()
        number = await self._calls.send_file(self._place, message.name, content, reply_to=reply_to)
        await self._add(SentPart(number, is_file=True))

    async def _edit(
        self, number: int, message: TextMessage, *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        sent = self._sent[number]
        await self._calls.edit(
            self._place, sent.id, message.text, message.entities, choices=choices, growing=growing
        )
        self._sent[number] = replace(sent, text=message)

    async def _add(self, sent: SentPart) -> None:
        self._sent.append(sent)
        await self._keep_ids()

    async def _keep_ids(self) -> None:
        ids = [each.encoded for each in self._sent]
        await self._keep([*ids, *self._long_reply.marks] if ids else ids)

    async def _delete_from(self, first: int) -> None:
        """Delete the messages from position `first` on."""
        while len(self._sent) > first:
            with suppress(ApiRefused):
                await self._calls.delete(self._place, self._sent[-1].id)
            del self._sent[-1]
            await self._keep_ids()

    def _migrate(self, chat: int) -> None:
        """Continue in the migrated chat, where earlier messages cannot be edited."""
        self._moved(self._place.chat, chat)
        self._place = Target(chat, self._place.thread)
        self._sent.clear()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _cancel_slot(waiting: "asyncio.Task[SendSlot]") -> None:
    """Stop waiting for a slot, and return it if it was already granted."""

    def given(task: "asyncio.Task[SendSlot]") -> None:
        if not task.cancelled():
            task.result().cancel()

    waiting.cancel()
    waiting.add_done_callback(given)
