"""Pure: Unicode's normal forms in time that grows with the text.

Python sorts the marks on one letter by inserting them one by one: 200,000 of them, a note of 400 kB, would hold up
everybody for minutes. Unicode's "stream-safe" form (UAX #15, section 13) cuts such rows apart with a joiner that nobody
sees; no language has thirty marks on one letter.
"""

import re
import unicodedata
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

MOST_MARKS = 30
"""Marks on one letter."""
_JOINER = "\u034f"
_VOICING = "\uff9e\uff9f"
"""Marks of Japanese that count as letters until they are normalized."""
_LONG_ROW = re.compile(rf"(?:[^\w\x00-\x7f]|[{_VOICING}]){{{MOST_MARKS + 1},}}+")


def normalize(form: Form, text: str) -> str:
    """Return a text in a normal form, as `unicodedata.normalize`, but for more than thirty marks on one letter."""
    if len(text) > MOST_MARKS and not text.isascii():
        text = _LONG_ROW.sub(_split_marks, text)
    return unicodedata.normalize(form, text)


def is_normalized(form: Form, text: str) -> bool:
    """Return whether a text is in a normal form; false for one with more than thirty marks on one letter."""
    if len(text) > MOST_MARKS and not text.isascii() and _LONG_ROW.sub(_split_marks, text) != text:
        return False
    return unicodedata.is_normalized(form, text)


def _split_marks(row: re.Match[str]) -> str:
    """Put a joiner behind each thirty marks in a row of marks and signs."""
    kept: list[str] = []
    marks = 0
    for character in row[0]:
        is_mark = unicodedata.category(character)[0] == "M" or character in _VOICING
        if not is_mark or character == _JOINER:
            marks = 0
        elif marks == MOST_MARKS:
            kept.append(_JOINER)
            marks = 1
        else:
            marks += 1
        kept.append(character)
    return "".join(kept)
