"""Messages of one person in a row: which are answered together, and which are parts of one command."""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from bot.commands.command import command_in
from bot.messages import IncomingMessage
from bot.state.inbox import InboxMessage
from bot.turn_context import TurnContext

MAX_ATTACHMENTS = 20
"""Attachments of consecutive messages that are answered together; a message beyond that gets its own turn."""


def take_similar(message: IncomingMessage, behind: deque[InboxMessage]) -> list[InboxMessage]:
    """Take the next messages of the same person that may be answered together with this one."""
    taken = _take_parts_of(message, behind)
    for _ in taken:
        behind.popleft()
    return taken


def peek_batch(queue: deque[InboxMessage]) -> list[InboxMessage]:
    """Return the next message of a queue and those that may be answered together with it."""
    return [queue[0], *_take_parts_of(queue[0].message, islice(queue, 1, None))] if queue else []


def _take_parts_of(message: IncomingMessage, behind: Iterable[InboxMessage]) -> list[InboxMessage]:
    found, attached = list[InboxMessage](), len(message.attachments)
    for following in behind:
        more = len(following.message.attachments)
        if not _belongs_with(message, following) or (more and attached + more > MAX_ATTACHMENTS):
            break
        attached += more
        found.append(following)
    return found


def take_command_parts(received: InboxMessage, behind: deque[InboxMessage]) -> list[InboxMessage]:
    """Take the other parts of an album whose caption is a command."""
    if received.state != "waiting" or not received.message.attachments or not command_in(received.message):
        return []
    parts = list[InboxMessage]()
    for each in _take_parts_of(received.message, behind) if received.message.more_soon else ():
        # Each part of an album announces that more may come, even the last one.
        if not each.message.more_soon or each.message.text.strip():
            break
        parts.append(behind.popleft())
    return parts


def _belongs_with(message: IncomingMessage, following: InboxMessage) -> bool:
    return (
        following.state == "waiting"
        and following.message.sender == message.sender
        and not (message.alone or following.message.alone)
        and not command_in(following.message)
        and not following.message.is_blank
    )


def add_parts_of_stopped_turn(
    received: InboxMessage, behind: deque[InboxMessage], context: TurnContext, *, before: int
) -> None:
    """Give a turn that is stopped at its beginning the parts of its message, as far as they came `before`."""
    if command_in(received.message):
        return
    context.new_messages = [received]
    for each in _take_parts_of(received.message, behind):
        if before and each.number > before:
            break
        context.new_messages.append(behind.popleft())
    context.answers[:] = [each.message.id for each in context.new_messages]
