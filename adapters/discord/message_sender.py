"""Send the messages of one reply to a channel or an interaction, none of them twice."""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.api_errors import ApiRefused, MessageGone, TargetChanged
from adapters.discord.markdown.messages import TextMessage
from adapters.discord.rate_limiter import RateLimiter
from adapters.discord.reply_targets import (
    DIRECT,
    ChannelTarget,
    OtherTarget,
    ReplyTarget,
    SentMessage,
    ShownMessages,
    is_beginning,
)
from adapters.long_reply import message_ids
from adapters.markdown.layout import FileMessage
from adapters.reply_streamer import SentPart
from adapters.send_slot import SendSlot
from bot.messages import Choice, IncomingMessage

OutgoingMessage = TextMessage | FileMessage

TYPING_SECONDS = 8.0
"""Seconds between typing indicators; Discord shows one for ten."""
NONCE_LIFETIME = timedelta(minutes=2)
"""Age of a message below which its answer need not be searched for: Discord remembers nonces for some minutes."""
NONCE_DIGITS = 20


class DiscordSender:
    """A `MessageSender` for a channel or an interaction."""

    platform = "Discord"
    typing_seconds = TYPING_SECONDS
    draft_seconds = None

    def __init__(
        self,
        place: ReplyTarget,
        rate_limiter: RateLimiter,
        *,
        key: str,
        shown: Sequence[str],
        answers: IncomingMessage | None,
        reply_to: Callable[[], int | None],
        elsewhere: Callable[[], Awaitable[OtherTarget]],
        ours: ShownMessages,
    ) -> None:
        """`shown`: stored ids of the messages that show the reply already; `answers`: the message being answered.

        `reply_to`: what the first message replies to. `elsewhere` returns another target, or raises ApiRefused or
        ChannelFault. `ours`: our messages whose content is known.
        """
        sent: list[SentPart[TextMessage]] = [SentPart.parse(each) for each in message_ids(shown)]
        self._place = place
        self._pace = rate_limiter
        self._key = f"{key}|{answers.chat}|{answers.id}" if answers else f"{key}|{place.number}"
        self._is_direct = any(each.mark == DIRECT for each in sent)
        self._answers = answers
        self._reply_to = reply_to
        self._elsewhere = elsewhere
        self._known_messages = ours
        for each in sent:
            ours.add(each.id)
        self._taken_back: Counter[int] = Counter()
        """Number of messages deleted again at each position, so that the next one there gets a new nonce."""
        self._tried = ""
        """Nonce of the last message sent, whether it arrived or not."""
        self._is_looked_for = bool(sent)

    async def wait_for_slot(self, *, urgent: bool) -> SendSlot:
        if not urgent:
            await self._pace.wait_for_slot(self._place.number)
        return SendSlot()

    def pause(self, seconds: float) -> None:
        self._pace.pause(self._place.number, seconds)

    async def send(
        self, message: OutgoingMessage, *, position: int, choices: Sequence[Choice], growing: bool
    ) -> SentPart[TextMessage]:
        reply_to = self._reply_to() if position == 0 else None
        if found := await self._find_sent(message, reply_to):
            return self._record(found, message, is_known=False)
        was_tried, self._tried = self._tried == self._nonce(position), self._nonce(position)
        for is_last in (False, True):
            try:
                posted = await self._place.send(
                    message, nonce=self._nonce(position), reply_to=reply_to, choices=choices, growing=growing
                )
            except MessageGone:  # a message with this nonce was deleted; Discord makes no second one
                if is_last:
                    raise
                self._taken_back[position] += 1
            else:
                break
        # An earlier message with this nonce may be there, with less text and no buttons.
        stands = isinstance(message, FileMessage) or (
            posted.content.strip() == message.text.strip() and not (was_tried and choices)
        )
        self._is_looked_for = True
        return self._record(posted, message, is_known=stands)

    async def _find_sent(self, message: OutgoingMessage, reply_to: int | None) -> SentMessage | None:
        """Search once for a message that an earlier process sent too long ago for its nonce to work."""
        answered, place = self._answers, self._place
        if self._is_looked_for or answered is None or not answered.id.isdigit():
            return None
        if not (isinstance(message, TextMessage) and isinstance(place, ChannelTarget)):
            return None
        if datetime.now(UTC) - answered.sent_at < NONCE_LIFETIME:
            return None

        def fits(raw: Mapping[str, Any]) -> bool:
            if "interaction_metadata" in raw:
                return False
            points_to = (raw.get("message_reference") or {}).get("message_id")
            if reply_to is not None:
                return bool(points_to == str(reply_to))
            return not points_to and is_beginning(raw["content"], message)

        found = await place.find(fits, after=int(answered.id), known=self._known_messages)
        self._is_looked_for = True
        return found

    def _record(
        self, posted: SentMessage, message: OutgoingMessage, *, is_known: bool
    ) -> SentPart[TextMessage]:
        self._known_messages.add(posted.id)
        mark = DIRECT if self._is_direct else ""
        if isinstance(message, FileMessage):
            return SentPart(posted.id, is_file=True, mark=mark)
        return SentPart(posted.id, mark=mark, text=message if is_known else None)

    def _nonce(self, position: int) -> str:
        """Return the nonce of the reply's next message, the same in all processes."""
        name = f"{self._key}|{position}|{self._taken_back[position]}|{self._is_direct}"
        return hashlib.sha256(name.encode()).hexdigest()[:NONCE_DIGITS]

    async def edit(
        self, message: int, text: TextMessage, *, choices: Sequence[Choice], growing: bool
    ) -> None:
        await self._place.edit(message, text, choices=choices, growing=growing)

    async def draft(self, message: TextMessage) -> bool:
        """Do nothing: Discord has no drafts."""
        del message
        return False

    async def delete(self, message: int, *, position: int) -> None:
        with suppress(ApiRefused):
            await self._place.delete(message)
        self._taken_back[position] += 1

    async def typing(self) -> None:
        if self._place.shows_typing:
            await self._place.typing()

    async def change_target(self, refused: TargetChanged) -> bool:
        """Answer an expired interaction elsewhere; a private target gets the whole reply again."""
        del refused
        other = await self._elsewhere()
        self._place = other.place
        self._is_direct |= other.is_direct
        return other.is_direct

    async def withdraw(self) -> None:
        with suppress(ApiRefused):
            await self._place.withdraw()
