"""What is alike in the attachments and other contents of platforms' messages; no I/O."""

from collections.abc import Iterable
from dataclasses import dataclass

from adapters.incoming_text import clean_line
from bot import english
from bot.messages import Attachment

QUOTED_CHARS = 4096
"""Maximum characters of a quoted message's text."""
_UNSEEN_PICTURES = ("image/svg+xml", "image/vnd.djvu")
"""Called images, but made of text or pages."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything but the text of a message."""

    words: str = ""
    attachments: tuple[Attachment, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.attachments)


def is_picture(media_type: str) -> bool:
    """Return whether a file can be looked at."""
    return media_type.startswith("image/") and media_type not in _UNSEEN_PICTURES


def describe_sticker(name: str | None) -> str:
    """Return the words for a sticker; `name`: its name or emoji."""
    return english.SENT_STICKER.format(emoji=clean_line(name)).replace(" ]", "]")


def describe_poll(question: str, options: Iterable[str]) -> str:
    """Return the words for a poll."""
    lines = "\n".join(f"- {clean_line(option)}" for option in options)
    return english.SENT_POLL.format(question=clean_line(question), options=lines)
