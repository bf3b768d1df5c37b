"""Find the line that a link leads to by what it has after `#`: a heading, or a block with a name; pure."""

import re

from memory.chunker import split_passages
from memory.link_targets import fold

_WORD = re.compile(r"\w+")


def find_anchor(text: str, anchor: str) -> int | None:
    """Return the line (1-based) of a heading, or of the block `^name`, of a note with LF line ends; None without it.

    Headings are compared by their words, as `Plan for May` or `plan-for-may`. `Trip#Costs` is the first heading `Costs`
    below `Trip`.
    """
    if anchor.startswith("^"):
        return _find_block(text, anchor)
    left = [words for part in anchor.split("#") if (words := _words(part))]
    for passage in split_passages(text) if left else ():
        if passage.is_heading and _words(passage.text) == left[0]:
            left.pop(0)
            if not left:
                return passage.line_start
    return None


def _find_block(text: str, name: str) -> int | None:
    for number, line in enumerate(text.split("\n"), 1):
        if line.rstrip() == name or line.rstrip().endswith(f" {name}"):
            return number
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))
