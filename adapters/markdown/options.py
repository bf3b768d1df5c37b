"""How text looks on a channel, where channels differ."""

from dataclasses import dataclass

DEEPEST_HEADING = 3
"""Levels of headings that channels with headings of their own know."""
LARGEST_NUMBER = 10**9
"""Points of a list that are counted by channels with lists of their own, from 1 on."""


@dataclass(frozen=True, slots=True)
class MarkdownOptions:
    """What a channel makes of lists, headings and names of files."""

    bullets: tuple[str, ...] = ("• ", "◦ ", "▪ ")
    """Before points, by depth; the last of them for all that stand deeper."""
    native: bool = False
    """Whether the channel draws lists and headings itself; they bear the marks "lead" and "heading" then."""
    file_names_as_code: bool = False
    """Whether bare names of files must be kept from becoming links."""

    def indent(self, bullet: str) -> str:
        """What stands before the further lines of a point."""
        return " " * len(bullet) if self.native else "    "
