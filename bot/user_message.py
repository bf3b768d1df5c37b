"""Turns an incoming message into the one that a model gets."""

from collections.abc import Iterable

from bot.messages import IncomingMessage
from bot.models.protocol import AttachedText, Image, UserMessage


def user_message(
    message: IncomingMessage, *, images: Iterable[Image] = (), documents: Iterable[AttachedText] = ()
) -> UserMessage:
    """Return a message with the content of its attachments; the speaker is named only in a room."""
    quoted = message.quoted if message.quoted and message.quoted.text.strip() else None
    return UserMessage(
        message.text,
        tuple(images),
        speaker=message.sender_name if message.in_room else "",
        quoted=quoted,
        forwarded_from=message.forwarded_from,
        documents=tuple(documents),
    )
