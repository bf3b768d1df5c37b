"""The context of one turn: its messages, its chat and person, and its progress."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from bot import english
from bot.attachments.document_text import READING_SECONDS
from bot.attachments.markup import describe_unreadable
from bot.attempts import has_no_attempts_left
from bot.conversations.conversation import Also, Conversation
from bot.inbox import mark_answered, mark_begun, mark_progress
from bot.language.codes import ENGLISH
from bot.language.current import speaking
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.protocol import Message, UserMessage
from bot.state.database import StateFault, run_to_completion
from bot.state.inbox import InboxMessage
from bot.time_budget import TimeBudget
from bot.tools.toolbox import ToolUse
from bot.user_message import user_message

log = logging.getLogger(__name__)


def _ignore_reply() -> list[InboxMessage]:
    return []


def _uncounted(messages: Sequence[InboxMessage]) -> AbstractAsyncContextManager[None]:
    del messages
    return nullcontext()


ReadAttachments = Callable[[IncomingMessage, TimeBudget], Awaitable[UserMessage]]
"""Return a message for the model, with the content of its attachments; reading uses up the time budget."""


async def without_reading(
    message: IncomingMessage, allowance: TimeBudget | None = None, *, why: str = english.NOT_READ
) -> UserMessage:
    """Return a message whose attachments are named but not read; `why`: a sentence."""
    del allowance
    return user_message(message, documents=[describe_unreadable(each, why) for each in message.attachments])


@dataclass(slots=True)
class TurnContext:
    """The context of one turn; the same turn may go on after a crash."""

    chat: ChatId
    person: PersonId
    new_messages: list[InboxMessage] = field(default_factory=list)
    """Messages to add to the conversation."""
    turn: int = 0
    """Inbox number of the message that began the turn; 0 if the turn is not stored there."""
    edit_of: str = ""
    """Id of the message that the first one replaces."""
    start_seq: int | None = None
    """Seq of the last entry before the turn's first one; None if nothing of the turn is stored."""
    conversation: int | None = None
    """The conversation that `start_seq` refers to."""
    counted: bool = False
    """Whether this attempt is stored; a turn that ends one process after another is given up."""
    with_memory: bool = False
    """Whether the turn may use the memory."""
    groups: tuple[str, ...] = ()
    """What counts for the person in this chat, as in IncomingMessage."""
    in_room: bool = False
    """Whether several people write in the chat."""
    may_flush: bool | None = None
    """Whether what is said in the chat may go into the notes without being asked; None until that was checked."""
    prefer: str = ""
    """The model chosen for the chat."""
    told_no_model: bool = False
    """Whether the chat has been told that no language model answers."""
    take_waiting: Callable[[], list[InboxMessage]] = _ignore_reply
    """Takes new messages that may be answered together with the others."""
    read: ReadAttachments = without_reading
    count_attempts: Callable[[Sequence[InboxMessage]], AbstractAsyncContextManager[None]] = _uncounted
    """Stores that messages are begun, before they are read."""
    answers: list[str] = field(default_factory=list)
    """Ids of the messages that the reply answers."""
    parked: bool = False
    """Whether the program is stopping: the turn ends here, and goes on from its last step later."""

    async def add_messages(self, conversation: Conversation) -> None:
        """Add `new_messages` to the conversation and store that.

        Reading attachments may take long and can be cancelled; the rest always completes.
        """
        if self.new_messages:
            allowance = TimeBudget(READING_SECONDS)
            entries = [
                (await self._render_message(each, allowance), each.message.sender)
                for each in self.new_messages
            ]
            await run_to_completion(self._add_entries(conversation, entries))
        elif self.start_seq is None:
            self.start_seq, self.conversation = conversation.last_seq, conversation.id

    async def _render_message(self, received: InboxMessage, allowance: TimeBudget) -> UserMessage:
        if has_no_attempts_left(received):
            return await without_reading(received.message, why=english.NOT_READ_AGAIN)
        with speaking(ENGLISH):  # what is read stays in the conversation, and is for the model
            return await self.read(received.message, allowance)

    async def _add_entries(
        self, conversation: Conversation, entries: Sequence[tuple[UserMessage, PersonId]]
    ) -> None:
        heard, before = self.new_messages, conversation.last_seq
        also = mark_begun(self.turn, [each.number for each in heard]) if self.turn else None
        await conversation.add_user_messages(entries, also=also)
        self.new_messages = []
        self.conversation = conversation.id
        if self.start_seq is None:
            # Entries that another process added meanwhile come before it.
            self.start_seq = max(before, conversation.last_seq - len(heard))

    async def join(self, conversation: Conversation) -> None:
        """Add messages that came since the turn began; if stopped meanwhile, without reading their attachments."""
        if more := self.take_waiting():
            self.new_messages = more
            self.answers += [each.message.id for each in more]
            try:
                async with self.count_attempts(more):
                    await self.add_messages(conversation)
            except asyncio.CancelledError:
                if not self.parked:  # a parked turn leaves them in the inbox for the next start
                    await run_to_completion(self._add_without_reading(conversation))
                raise

    async def _add_without_reading(self, conversation: Conversation) -> None:
        self.read = without_reading
        try:
            await self.add_messages(conversation)
        except StateFault as fault:
            log.error("%s", fault)

    def load_progress(self, conversation: Conversation) -> Sequence[Message]:
        """Return the messages of this turn that are stored in the conversation."""
        start_seq = conversation.last_seq if self.start_seq is None else self.start_seq
        return [each.message for each in conversation.entries if each.seq > start_seq]

    def mark_progress(self) -> Also | None:
        """Return a function that stores, along with a step, that the turn has made progress."""
        return mark_progress(self.turn) if self.turn else None

    def mark_answered(self, reply: str) -> Also | None:
        """Return a function that stores, along with the last step, that the reply is known."""
        return mark_answered(self.turn, reply) if self.turn else None

    def tool_context(self, conversation: Conversation, call_id: str) -> ToolUse:
        """Return the origin of a tool call; it is the same when the call runs again."""
        began = 1 + (conversation.last_seq if self.start_seq is None else self.start_seq)
        return ToolUse(
            f"call-{conversation.id}-{conversation.last_call_seq}-{call_id}",
            self.chat,
            self.person,
            self.groups,
            conversation=conversation.id,
            asked_at=min(began, conversation.last_question_seq or began),
            model=conversation.last_model,
            # The same after a crash, when results of other calls of the step may be stored already.
            reading=conversation.reading(before=conversation.last_call_seq),
        )
