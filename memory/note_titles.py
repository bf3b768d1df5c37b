"""The title of a note, from its beginning: that of its front matter, or its first heading; pure."""

import re
from typing import Final

from memory.charset import decode, normalize_newlines
from memory.front_matter import read_front_matter
from memory.outside_code import iterate_lines_outside_code

HEAD_BYTES: Final = 4096
"""How much of a note is read for its title."""
MAX_TITLE_CHARS: Final = 200
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


def decode_head(head: bytes) -> str:
    """Return the whole lines (LF line ends) of a note's first bytes."""
    if len(head) < HEAD_BYTES:
        return decode(head).text
    text = decode(head[: HEAD_BYTES - HEAD_BYTES % 4]).text  # no character of UTF-16 or UTF-32 is cut
    return normalize_newlines(text).rpartition("\n")[0]


def find_title(text: str) -> str:
    """Return the title of a note, given its first lines; "" if they have none."""
    front = read_front_matter(text)
    title = front.title
    if not title and "#" in text:
        lines = iterate_lines_outside_code(text, mark="#", first_line=front.last_line + 1)
        headings = (found[1] for _, line in lines if (found := _HEADING.match(line)) and found[1])
        title = next(headings, "")
    return title[:MAX_TITLE_CHARS]
