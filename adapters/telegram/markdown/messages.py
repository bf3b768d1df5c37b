"""Pure: Markdown → the messages that Telegram shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adapters.markdown.blocks import DefinitionCache, StyledBlock, parse_blocks
from adapters.markdown.layout import FileMessage, growing, lay_out
from adapters.markdown.normalize import close_open_markup, remove_unsendable
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.splitting import MessagePart, Units, split_text
from adapters.markdown.styled import Mark, Styled, is_blank, normalize_marks

LIMIT = 4096
"""Units of UTF-16 that a message may have."""
_MOST_ENTITIES = 100
"""Entities of one message that Telegram looks at."""
_LONG_QUOTE = 300
"""Characters from which a quote is shown folded."""
_OPTIONS = MarkdownOptions(file_names_as_code=True)


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as in the Bot API; offset and length in units of UTF-16."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """Text for one message, never blank and never too long."""

    text: str
    entities: tuple[Entity, ...] = ()


def render_messages(
    markdown: str, *, limit: int = LIMIT, known: DefinitionCache | None = None, files: bool = True
) -> list[TextMessage | FileMessage]:
    """`markdown` as Telegram shows it, in order; nothing where there is nothing to be seen.

    `limit` is in units of UTF-16, at least 2. `files`: whether very long code may be one. `known`, a dict kept for
    the time of one reply, saves reading again what has not changed since the last call.
    """
    return lay_out(
        _parse_blocks(remove_unsendable(markdown), known), _measure, _make_cutter(limit), limit, files=files
    )


def render_preview(
    markdown: str, *, limit: int = LIMIT, known: DefinitionCache | None = None
) -> list[TextMessage | FileMessage]:
    """As `render_messages`, for a reply that still grows: what it has begun is closed.

    All messages but the last stay as they are while text is added, but for links and footnotes whose target
    comes later, and for a paragraph or table longer than a message. So that this holds for code too, which may
    yet grow into a file, code that stands last and does not fit into one message shows its last lines alone.
    """
    blocks = _parse_blocks(close_open_markup(remove_unsendable(markdown)), known, growing=True)
    return growing(blocks, _measure, _make_cutter(limit), limit)


def _parse_blocks(text: str, known: DefinitionCache | None, *, growing: bool = False) -> list[StyledBlock]:
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
    # Where a part was cut, nothing but a blank may be left of a mark.
    marks = (mark for mark in part.marks if not is_blank(part.text[mark.start : mark.end]))
    return TextMessage(part.text, tuple(_make_entity(mark, units) for mark in marks))


def _make_entity(mark: Mark, units: Units) -> Entity:
    start = units.at(mark.start)
    url = mark.detail if mark.kind == "text_link" else ""
    language = mark.detail if mark.kind == "pre" else ""
    folded = mark.kind == "blockquote" and mark.end - mark.start > _LONG_QUOTE
    kind = "expandable_blockquote" if folded else mark.kind
    return Entity(kind, start, units.at(mark.end) - start, url, language)
