"""What one turn is to answer, for whom, and where it is noted how far that has come."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from bot import phrases
from bot.attachments.markup import format_unreadable
from bot.attachments.time_budget import TimeBudget
from bot.attempts import has_no_attempts_left
from bot.conversations.conversation import Also, Conversation
from bot.inbox import mark_answered, mark_begun, mark_progress
from bot.message_text import render_message, speaker_name
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.protocol import Message, UserMessage
from bot.state.database import StateFault, run_to_completion
from bot.state.inbox import InboxMessage
from bot.tools.toolbox import ToolUse

log = logging.getLogger(__name__)


def _ignore_reply() -> list[InboxMessage]:
    return []


def _uncounted(messages: Sequence[InboxMessage]) -> AbstractAsyncContextManager[None]:
    del messages
    return nullcontext()


ReadAttachments = Callable[[IncomingMessage, TimeBudget], Awaitable[UserMessage]]
"""Give a message as the model is to have it, with what came along; what it takes goes off the allowance."""


async def without_reading(
    message: IncomingMessage, allowance: TimeBudget | None = None, *, why: str = phrases.NOT_READ
) -> UserMessage:
    """Give a message with what came along named and not read; `why`: a sentence."""
    del allowance
    told = render_message(message, *(format_unreadable(each, why) for each in message.attachments))
    return UserMessage(told, speaker=speaker_name(message))


@dataclass(slots=True)
class TurnContext:
    """One turn's place in the world. It is the same turn when it goes on after a crash."""

    chat: ChatId
    person: PersonId
    to_hear: list[InboxMessage] = field(default_factory=list)
    """Messages that the conversation does not have yet."""
    turn: int = 0
    """The number in the inbox of the message that began it; 0 where nothing is noted there."""
    edit_of: str = ""
    """The id of the message in whose place the first one was put."""
    since: int | None = None
    """Seq of the entry before its first one; None where all is before it."""
    conversation: int | None = None
    """The one that `since` counts in."""
    counted: bool = False
    """Whether it is noted that this process works at it; what ends one process after the other is given up."""
    with_memory: bool = False
    """Whether it may use the memory."""
    in_room: bool = False
    """Whether several people write in the chat."""
    may_flush: bool = False
    """Whether what is said in the chat may go into the notes unasked."""
    prefer: str = ""
    """The model that a person chose for the chat."""
    told_no_model: bool = False
    """Whether the chat was told before that no language model answers."""
    take: Callable[[], list[InboxMessage]] = _ignore_reply
    """Gives what has come in meanwhile and may be answered along with the rest."""
    read: ReadAttachments = without_reading
    counting: Callable[[Sequence[InboxMessage]], AbstractAsyncContextManager[None]] = _uncounted
    """Counts on disk that messages are begun, before they are read."""
    answers: list[str] = field(default_factory=list)
    """Ids of the messages that the reply answers."""
    parked: bool = False
    """True where the program leaves: the turn ends here, and goes on from its last step another time."""

    async def add_messages(self, conversation: Conversation) -> None:
        """Put what is to be heard into the conversation, and note that it stands there.

        Reading what came along may take long, and can be cancelled; the rest is done to the end.
        """
        if self.to_hear:
            allowance = TimeBudget()
            entries = [
                (await self._render_message(each, allowance), each.message.sender) for each in self.to_hear
            ]
            await run_to_completion(self._add_entries(conversation, entries))
        elif self.since is None:
            self.since, self.conversation = conversation.last_seq, conversation.id

    async def _render_message(self, received: InboxMessage, allowance: TimeBudget) -> UserMessage:
        if has_no_attempts_left(received):
            return await without_reading(received.message, why=phrases.NOT_READ_AGAIN)
        return await self.read(received.message, allowance)

    async def _add_entries(
        self, conversation: Conversation, entries: Sequence[tuple[UserMessage, PersonId]]
    ) -> None:
        heard, before = self.to_hear, conversation.last_seq
        also = mark_begun(self.turn, [each.number for each in heard]) if self.turn else None
        await conversation.add_user_messages(entries, also=also)
        self.to_hear = []
        self.conversation = conversation.id
        if self.since is None:
            # What another process said in between stands before it.
            self.since = max(before, conversation.last_seq - len(heard))

    async def join(self, conversation: Conversation) -> None:
        """Hear what has come in since the turn began; stopped meanwhile, it is heard as it stands."""
        if more := self.take():
            self.to_hear = more
            self.answers += [each.message.id for each in more]
            try:
                async with self.counting(more):
                    await self.add_messages(conversation)
            except asyncio.CancelledError:
                if not self.parked:  # else it waits in the inbox for the next start
                    await run_to_completion(self._add_without_reading(conversation))
                raise

    async def _add_without_reading(self, conversation: Conversation) -> None:
        self.read = without_reading
        try:
            await self.add_messages(conversation)
        except StateFault as fault:
            log.error("%s", fault)

    def load_progress(self, conversation: Conversation) -> Sequence[Message]:
        """What stands in the conversation of this turn so far."""
        since = conversation.last_seq if self.since is None else self.since
        return [each.message for each in conversation.entries if each.seq > since]

    def mark_progress(self) -> Also | None:
        """What notes, together with a step, that the turn gets on."""
        return mark_progress(self.turn) if self.turn else None

    def mark_answered(self, reply: str) -> Also | None:
        """What notes, together with the last step, that the reply is known."""
        return mark_answered(self.turn, reply) if self.turn else None

    def tool_context(self, conversation: Conversation, call_id: str) -> ToolUse:
        """Where a tool call comes from; the same when it is run again."""
        return ToolUse(
            f"call-{conversation.id}-{conversation.last_call_seq}-{call_id}", self.chat, self.person
        )
