"""Fold text for the date parser: lower case, one normal form, no accents."""

import unicodedata
from collections.abc import Sequence

from memory.normalization import normalize


def fold(query: str) -> tuple[str, Sequence[int]]:
    """Return `query` folded, and the index in `query` of each folded character."""
    if query.isascii():
        return query.lower(), range(len(query))
    folded: list[str] = []
    places: list[int] = []
    start = 0
    for end in range(1, len(query) + 1):
        if end < len(query) and unicodedata.combining(query[end]):
            continue
        letters = fold_letters(query[start:end])
        folded.append(letters)
        # The last character of a cluster maps to its end, so that a span contains the whole cluster.
        places.extend([start] * (len(letters) - 1) + [end - 1] if letters else [])
        start = end
    return "".join(folded), places


def fold_letters(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = normalize("NFKD", text).lower().replace("ё", "е")
    kept = (letter for letter in apart if not "\u0300" <= letter <= "\u036f" or letter == "\u0327")
    return normalize("NFC", "".join(kept))
