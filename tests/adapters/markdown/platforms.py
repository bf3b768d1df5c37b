"""The platforms whose messages the tests here render, and what people see of these."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis.strategies import SearchStrategy

from adapters.discord.markdown.messages import FORMAT as DISCORD_FORMAT
from adapters.markdown.messages import MessageFormat
from adapters.telegram.markdown.messages import FORMAT as TELEGRAM_FORMAT
from tests.adapters.discord.markdown import shown as discord
from tests.adapters.discord.markdown.hard import hard_markdown as hard_for_discord
from tests.adapters.telegram.markdown import shown as telegram
from tests.adapters.telegram.markdown.hard import hard_markdown as hard_for_telegram

HARD = (Path(__file__).parent / "hard.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform's messages of any type, whole ones and files."""

    name: str
    format: MessageFormat[Any]
    seen: Callable[[list[Any]], list[str]]
    """What people see of each message."""
    assert_sendable: Callable[[list[Any], int], None]
    hard_markdown: SearchStrategy[str]
    slack: int
    """Characters of the limit that are kept free."""

    def cut(self, markdown: str, limit: int) -> list[str]:
        """Return what people see of each message; all can be sent."""
        messages = self.format.render(markdown, limit=limit)
        self.assert_sendable(messages, limit)
        return self.seen(messages)


PLATFORMS = (
    Platform("Telegram", TELEGRAM_FORMAT, telegram.texts, telegram.assert_sendable, hard_for_telegram, 0),
    Platform("Discord", DISCORD_FORMAT, discord.seen_texts, discord.assert_sendable, hard_for_discord, 4),
)
on_each_platform = pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.name)


def assert_words_in_order(source: str, shown: list[str]) -> None:
    """Every word of hard Markdown is shown, in its order."""
    text = "\n".join(shown)
    source = re.sub(
        r"^[^\n]*(?:~{3,}|`{3,})[^\n]*$", "", source, flags=re.MULTILINE
    )  # languages are not text
    at = 0
    for word in re.findall("wörd[0-9]+|重要|שלום|слово", source):
        found = text.find(word, at)
        assert found >= 0, (word, source, text)
        at = found + len(word)
