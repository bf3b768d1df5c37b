"""Splits a conversation into turns."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from bot.models.protocol import UserMessage

Spoken = TypeVar("Spoken")


def split_turns(
    messages: Sequence[Spoken], message_of: Callable[[Spoken], object] = lambda message: message
) -> list[Sequence[Spoken]]:
    """Split into turns: one or several messages of people, and everything that answers them."""
    starts = [0] if messages else []
    starts += [
        at
        for at, (before, message) in enumerate(pairwise(messages), 1)
        if isinstance(message_of(message), UserMessage) and not isinstance(message_of(before), UserMessage)
    ]
    return [messages[start:end] for start, end in pairwise([*starts, len(messages)])]
