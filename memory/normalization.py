"""Unicode normalization in linear time; pure.

Python sorts the marks on one letter by insertion: 200,000 of them, a note of 400 kB, would block everybody
for minutes. Unicode's "stream-safe" form (UAX #15, section 13) separates such runs by an invisible joiner; no
language has thirty marks on one letter.
"""

import re
import unicodedata
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

MAX_MARKS = 30
"""Maximum number of marks on one letter."""
_JOINER = "\u034f"
_VOICING = "\uff9e\uff9f"
"""Japanese marks that count as letters until they are normalized."""
_LONG_ROW = re.compile(rf"(?:[^\w\x00-\x7f]|[{_VOICING}]){{{MAX_MARKS + 1},}}+")


def normalize(form: Form, text: str) -> str:
    """Normalize a text as `unicodedata.normalize` does, except for more than thirty marks on one letter."""
    if len(text) > MAX_MARKS and not text.isascii():
        text = _LONG_ROW.sub(_split_marks, text)
    return unicodedata.normalize(form, text)


def is_normalized(form: Form, text: str) -> bool:
    """Return whether a text is normalized; False for more than thirty marks on one letter."""
    if len(text) > MAX_MARKS and not text.isascii() and _LONG_ROW.sub(_split_marks, text) != text:
        return False
    return unicodedata.is_normalized(form, text)


def _split_marks(row: re.Match[str]) -> str:
    """Insert a joiner after each thirty marks of a run."""
    kept: list[str] = []
    marks = 0
    for character in row[0]:
        is_mark = unicodedata.category(character)[0] == "M" or character in _VOICING
        if not is_mark or character == _JOINER:
            marks = 0
        elif marks == MAX_MARKS:
            kept.append(_JOINER)
            marks = 1
        else:
            marks += 1
        kept.append(character)
    return "".join(kept)
