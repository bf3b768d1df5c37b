"""Take turns without an assistant: a person says something in a chat."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import count

from bot.agent import Agent
from bot.conversations.conversation import Conversation
from bot.messages import Attachment, ChatId, IncomingMessage, PersonId, Quoted, Reply, ReplyPart
from bot.state.database import run_to_completion
from bot.state.inbox import InboxMessage
from bot.tools.toolbox import ToolUse
from bot.turn_context import TurnContext

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
OWNER = PersonId("terminal", "owner")
HERE = ChatId("terminal", "main")
SOMEWHERE = ToolUse("call-1", HERE, OWNER)

_numbers = count(1)


def message(
    text: str,
    *,
    chat: str = "terminal:main",
    sender: str = "terminal:owner",
    alone: bool = True,
    in_room: bool = False,
    edit_of: str = "",
    attachments: tuple[Attachment, ...] = (),
    quoted: Quoted | None = None,
) -> IncomingMessage:
    channel, _, person = sender.partition(":")
    return IncomingMessage(
        str(next(_numbers)),
        ChatId.parse(chat),
        PersonId(channel, person),
        text,
        NOW,
        alone=alone,
        in_room=in_room,
        edit_of=edit_of,
        attachments=attachments,
        quoted=quoted,
    )


async def run_turn(agent: Agent, conversation: Conversation, text: str) -> AsyncGenerator[ReplyPart, None]:
    """Answer a message; the message is stored no matter how early the answer is interrupted."""
    said = message(text, chat=str(conversation.chat))
    assignment = TurnContext(said.chat, said.sender, new_messages=[InboxMessage(0, said)])

    async def begin() -> None:
        await conversation.load()
        await assignment.add_messages(conversation)

    await run_to_completion(begin())
    async with aclosing(agent.run_turn(conversation, assignment)) as parts:
        async for part in parts:
            yield part


async def _forget(ids: Sequence[str]) -> None:
    del ids


async def _whole(text: str) -> AsyncIterator[ReplyPart]:
    yield ReplyPart(text, final=True)


def reply_to(message: IncomingMessage, parts: AsyncIterator[ReplyPart]) -> Reply:
    """Return the reply to a message as an adapter receives it."""
    return Reply(message.chat, message, f"reply-{message.id}", parts, _forget)


def notice(chat: ChatId, text: str) -> Reply:
    """Return a notice as an adapter receives it."""
    return Reply(chat, None, "notice-1", _whole(text), _forget)
