"""An entry before it is written: its Markdown, and the note that it goes to."""

from dataclasses import dataclass
from typing import Literal

WriteTarget = Literal["core", "daily"]


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A block of Markdown and the note that it will be written to."""

    path: str
    block: str
    title: str
    """Heading for the note if it does not exist yet."""
    at: str = ""
    """Time for the entry, such as `14:05`; empty if the note is not a daily log."""
