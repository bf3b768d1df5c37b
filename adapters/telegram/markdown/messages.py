"""Render Markdown as Telegram messages; no I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adapters.markdown.blocks import BlockCache, StyledBlock, parse_blocks
from adapters.markdown.layout import FileMessage, growing, lay_out
from adapters.markdown.normalize import close_open_markup, remove_unsendable
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.splitting import MessagePart, Units, split_text
from adapters.markdown.styled import Mark, Styled, is_blank, normalize_marks

LIMIT = 4096
"""Maximum UTF-16 units of a message."""
_MOST_ENTITIES = 100
"""Maximum entities of a message that Telegram applies."""
_LONG_QUOTE = 300
"""Length in characters from which a quote is collapsed."""
_OPTIONS = MarkdownOptions(file_names_as_code=True)


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as in the Bot API; offset and length in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A message's text, neither blank nor too long."""

    text: str
    entities: tuple[Entity, ...] = ()


def render_messages(
    markdown: str, *, limit: int = LIMIT, known: BlockCache | None = None, files: bool = True
) -> list[TextMessage | FileMessage]:
    """Render `markdown` as messages; an empty list if nothing is visible.

    `limit` is in UTF-16 units, at least 2. `files`: whether very long code may become a file. `known`: a dict kept
    for one reply, so that unchanged blocks are not parsed again.
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
    blocks = parse_blocks(text, {} if known is None else known, _OPTIONS)
    return blocks if blocks or growing else [StyledBlock(Styled(text.strip()), "")]


def _measure(styled: Styled) -> Units:
    return Units(styled.text)


def _make_cutter(limit: int) -> Callable[[Styled, Mapping[int, int]], list[TextMessage]]:
    def cut(styled: Styled, headings: Mapping[int, int]) -> list[TextMessage]:
        text = styled.text
        marks = normalize_marks(styled)
        return [
            _make_message(part)
            for part in split_text(
                text, marks, headings, limit=limit, ruler=Units(text), most_marks=_MOST_ENTITIES
            )
        ]

    return cut


def _make_message(part: MessagePart) -> TextMessage:
    units = Units(part.text)
    # A cut may leave only blanks of a mark.
    marks = (mark for mark in part.marks if not is_blank(part.text[mark.start : mark.end]))
    return TextMessage(part.text, tuple(_make_entity(mark, units) for mark in marks))


def _make_entity(mark: Mark, units: Units) -> Entity:
    start = units.at(mark.start)
    url = mark.detail if mark.kind == "text_link" else ""
    language = mark.detail if mark.kind == "pre" else ""
    folded = mark.kind == "blockquote" and mark.end - mark.start > _LONG_QUOTE
    kind = "expandable_blockquote" if folded else mark.kind
    return Entity(kind, start, units.at(mark.end) - start, url, language)
