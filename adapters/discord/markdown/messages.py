"""Render Markdown as Discord messages; no I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adapters.discord.markdown.links import show_link_targets
from adapters.discord.markdown.markup import Length, prepare, render_markup
from adapters.markdown.blocks import BlockCache, StyledBlock, parse_blocks
from adapters.markdown.layout import FileMessage, growing, lay_out
from adapters.markdown.normalize import close_open_markup, remove_unsendable
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.splitting import MessagePart, split_text
from adapters.markdown.styled import Styled, is_blank

LIMIT = 2000
"""Maximum code points of a message; Discord's API counts as Python does (discord-api-docs, issue 1315)."""
_OPTIONS = MarkdownOptions(bullets=("- ",), native=True)


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A message in Discord's Markdown, neither blank nor too long."""

    content: str


def render_messages(
    markdown: str, *, limit: int = LIMIT, known: BlockCache | None = None, files: bool = True
) -> list[TextMessage | FileMessage]:
    """Render `markdown` as messages; an empty list if nothing is visible.

    `limit` is in code points; below 100 some markup may be lost. `files`: whether very long code may become a file.
    `known`: a dict kept for one reply, so that unchanged blocks are not parsed again.
    """
    return lay_out(
        _parse_blocks(remove_unsendable(markdown), known), _measure, _make_cutter(limit), limit, files=files
    )


def render_preview(
    markdown: str, *, limit: int = LIMIT, known: BlockCache | None = None
) -> list[TextMessage | FileMessage]:
    """Like `render_messages` for an unfinished reply, whose open markup is closed.

    All messages but the last stay the same while text is added, except for links and footnotes with later targets
    and for paragraphs or tables longer than a message. Code at the end that does not fit into one message shows
    only its last lines, because it may become a file.
    """
    blocks = _parse_blocks(close_open_markup(remove_unsendable(markdown)), known, growing=True)
    return growing(blocks, _measure, _make_cutter(limit), limit)


def _parse_blocks(text: str, known: BlockCache | None, *, growing: bool = False) -> list[StyledBlock]:
    if is_blank(text):
        return []
    blocks = [
        replace(block, styled=show_link_targets(block.styled))
        for block in parse_blocks(text, {} if known is None else known, _OPTIONS)
    ]
    return blocks if blocks or growing else [StyledBlock(Styled(text.strip()), "")]


def _measure(styled: Styled) -> Length:
    return Length(*prepare(styled))


def _make_cutter(limit: int) -> Callable[[Styled, Mapping[int, int]], list[TextMessage]]:
    def cut(styled: Styled, headings: Mapping[int, int]) -> list[TextMessage]:
        text, marks = prepare(styled)
        parts = split_text(text, marks, headings, limit=limit, ruler=Length(text, marks))
        return [_make_message(part, limit) for part in parts]

    return cut


def _make_message(part: MessagePart, limit: int) -> TextMessage:
    for marks in (part.marks, ()):
        content = render_markup(part.text, marks)
        if len(content) <= limit:
            return TextMessage(content)
    return TextMessage(part.text)
