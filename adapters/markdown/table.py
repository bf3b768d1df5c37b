"""Render tables for a phone: fixed-width columns if they fit, otherwise a list."""

from collections.abc import Sequence
from itertools import zip_longest

from wcwidth import wcswidth

from adapters.markdown.styled import HIDDEN, Styled, StyledBuilder

MAX_WIDTH = 40
"""Maximum width in characters that fits on a phone."""
_BETWEEN = " | "


def render_table(rows: Sequence[Sequence[Styled]], alignments: Sequence[str]) -> Styled:
    """Render a table; the first row is the header."""
    columns = max(map(len, rows), default=0)
    widths = [max(_text_width(row[at].text) for row in rows if at < len(row)) for at in range(columns)]
    fits = sum(widths) + len(_BETWEEN) * (columns - 1) <= MAX_WIDTH
    # A list keeps links and spoilers, which code cannot contain.
    lively = any(mark.kind in ("text_link", "spoiler") for row in rows for cell in row for mark in cell.marks)
    broken = any("\n" in cell.text for row in rows for cell in row)
    return (
        _render_columns(rows, widths, alignments)
        if fits and not lively and not broken
        else _render_list(rows)
    )


def _render_columns(
    rows: Sequence[Sequence[Styled]], widths: Sequence[int], alignments: Sequence[str]
) -> Styled:
    out = StyledBuilder()
    for number, row in enumerate(rows):
        if number:
            out.write("\n")
        for at, (cell, width, side) in enumerate(zip_longest(row, widths, alignments, fillvalue=None)):
            if at:
                out.write(_BETWEEN)
            shown = cell or Styled("")
            blank = (width or 0) - _text_width(shown.text)
            before = blank if side == "Right" else blank // 2 if side == "Center" else 0
            out.write(" " * before)
            out.add(Styled(shown.text, tuple(mark for mark in shown.marks if mark.kind == HIDDEN)))
            out.write(" " * (blank - before if at < len(widths) - 1 else 0))
        if not number and len(rows) > 1:
            out.write("\n" + "-+-".join("-" * width for width in widths))
    out.mark("pre", 0)
    return out.build()


def _render_list(rows: Sequence[Sequence[Styled]]) -> Styled:
    """Return the header as a line, then an item per row, with column names if there are several."""
    head, *others = rows
    out = StyledBuilder()
    for at, cell in enumerate(head):
        out.write(" · " if at else "")
        out.add(cell)
    out.mark("bold", 0)
    for row in others:
        out.write("\n• ")
        for at, cell in enumerate(row):
            if not cell.text and not cell.marks:
                continue
            if at and len(head) > 2:
                name = _shorten_name(head[at].text) if at < len(head) else ""
                out.write("\n    ")
                start = out.size
                out.write(name)
                out.mark("italic", start)
                out.write(": " if name else "")
            elif at:
                out.write(": ")
            out.add(_join_lines(cell))
    return out.build()


def _shorten_name(name: str) -> str:
    """Shorten a column's name for its repetition in each row."""
    return name if len(name) <= MAX_WIDTH else f"{name[: MAX_WIDTH - 1]}…"


def _join_lines(cell: Styled) -> Styled:
    return Styled(cell.text.replace("\n", " "), cell.marks)


def _text_width(text: str) -> int:
    width = wcswidth(text)
    return int(width) if width >= 0 else len(text)
