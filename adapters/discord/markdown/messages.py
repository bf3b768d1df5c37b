"""Render Markdown as Discord messages; no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.discord.markdown.links import show_link_targets
from adapters.discord.markdown.markup import Length, prepare, render_markup
from adapters.markdown.messages import MessageFormat
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.splitting import MessagePart, split_text
from adapters.markdown.styled import Styled

LIMIT = 2000
"""Maximum code points of a message; Discord's API counts as Python does (discord-api-docs, issue 1315); below 100 some
markup may be lost."""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A message in Discord's Markdown, neither blank nor too long."""

    text: str


def _measure(styled: Styled) -> Length:
    return Length(*prepare(styled))


def _cut(styled: Styled, headings: Mapping[int, int], limit: int) -> list[TextMessage]:
    text, marks = prepare(styled)
    parts = split_text(text, marks, headings, limit=limit, ruler=Length(text, marks))
    return [_make_message(part, limit) for part in parts]


def _make_message(part: MessagePart, limit: int) -> TextMessage:
    for marks in (part.marks, ()):
        text = render_markup(part.text, marks)
        if len(text) <= limit:
            return TextMessage(text)
    return TextMessage(part.text)


FORMAT = MessageFormat(
    LIMIT, MarkdownOptions(bullets=("- ",), native=True), _measure, _cut, adapt=show_link_targets
)
