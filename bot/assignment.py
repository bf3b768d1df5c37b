"""What one turn is to answer, for whom, and where it is noted how far that has come."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from bot import phrases
from bot.attachments.allowance import Allowance
from bot.attachments.wording import unread
from bot.attempts import is_spent
from bot.conversations.conversation import Also, Conversation
from bot.heard import said, speaker
from bot.inbox import answered, begun, got_on
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.protocol import Message, UserMessage
from bot.state.database import StateFault, to_the_end
from bot.state.inbox import Received
from bot.tools.toolbox import ToolUse

log = logging.getLogger(__name__)


def _nothing() -> list[Received]:
    return []


def _not_counted(messages: Sequence[Received]) -> AbstractAsyncContextManager[None]:
    del messages
    return nullcontext()


Read = Callable[[IncomingMessage, Allowance], Awaitable[UserMessage]]
"""Give a message as the model is to have it, with what came along; what it takes goes off the allowance."""


async def as_it_stands(
    message: IncomingMessage, allowance: Allowance | None = None, *, why: str = phrases.NOT_READ
) -> UserMessage:
    """Give a message with what came along named and not read; `why`: a sentence."""
    del allowance
    told = said(message, *(unread(each, why) for each in message.attachments))
    return UserMessage(told, speaker=speaker(message))


@dataclass(slots=True)
class Assignment:
    """One turn's place in the world. It is the same turn when it goes on after a crash."""

    chat: ChatId
    person: PersonId
    to_hear: list[Received] = field(default_factory=list)
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
    take: Callable[[], list[Received]] = _nothing
    """Gives what has come in meanwhile and may be answered along with the rest."""
    read: Read = as_it_stands
    counting: Callable[[Sequence[Received]], AbstractAsyncContextManager[None]] = _not_counted
    """Counts on disk that messages are begun, before they are read."""
    answers: list[str] = field(default_factory=list)
    """Ids of the messages that the reply answers."""
    parked: bool = False
    """True where the program leaves: the turn ends here, and goes on from its last step another time."""

    async def hear(self, conversation: Conversation) -> None:
        """Put what is to be heard into the conversation, and note that it stands there.

        Reading what came along may take long, and can be cancelled; the rest is done to the end.
        """
        if self.to_hear:
            allowance = Allowance()
            entries = [(await self._as_heard(each, allowance), each.message.sender) for each in self.to_hear]
            await to_the_end(self._put(conversation, entries))
        elif self.since is None:
            self.since, self.conversation = conversation.last_seq, conversation.id

    async def _as_heard(self, received: Received, allowance: Allowance) -> UserMessage:
        if is_spent(received):
            return await as_it_stands(received.message, why=phrases.NOT_READ_AGAIN)
        return await self.read(received.message, allowance)

    async def _put(self, conversation: Conversation, entries: Sequence[tuple[UserMessage, PersonId]]) -> None:
        heard, before = self.to_hear, conversation.last_seq
        also = begun(self.turn, [each.number for each in heard]) if self.turn else None
        await conversation.hear(entries, also=also)
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
                    await self.hear(conversation)
            except asyncio.CancelledError:
                if not self.parked:  # else it waits in the inbox for the next start
                    await to_the_end(self._hear_as_it_stands(conversation))
                raise

    async def _hear_as_it_stands(self, conversation: Conversation) -> None:
        self.read = as_it_stands
        try:
            await self.hear(conversation)
        except StateFault as fault:
            log.error("%s", fault)

    def progress(self, conversation: Conversation) -> Sequence[Message]:
        """What stands in the conversation of this turn so far."""
        since = conversation.last_seq if self.since is None else self.since
        return [each.message for each in conversation.said if each.seq > since]

    def got_on(self) -> Also | None:
        """What notes, together with a step, that the turn gets on."""
        return got_on(self.turn) if self.turn else None

    def answered(self, reply: str) -> Also | None:
        """What notes, together with the last step, that the reply is known."""
        return answered(self.turn, reply) if self.turn else None

    def use(self, conversation: Conversation, call_id: str) -> ToolUse:
        """Where a tool call comes from; the same when it is run again."""
        return ToolUse(f"call-{conversation.id}-{conversation.called_at}-{call_id}", self.chat, self.person)
