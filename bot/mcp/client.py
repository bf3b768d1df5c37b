"""A program that uses the memory over MCP: its name and its rights."""

import re
from dataclasses import dataclass
from typing import get_args

from bot.config.settings import MAX_MCP_NAME_CHARS, McpRights
from bot.sanitize import one_line

UNNAMED = "a program"
_UNUSUAL = re.compile(r"[^\w .,+()/@&'-]")
"""Characters that names of programs do not need, and that could be read as Markdown."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """What one program may do."""

    rights: McpRights
    conversations: bool = False
    """Whether it may search and read what was said in all chats."""
    name: str = ""
    """Recorded with its changes; "" for the name that the program gives itself."""
    how_to_change: str = "the owner can change that"
    """How it is given more, for the texts of refusals; `{option}` and `{setting}` stand for what it needs."""

    def tell_how_to_allow(self, right: McpRights) -> str:
        """Return how it is given a right, as part of a sentence."""
        return self.how_to_change.format(option=f"--rights {right}", setting=f'rights = "{right}"')

    def tell_how_to_allow_conversations(self) -> str:
        """Return how it is allowed to read conversations, as part of a sentence."""
        return self.how_to_change.format(option="--conversations", setting="conversations = true")

    def may(self, right: McpRights) -> bool:
        """Return whether it has a right."""
        order = get_args(McpRights)
        return order.index(self.rights) >= order.index(right)


def quote_name(given: str) -> str:
    """Return what a program calls itself, as one short line of plain text in quotes.

    By the quotes, nobody takes it for the name of a token in the settings, nor for "you".
    """
    name = one_line(_UNUSUAL.sub("", one_line(given)), limit=MAX_MCP_NAME_CHARS)
    return f"“{name}”" if name else UNNAMED
