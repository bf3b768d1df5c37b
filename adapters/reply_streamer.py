"""Stream one reply into a chat: shown while it grows, complete at the end; the same on every platform."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol

from adapters.api_errors import ApiRefused, ChatGone, ContentBlocked, MessageGone, TargetChanged, TooLong
from adapters.latest_part import SETTLE_SECONDS, LatestPart
from adapters.long_reply import LongReply, message_ids, render_part
from adapters.markdown.blocks import BlockCache
from adapters.markdown.layout import FileMessage, Text
from adapters.markdown.messages import MessageFormat
from adapters.send_slot import SendSlot
from bot import phrases
from bot.messages import ChannelFault, Choice, ReplyPart, Sending
from bot.sanitize import one_line

log = logging.getLogger(__name__)

TYPING_AFTER = 0.4
"""Seconds before the typing indicator is shown; most commands finish sooner."""
AFTER_FAULT = 2.0
"""Seconds that a reply does not grow after a failed call."""
FILE = "f"
"""Mark before a stored id whose message is a file."""
MIN_MESSAGE_LIMIT = 256


@dataclass(frozen=True, slots=True)
class SentPart(Generic[Text]):
    """A message that shows part of the reply."""

    id: int
    is_file: bool = False
    mark: str = ""
    """Letters that the platform stores before the id."""
    text: Text | None = None
    """Its content, if known."""

    @property
    def encoded(self) -> str:
        """The message's id in stored form."""
        return f"{self.mark}{FILE if self.is_file else ''}{self.id}"

    @classmethod
    def parse(cls, stored: str) -> "SentPart[Text]":
        """Parse a stored id."""
        marks = stored.rstrip("0123456789")
        return cls(int(stored[len(marks) :]), FILE in marks, marks.replace(FILE, ""))


class MessageSender(Protocol[Text]):
    """Sends the messages of one reply to where it is shown.

    Raises ApiRefused, and ChannelFault if a later call may work. `position`: a message's place within the reply, from
    0 on. `growing`: the caller has a slot, and a failed call is not retried.
    """

    platform: str
    """Its name as people write it."""
    typing_seconds: float
    """Seconds between typing indicators."""

    @property
    def draft_seconds(self) -> float | None:
        """Seconds after which the draft that is shown has to be repeated; None if none is shown."""
        ...

    async def wait_for_slot(self, *, urgent: bool) -> SendSlot:
        """Wait until something may be shown; the caller must finish or cancel the slot.

        `urgent`: for the end of the reply.
        """
        ...

    def pause(self, seconds: float) -> None:
        """Grant no slot for `seconds`."""
        ...

    async def send(
        self, message: Text | FileMessage, *, position: int, choices: Sequence[Choice], growing: bool
    ) -> SentPart[Text]:
        """Send a message; its text is only known afterwards if the platform has just this one, with its buttons."""
        ...

    async def edit(self, message: int, text: Text, *, choices: Sequence[Choice], growing: bool) -> None:
        """Replace a message's text and buttons."""
        ...

    async def draft(self, message: Text) -> bool:
        """Show the end of the reply as being written; return False if drafts are not possible here."""
        ...

    async def delete(self, message: int, *, position: int) -> None:
        """Delete a message, if possible."""
        ...

    async def typing(self) -> None:
        """Show the typing indicator."""
        ...

    async def change_target(self, refused: TargetChanged) -> bool:
        """Continue elsewhere; return whether the messages sent so far are out of reach.

        Raises ApiRefused if there is nowhere to continue.
        """
        ...

    async def withdraw(self) -> None:
        """Remove what announces a reply, as none follows."""
        ...


class ReplyStreamer(Generic[Text]):
    """Shows one reply in messages that it edits, and by drafts where there are any."""

    def __init__(
        self,
        sender: MessageSender[Text],
        form: MessageFormat[Text],
        *,
        shown: Sequence[str],
        keep: Callable[[Sequence[str]], Awaitable[None]],
        is_answer: bool = True,
        settle_seconds: float = SETTLE_SECONDS,
        sending: Sending | None = None,
    ) -> None:
        """`shown`: stored ids of the messages that show it already; `keep` stores them.

        `is_answer`: somebody waits for it.
        """
        self._sender = sender
        self._format = form
        self._sent: list[SentPart[Text]] = [SentPart.parse(each) for each in message_ids(shown)]
        self._long_reply = LongReply(shown, sending)
        self._keep = keep
        self._is_answer = is_answer
        self._settle_seconds = settle_seconds
        self._limit = form.limit
        self._takes_files = True
        self._known: BlockCache = {}
        """Parsed blocks of the text."""

    async def show(self, parts: AsyncIterator[ReplyPart]) -> None:
        """Show the reply. Raises ApiRefused if that is impossible for good, ChannelFault if it may work later."""
        newest = LatestPart(parts)
        typing = asyncio.create_task(self._show_typing()) if self._is_answer else None
        try:
            await newest.settle(self._settle_seconds)
            while await newest.wait_for_change(self._sender.draft_seconds):
                if slot := await self._wait_for_slot(newest):
                    try:
                        fault = await self._show_growth(newest.text)
                    finally:
                        slot.finish()
                    if fault:
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
            await self._sender.withdraw()

    # -- growing --------------------------------------------------------------------------------------------

    async def _wait_for_slot(self, newest: LatestPart) -> SendSlot | None:
        """Wait until a step may be shown; return None if the reply ended before."""
        waiting = asyncio.create_task(self._sender.wait_for_slot(urgent=False))
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
        except TargetChanged as refused:
            await self._change_target(refused)
        except (ApiRefused, ChannelFault) as fault:
            if isinstance(fault, ChannelFault) and fault.retry_after:
                self._sender.pause(fault.retry_after)
                return fault.retry_after
            return AFTER_FAULT
        return 0.0

    async def _step(self, text: str) -> None:
        """Send or edit the first message that differs from its target content."""
        messages = await render_part(text, partial(self._format.render_preview, known=self._known))
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
            elif number < len(messages) - 1 or not await self._sender.draft(message):
                await self._send(message, growing=True)
                return

    async def _show_typing(self) -> None:
        """Show the typing indicator until part of the reply is visible."""
        await asyncio.sleep(TYPING_AFTER)
        while self._sender.draft_seconds is None and not any(each.text for each in self._sent):
            try:
                await self._sender.typing()
            except (TargetChanged, ChannelFault):
                pass  # the indicator is optional
            except ApiRefused:
                return
            await asyncio.sleep(self._sender.typing_seconds)

    # -- finishing ------------------------------------------------------------------------------------------

    async def _finish(self, part: ReplyPart) -> None:
        """Make the complete reply stand there, whatever was shown before; or else say that it is refused."""
        text, choices = part.text, part.choices
        refusal = phrases.NOT_SHOWN.format(platform=self._sender.platform)
        while True:
            try:
                await self._complete(text, choices)
            except TargetChanged as refused:
                await self._change_target(refused)
            except TooLong:
                self._limit //= 2
                if self._limit < MIN_MESSAGE_LIMIT:
                    raise
            except ChatGone:
                raise
            except ApiRefused as refused:
                if text in (phrases.REPLY_BLOCKED, refusal):
                    raise
                log.error("%s refused a reply: %s", self._sender.platform, one_line(str(refused)))
                text = phrases.REPLY_BLOCKED if isinstance(refused, ContentBlocked) else refusal
                choices, self._limit = (), self._format.limit
            else:
                return

    async def _complete(self, text: str, choices: Sequence[Choice]) -> None:
        messages = await self._messages(text)
        for number, message in enumerate(messages):
            if number and number >= len(self._sent):
                # The rate limit is waited for before, so that a stop meanwhile still applies to the message.
                (await self._sender.wait_for_slot(urgent=True)).cancel()
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
                except (ChatGone, TargetChanged, TooLong, ContentBlocked):
                    raise
                except ApiRefused:  # deleted, too old or refused: send it again
                    await self._delete_from(number)
            try:
                await self._send(message, choices=offered)
            except (TargetChanged, ContentBlocked):
                raise
            except ApiRefused:
                if not (is_file and self._takes_files):
                    raise
                self._takes_files = False  # files may be forbidden there; text may work
                await self._complete(text, choices)
                return
        await self._delete_from(len(messages))

    async def _messages(self, text: str) -> list[Text | FileMessage]:
        """Return the messages of the whole reply; if its sending was stopped, a file replaces the rest."""
        files = self._takes_files
        render = partial(self._format.render, limit=self._limit, known=self._known, files=files)
        begun = sum(not each.is_file for each in self._sent)
        return await self._long_reply.messages(text, render, files=files, begun=begun)

    async def _send(
        self, message: Text | FileMessage, *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        position = len(self._sent)
        sent = await self._sender.send(message, position=position, choices=choices, growing=growing)
        self._sent.append(sent)
        await self._keep_ids()
        if sent.text is None and not growing and not isinstance(message, FileMessage):
            await self._edit(position, message, choices=choices)

    async def _edit(
        self, number: int, message: Text, *, choices: Sequence[Choice] = (), growing: bool = False
    ) -> None:
        sent = self._sent[number]
        await self._sender.edit(sent.id, message, choices=choices, growing=growing)
        self._sent[number] = replace(sent, text=message)

    async def _keep_ids(self) -> None:
        ids = [each.encoded for each in self._sent]
        await self._keep([*ids, *self._long_reply.marks] if ids else ids)

    async def _delete_from(self, first: int) -> None:
        """Delete the messages from position `first` on."""
        while len(self._sent) > first:
            await self._sender.delete(self._sent[-1].id, position=len(self._sent) - 1)
            del self._sent[-1]
            await self._keep_ids()

    async def _change_target(self, refused: TargetChanged) -> None:
        """Continue elsewhere, with the whole reply if its messages are out of reach."""
        if await self._sender.change_target(refused):
            self._sent.clear()
            self._takes_files = True
            self._long_reply.restart()


def _cancel_slot(waiting: "asyncio.Task[SendSlot]") -> None:
    """Stop waiting for a slot, and return it if it was already granted."""

    def given(task: "asyncio.Task[SendSlot]") -> None:
        if not task.cancelled():
            task.result().cancel()

    waiting.cancel()
    waiting.add_done_callback(given)
