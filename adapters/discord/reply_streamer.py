"""Stream one reply into a channel: shown while it grows, complete at the end."""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from adapters.discord.api_calls import (
    ApiRefused,
    ChatGone,
    ContentBlocked,
    InteractionExpired,
    MessageGone,
    TooLong,
)
from adapters.discord.markdown.messages import LIMIT, TextMessage, render_messages, render_preview
from adapters.discord.rate_limiter import SETTLE_SECONDS, RateLimiter
from adapters.discord.reply_targets import (
    DIRECT,
    ChannelTarget,
    OtherTarget,
    ReplyTarget,
    SentMessage,
    ShownMessages,
    is_beginning,
)
from adapters.latest_part import LatestPart
from adapters.long_reply import LongReply, message_ids, render_part
from adapters.markdown.blocks import BlockCache
from adapters.markdown.layout import FileMessage
from bot import phrases
from bot.messages import ChannelFault, Choice, IncomingMessage, ReplyPart, Sending
from bot.sanitize import one_line

OutgoingMessage = TextMessage | FileMessage

log = logging.getLogger(__name__)

TYPING_AFTER = 0.4
"""Seconds before the typing indicator is shown; most commands finish sooner."""
TYPING_SECONDS = 8.0
"""Seconds between typing indicators; Discord shows one for ten."""
AFTER_FAULT = 2.0
"""Seconds that a reply does not grow after a failed call."""
NONCE_LIFETIME = timedelta(minutes=2)
"""Age of a message below which its answer need not be searched for: Discord remembers nonces for some minutes."""
NONCE_DIGITS = 20
FILE = "f"
"""Mark before a stored id whose message is a file."""
SHORTEST_LIMIT = 256


@dataclass(frozen=True, slots=True)
class SentPart:
    """A message that shows part of the reply."""

    id: int
    is_file: bool = False
    is_direct: bool = False
    text: TextMessage | None = None
    """Its content, if known."""

    @property
    def encoded(self) -> str:
        """The message's id in stored form."""
        return f"{DIRECT if self.is_direct else ''}{FILE if self.is_file else ''}{self.id}"

    @classmethod
    def parse(cls, kept: str) -> "SentPart":
        """Parse a stored id."""
        marks = kept.rstrip("0123456789")
        return cls(int(kept[len(marks) :]), FILE in marks, DIRECT in marks)


class ReplyStreamer:
    """Shows one reply in messages that it edits."""

    def __init__(
        self,
        place: ReplyTarget,
        pace: RateLimiter,
        *,
        key: str,
        shown: Sequence[str],
        keep: Callable[[Sequence[str]], Awaitable[None]],
        answers: IncomingMessage | None,
        reply_to: Callable[[], int | None],
        elsewhere: Callable[[], Awaitable[OtherTarget]],
        ours: ShownMessages,
        settle_seconds: float = SETTLE_SECONDS,
        sending: Sending | None = None,
    ) -> None:
        """`answers`: the message being answered; `reply_to`: what the first message replies to.

        `elsewhere` returns another target, or raises ApiRefused or ChannelFault. `ours`: our messages whose content
        is known.
        """
        self._place = place
        self._pace = pace
        self._key = f"{key}|{answers.chat}|{answers.id}" if answers else f"{key}|{place.number}"
        self._sent = [SentPart.parse(each) for each in message_ids(shown)]
        self._long_reply = LongReply(shown, sending)
        self._is_direct = any(sent.is_direct for sent in self._sent)
        self._keep = keep
        self._answers = answers
        self._reply_to = reply_to
        self._elsewhere = elsewhere
        self._known_messages = ours
        self._settle_seconds = settle_seconds
        for sent in self._sent:
            ours.add(sent.id)
        self._taken_back: Counter[int] = Counter()
        """Number of messages deleted again at each position, so that the next one there gets a new nonce."""
        self._tried = ""
        """Nonce of the last message sent, whether it arrived or not."""
        self._is_looked_for = bool(self._sent)
        self._limit = LIMIT
        self._takes_files = True
        self._read: BlockCache = {}
        """Parsed blocks of the text."""

    async def show(self, parts: AsyncIterator[ReplyPart]) -> None:
        """Show the reply. Raises ApiRefused if that is impossible for good, ChannelFault if it may work later."""
        newest = LatestPart(parts)
        typing = asyncio.create_task(self._show_typing()) if self._answers else None
        try:
            if await newest.wait_for_change():
                await asyncio.wait([newest.ended], timeout=self._settle_seconds)
                newest.recheck()
            while await newest.wait_for_change():
                if await self._wait_for_slot(newest) and (fault := await self._show_growth(newest.text)):
                    await asyncio.wait([newest.ended], timeout=fault)
            last = await newest.last()
        finally:
            if typing:
                typing.cancel()
            await newest.close()
        if last is None or not last.final:
            return
        if last.text.strip():
            await self._finish(last)
        elif not self._sent:
            with suppress(ApiRefused):
                await self._place.withdraw()

    # -- growing --------------------------------------------------------------------------------------------

    async def _wait_for_slot(self, newest: LatestPart) -> bool:
        """Wait until a step may be shown; return False if the reply ended before."""
        waiting = asyncio.create_task(self._pace.wait_for_slot(self._place.number))
        try:
            await asyncio.wait([waiting, newest.ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        return not newest.ended.done()

    async def _show_growth(self, text: str) -> float:
        """Show the next step; return for how many seconds to pause after a failure.

        Failures are made good at the end.
        """
        try:
            await self._step(text)
        except ChatGone:
            raise
        except InteractionExpired:
            await self._switch_target()
        except (ApiRefused, ChannelFault) as fault:
            if isinstance(fault, ChannelFault) and fault.retry_after:
                self._pace.pause(self._place.number, fault.retry_after)
                return fault.retry_after
            return AFTER_FAULT
        return 0.0

    async def _step(self, text: str) -> None:
        """Send or edit the first message that differs from its target content."""
        messages = await render_part(text, partial(render_preview, known=self._read))
        for number, message in enumerate(messages):
            if isinstance(message, FileMessage):
                return  # files are only sent when complete
            if number == len(self._sent):
                await self._send(message, growing=True)
                return
            sent = self._sent[number]
            if sent.is_file:
                return
            if sent.text != message:
                try:
                    await self._edit(number, message, growing=True)
                except MessageGone:
                    await self._delete_from(number)
                return

    async def _show_typing(self) -> None:
        """Show the typing indicator until part of the reply is visible."""
        await asyncio.sleep(TYPING_AFTER)
        while not any(each.text for each in self._sent):
            if self._place.shows_typing:
                try:
                    await self._place.typing()
                except ApiRefused:
                    return
                except ChannelFault:
                    pass  # the indicator is optional
            await asyncio.sleep(TYPING_SECONDS)

    # -- finishing ------------------------------------------------------------------------------------------

    async def _finish(self, part: ReplyPart) -> None:
        """Make the complete reply stand there, whatever was shown before."""
        text, choices = part.text, part.choices
        while True:
            try:
                await self._complete(text, choices)
            except InteractionExpired:
                await self._switch_target()
            except TooLong:
                self._limit //= 2
                if self._limit < SHORTEST_LIMIT:
                    raise
            except ChatGone:
                raise
            except ApiRefused as refused:
                if text in (phrases.HELD_BACK, phrases.NOT_SHOWN):
                    raise
                log.error("Discord refused a reply: %s", one_line(str(refused)))
                text = phrases.HELD_BACK if isinstance(refused, ContentBlocked) else phrases.NOT_SHOWN
                choices, self._limit = (), LIMIT
            else:
                return

    async def _complete(self, text: str, choices: Sequence[Choice]) -> None:
        messages = await self._messages(text)
        for number, message in enumerate(messages):
            if not self._long_reply.may_send(number, sent=len(self._sent), messages=len(messages)):
                await self._keep_ids()
                await self._complete(text, choices)
                return
            offered = choices if number == len(messages) - 1 else ()
            is_file = isinstance(message, FileMessage)
            if number < len(self._sent) and self._sent[number].is_file != is_file:
                await self._delete_from(number)
            if number < len(self._sent):
                if isinstance(message, FileMessage) or (self._sent[number].text == message and not offered):
                    continue
                try:
                    await self._edit(number, message, choices=offered)
                    continue
                except (ChatGone, InteractionExpired, TooLong, ContentBlocked):
                    raise
                except ApiRefused:  # deleted or refused: send it again
                    await self._delete_from(number)
            try:
                await self._send(message, choices=offered)
            except (InteractionExpired, ContentBlocked):
                raise
            except ApiRefused:
                if not (is_file and self._takes_files):
                    raise
                self._takes_files = False  # files may be forbidden there; text may work
                await self._complete(text, choices)
                return
        await self._delete_from(len(messages))

    async def _messages(self, text: str) -> list[OutgoingMessage]:
        """Return the messages of the whole reply; if its sending was stopped, a file replaces the rest."""
        files = self._takes_files
        render = partial(render_messages, limit=self._limit, known=self._read, files=files)
        begun = sum(not each.is_file for each in self._sent)
        return await self._long_reply.messages(
            text, render, lambda each: len(each.content), files=files, begun=begun
        )

    async def _send(
        self, message: OutgoingMessage, *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        reply_to = None if self._sent else self._reply_to()
        if found := await self._find_sent(message, reply_to):
            await self._add(found, message, is_known=False)
            if isinstance(message, TextMessage):
                await self._edit(len(self._sent) - 1, message, choices=choices, growing=growing)
            return
        was_tried, self._tried = self._tried == self._nonce(), self._nonce()
        for is_last in (False, True):
            try:
                posted = await self._place.send(
                    message, nonce=self._nonce(), reply_to=reply_to, choices=choices, growing=growing
                )
            except MessageGone:  # a message with this nonce was deleted; Discord makes no second one
                if is_last:
                    raise
                self._taken_back[len(self._sent)] += 1
            else:
                break
        # An earlier message with this nonce may be there, with less text and no buttons.
        stands = isinstance(message, FileMessage) or (
            posted.content.strip() == message.content.strip() and not (was_tried and choices)
        )
        self._is_looked_for = True
        await self._add(posted, message, is_known=stands)
        if not stands and not growing and isinstance(message, TextMessage):
            await self._edit(len(self._sent) - 1, message, choices=choices)

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

    def _nonce(self) -> str:
        """Return the nonce of the reply's next message, the same in all processes."""
        number = len(self._sent)
        name = f"{self._key}|{number}|{self._taken_back[number]}|{self._is_direct}"
        return hashlib.sha256(name.encode()).hexdigest()[:NONCE_DIGITS]

    async def _edit(
        self, number: int, message: TextMessage, *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        sent = self._sent[number]
        await self._place.edit(sent.id, message, choices=choices, growing=growing)
        self._sent[number] = replace(sent, text=message)

    async def _add(self, posted: SentMessage, message: OutgoingMessage, *, is_known: bool) -> None:
        text = message if is_known and isinstance(message, TextMessage) else None
        self._sent.append(SentPart(posted.id, isinstance(message, FileMessage), self._is_direct, text))
        self._known_messages.add(posted.id)
        await self._keep_ids()

    async def _keep_ids(self) -> None:
        ids = [each.encoded for each in self._sent]
        await self._keep([*ids, *self._long_reply.marks] if ids else ids)

    async def _delete_from(self, first: int) -> None:
        """Delete the messages from position `first` on."""
        while len(self._sent) > first:
            with suppress(ApiRefused):
                await self._place.delete(self._sent[-1].id)
            del self._sent[-1]
            self._taken_back[len(self._sent)] += 1
            await self._keep_ids()

    async def _switch_target(self) -> None:
        """Switch to another target; a private one gets the whole reply again."""
        elsewhere = await self._elsewhere()
        self._place = elsewhere.place
        if elsewhere.is_direct:
            self._is_direct = self._takes_files = True
            self._sent.clear()
            self._long_reply.restart()
