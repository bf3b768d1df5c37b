"""Markdown for a terminal: rich's renderer, adapted to keep every word and line break."""

from collections.abc import Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, Paragraph, TableElement
from rich.segment import Segment

from bot.sanitize import strip_controls


class _WholeTable(TableElement):
    """A table whose cells wrap; rich would cut them with an ellipsis."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = [] if self.body is None else self.body.rows
        if self.header is not None and self.header.row is not None:
            rows = [self.header.row, *rows]
        for row in rows:
            for cell in row.cells:
                cell.content.overflow = "fold"
        yield from super().__rich_console__(console, options)


class LineByLine:
    """Splits segments at line ends, because rich cuts segments of many lines in quadratic time."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._renderable, options):
            if segment.control:
                yield segment
                continue
            *lines, rest = segment.text.split("\n")
            yield from (Segment(f"{line}\n", segment.style) for line in lines)
            if rest:
                yield Segment(rest, segment.style)


class _ParagraphByLines(Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = self.justify
        yield LineByLine(self.text)


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class ChatMarkdown(Markdown):
    """A chat's Markdown: HTML stays text, line breaks are kept, and links show their targets."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "table_open": _WholeTable,
        "heading_open": _LeftHeading,
        "paragraph_open": _ParagraphByLines,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        self.markup = strip_controls(text)
        # A definition such as `[1]: …` would not be shown; chats have none, but notes may.
        parser = (
            MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")
        )
        self.parsed = [_as_text_token(token) for token in parser.parse(self.markup)]


def _as_text_token(token: Token) -> Token:
    if token.children:
        token.children = list(_simplify_links(token.children))
    return token


def _simplify_links(tokens: list[Token]) -> Iterator[Token]:
    """Keep line breaks, show `<https://…>` once, and show an image as its text and target."""
    bare = False
    for token in tokens:
        if token.type == "softbreak":
            token.type = "hardbreak"
        elif token.type == "link_open" and token.info == "auto":
            bare = True
            continue
        elif token.type == "link_close" and bare:
            bare = False
            continue
        elif token.type == "image":
            target = str(token.attrs.get("src", ""))
            token = Token("text", "", 0, content=f"{token.content} ({target})".lstrip())
        elif token.type == "text":
            token.content = strip_controls(token.content)  # `&#13;` has become a control character here
        yield token
