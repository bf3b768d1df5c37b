"""Send the messages of one reply to a chat; its growing end by drafts in private chats."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from zlib import crc32

from adapters.api_errors import ApiRefused, TargetChanged
from adapters.markdown.layout import FileMessage
from adapters.reply_streamer import SentPart
from adapters.send_slot import SendSlot
from adapters.telegram.api_calls import ApiCalls, ChatIdChanged, Target
from adapters.telegram.markdown.messages import TextMessage
from adapters.telegram.rate_limiter import RateLimiter
from bot.messages import Choice

TYPING_SECONDS = 4.5
"""Seconds between typing indicators; Telegram shows one for five."""
DRAFT_SECONDS = 20.0
"""Seconds between repeats of an unchanged draft, which vanishes after thirty."""


class TelegramSender:
    """A `MessageSender` for a chat or topic."""

    platform = "Telegram"
    typing_seconds = TYPING_SECONDS

    def __init__(
        self,
        calls: ApiCalls,
        rate_limiter: RateLimiter,
        place: Target,
        *,
        key: str,
        reply_to: Callable[[], int | None],
        moved: Callable[[int, int], None],
    ) -> None:
        """`key`: the reply's; `reply_to`: what the first message replies to; `moved` gets the chat's old and new id."""
        self._calls = calls
        self._pace = rate_limiter
        self._place = place
        self._draft_id = crc32(key.encode()) & 0x7FFFFFFF or 1
        self._reply_to = reply_to
        self._moved = moved
        self._drafted: TextMessage | None = None
        self._drafted_at = 0.0

    @property
    def draft_seconds(self) -> float | None:
        return DRAFT_SECONDS if self._drafted else None

    async def wait_for_slot(self, *, urgent: bool) -> SendSlot:
        return await self._pace.wait_for_slot(self._place.chat, urgent=urgent)

    def pause(self, seconds: float) -> None:
        self._pace.pause(self._place.chat, seconds)

    async def send(
        self, message: TextMessage | FileMessage, *, position: int, choices: Sequence[Choice], growing: bool
    ) -> SentPart[TextMessage]:
        reply_to = self._reply_to() if position == 0 else None
        if isinstance(message, FileMessage):
            content = message.content.encode()
            number = await self._calls.send_file(self._place, message.name, content, reply_to=reply_to)
            return SentPart(number, is_file=True)
        number = await self._calls.send(
            self._place, message.text, message.entities, reply_to=reply_to, choices=choices, growing=growing
        )
        return SentPart(number, text=message)

    async def edit(
        self, message: int, text: TextMessage, *, choices: Sequence[Choice], growing: bool
    ) -> None:
        await self._calls.edit(
            self._place, message, text.text, text.entities, choices=choices, growing=growing
        )

    async def draft(self, message: TextMessage) -> bool:
        if not (self._place.is_private and self._calls.has_drafts):
            return False
        now = asyncio.get_running_loop().time()
        if message == self._drafted and now - self._drafted_at < DRAFT_SECONDS:
            return True
        try:
            await self._calls.draft(self._place, self._draft_id, message.text, message.entities)
        except ApiRefused:
            if self._calls.has_drafts:
                raise
            return False
        self._drafted, self._drafted_at = message, asyncio.get_running_loop().time()
        return True

    async def delete(self, message: int, *, position: int) -> None:
        del position
        with suppress(ApiRefused):
            await self._calls.delete(self._place, message)

    async def typing(self) -> None:
        await self._calls.typing(self._place)

    async def change_target(self, refused: TargetChanged) -> bool:
        """Continue in the migrated chat, where earlier messages cannot be edited, or in the chat without its topic."""
        if isinstance(refused, ChatIdChanged):
            self._moved(self._place.chat, refused.chat)
            self._place = replace(self._place, chat=refused.chat)
            return True
        if self._place.thread is None:
            raise refused
        self._place = replace(self._place, thread=None)
        return False

    async def withdraw(self) -> None:
        """Do nothing: Telegram announces no reply."""
