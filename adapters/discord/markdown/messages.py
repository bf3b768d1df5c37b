"""Pure: Markdown → the messages that Discord shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adapters.discord.markdown.links import with_links_shown
from adapters.discord.markdown.markup import Length, readied, written
from adapters.text.blocks import Block, Known, blocks_of
from adapters.text.look import Look
from adapters.text.mending import closed, sendable
from adapters.text.sequence import FileMessage, growing, in_order
from adapters.text.splitting import Part, parts_of
from adapters.text.styled import Styled, is_blank

LIMIT = 2000
"""Code points that a message may have: Discord's API counts as Python does (discord-api-docs, issue 1315)."""
_LOOK = Look(bullets=("- ",), native=True)


@dataclass(frozen=True, slots=True)
class TextMessage:
    """Discord's Markdown for one message, never blank and never too long."""

    content: str


def messages_of(
    markdown: str, *, limit: int = LIMIT, known: Known | None = None, files: bool = True
) -> list[TextMessage | FileMessage]:
    """`markdown` as Discord shows it, in order; nothing where there is nothing to be seen.

    `limit` is in code points; below 100 some markup may be left out. `files`: whether very long code may be one.
    `known`, a dict kept for the time of one reply, saves reading again what has not changed since the last call.
    """
    return in_order(_blocks(sendable(markdown), known), _measured, _cutter(limit), limit, files=files)


def preview_of(
    markdown: str, *, limit: int = LIMIT, known: Known | None = None
) -> list[TextMessage | FileMessage]:
    """As `messages_of`, for a reply that still grows: what it has begun is closed.

    All messages but the last stay as they are while text is added, but for links and footnotes whose target
    comes later, and for a paragraph or table longer than a message. So that this holds for code too, which may
    yet grow into a file, code that stands last and does not fit into one message shows its last lines alone.
    """
    blocks = _blocks(closed(sendable(markdown)), known, growing=True)
    return growing(blocks, _measured, _cutter(limit), limit)


def _blocks(text: str, known: Known | None, *, growing: bool = False) -> list[Block]:
    if is_blank(text):
        return []
    blocks = [
        replace(block, styled=with_links_shown(block.styled))
        for block in blocks_of(text, {} if known is None else known, _LOOK)
    ]
    return blocks if blocks or growing else [Block(Styled(text.strip()), "")]


def _measured(styled: Styled) -> Length:
    return Length(*readied(styled))


def _cutter(limit: int) -> Callable[[Styled, Mapping[int, int]], list[TextMessage]]:
    def cut(styled: Styled, headings: Mapping[int, int]) -> list[TextMessage]:
        text, marks = readied(styled)
        parts = parts_of(text, marks, headings, limit=limit, ruler=Length(text, marks))
        return [_message(part, limit) for part in parts]

    return cut


def _message(part: Part, limit: int) -> TextMessage:
    for marks in (part.marks, ()):
        content = written(part.text, marks)
        if len(content) <= limit:
            return TextMessage(content)
    return TextMessage(part.text)
