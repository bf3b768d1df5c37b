"""Render Markdown as Telegram messages; no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.markdown.messages import MessageFormat
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.splitting import MessagePart, Units, split_text
from adapters.markdown.styled import Mark, Styled, is_blank, normalize_marks

LIMIT = 4096
"""Maximum UTF-16 units of a message."""
_MAX_ENTITIES = 100
"""Maximum entities of a message that Telegram applies."""
_LONG_QUOTE = 300
"""Length in characters from which a quote is collapsed."""


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


def _cut(styled: Styled, headings: Mapping[int, int], limit: int) -> list[TextMessage]:
    text, ruler = styled.text, Units(styled.text)
    marks = normalize_marks(styled)
    parts = split_text(text, marks, headings, limit=limit, ruler=ruler, max_marks=_MAX_ENTITIES)
    return [_make_message(part) for part in parts]


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


FORMAT = MessageFormat(
    LIMIT, MarkdownOptions(file_names_as_code=True), lambda styled: Units(styled.text), _cut
)
