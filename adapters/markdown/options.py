"""Differences between channels in the look of text."""

from dataclasses import dataclass

MAX_HEADING_LEVEL = 3
"""Heading levels that channels with native headings support."""
MAX_NUMBER = 10**9
"""Largest number of a list item in channels with native lists, which count from 1."""


@dataclass(frozen=True, slots=True)
class MarkdownOptions:
    """How a channel shows lists, headings and file names."""

    bullets: tuple[str, ...] = ("• ", "◦ ", "▪ ")
    """Bullets by depth; the last one for all deeper levels."""
    native: bool = False
    """Whether the channel renders lists and headings itself; they get the marks "lead" and "heading"."""
    file_names_as_code: bool = False
    """Whether bare file names must be prevented from becoming links."""

    def indent(self, bullet: str) -> str:
        """Return the indentation of a list item's further lines."""
        return " " * len(bullet) if self.native else "    "
