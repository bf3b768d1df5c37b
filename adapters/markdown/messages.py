"""Render Markdown as a platform's messages; no I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic

from adapters.markdown.blocks import BlockCache, StyledBlock, parse_blocks
from adapters.markdown.layout import FileMessage, Measure, Text, growing, lay_out
from adapters.markdown.normalize import close_open_markup, remove_unsendable
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.styled import Styled, is_blank


@dataclass(frozen=True, slots=True)
class MessageFormat(Generic[Text]):
    """How a platform shows text."""

    limit: int
    """Maximum size of a message by `measure`."""
    options: MarkdownOptions
    measure: Measure
    cut: Callable[[Styled, Mapping[int, int], int], list[Text]]
    """Splits text into messages of a maximum size; gets the start of each heading by its end."""
    adapt: Callable[[Styled], Styled] = lambda styled: styled
    """Changes a block for the platform."""

    def render(
        self, markdown: str, *, limit: int = 0, known: BlockCache | None = None, files: bool = True
    ) -> list[Text | FileMessage]:
        """Render `markdown` as messages; an empty list if nothing is visible.

        `limit`: another maximum size of a message. `known`: a dict kept for one reply, so that unchanged blocks are
        not parsed again. `files`: whether very long code may become a file.
        """
        blocks = self._parse_blocks(remove_unsendable(markdown), known)
        limit = limit or self.limit
        return lay_out(blocks, self.measure, self._cutter(limit), limit, files=files)

    def render_preview(
        self, markdown: str, *, limit: int = 0, known: BlockCache | None = None
    ) -> list[Text | FileMessage]:
        """Like `render` for an unfinished reply, whose open markup is closed.

        All messages but the last stay the same while text is added, except for links and footnotes with later
        targets and for paragraphs or tables longer than a message. Code at the end that does not fit into one
        message shows only its last lines, because it may become a file.
        """
        blocks = self._parse_blocks(close_open_markup(remove_unsendable(markdown)), known, growing=True)
        limit = limit or self.limit
        return growing(blocks, self.measure, self._cutter(limit), limit)

    def _parse_blocks(
        self, text: str, known: BlockCache | None, *, growing: bool = False
    ) -> list[StyledBlock]:
        if is_blank(text):
            return []
        blocks = [
            replace(block, styled=self.adapt(block.styled))
            for block in parse_blocks(text, {} if known is None else known, self.options)
        ]
        return blocks if blocks or growing else [StyledBlock(Styled(text.strip()), "")]

    def _cutter(self, limit: int) -> Callable[[Styled, Mapping[int, int]], list[Text]]:
        return lambda styled, headings: self.cut(styled, headings, limit)
