"""Read the tags of a note's text, `#work/projects`, and turn tags into search terms; pure, in linear time.

The word of a tag begins with a sign that no word of a text can have, so that a search for `#work` can tell the tag
from the word. A text with a tag has its word and those of the tags above it: what is about `#work/projects` is about
`#work` too.
"""

import re
from collections.abc import Iterator

from memory.normalization import normalize
from memory.outside_code import iterate_lines_outside_code

MAX_TAG_CHARS = 100

_CHARACTER = (
    r"[^\x00-\x1f\x7f\ud800-\udfff\s!-,.:-@\[-^`{-~\u2000-\u200a\u200e-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\uff00-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65]"
)
_TAG = re.compile(rf"(?<![^\s，。、；：！？（「『])#({_CHARACTER}{{1,{MAX_TAG_CHARS}}}+)")
_WHOLE = re.compile(rf"{_CHARACTER}{{1,{MAX_TAG_CHARS}}}")
_NUMBER = re.compile(r"[\d/]+")
_MAYBE_TAG = re.compile("#[^#\\s!]")
_SIGN = "＃"
_ASCII_SIGN = re.compile(r"[\x00-/:-@\[-`{-\x7f]")
# SQLite's `ascii` splits words at these; NFKC turns their wide forms into them, so no other word has one.
_WIDE = str.maketrans({"/": "／", "-": "－", "_": "＿"})


def find_tags(text: str, *, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the tags in a text, without those in code, each with its line (1-based), from `first_line` on.

    A tag stands after white space or at the beginning of a line, and is no number.
    """
    if not _MAYBE_TAG.search(text):
        return
    for number, line in iterate_lines_outside_code(text, mark="#", first_line=first_line):
        yield from ((number, tag) for _, tag in _match_tags(line))


def split_tags(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line of text, each with the tag that it is; "" for text between tags."""
    shown_to = 0
    for found, tag in _match_tags(text) if "#" in text else ():
        if found.start() > shown_to:
            yield text[shown_to : found.start()], ""
        yield found[0], tag
        shown_to = found.end()
    if shown_to < len(text):
        yield text[shown_to:], ""


def _match_tags(line: str) -> Iterator[tuple[re.Match[str], str]]:
    for found in _TAG.finditer(line):
        tag = _strip_slashes(found[1])
        if tag and not _NUMBER.fullmatch(tag):
            yield found, tag


def clean_tag(text: str) -> str:
    """Return a tag as `find_tags` would, from a text with or without `#`; "" if it is not one, such as `1`."""
    tag = _strip_slashes(text.strip().lstrip("#"))
    return tag if _WHOLE.fullmatch(tag) and not _NUMBER.fullmatch(tag) else ""


def _strip_slashes(tag: str) -> str:
    return "/".join(filter(None, tag.split("/"))) if "/" in tag else tag


def tag_words(tag: str) -> list[str]:
    """Return the words of a tag that `find_tags` found: its own, and those of the tags above it."""
    folded = normalize("NFC", normalize("NFKC", tag).casefold()).translate(_WIDE)
    parts = _ASCII_SIGN.sub("", "".join(folded.split())).split("／")
    return [_SIGN + "／".join(parts[:length]) for length in range(1, len(parts) + 1)]


def is_tag_word(word: str) -> bool:
    """Return whether a word is that of a tag."""
    return word.startswith(_SIGN)
