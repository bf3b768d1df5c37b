"""Text as dates are looked for in it: small letters, one form, no accents."""

import unicodedata
from collections.abc import Sequence

from memory.normalization import normalize


def fold(query: str) -> tuple[str, Sequence[int]]:
    """`query` folded, and for each letter of that its place in `query`."""
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
        # The last letter of a cluster stands for its end, so that a span holds the whole of it.
        places.extend([start] * (len(letters) - 1) + [end - 1] if letters else [])
        start = end
    return "".join(folded), places


def fold_letters(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = normalize("NFKD", text).lower().replace("ё", "е")
    kept = (letter for letter in apart if not "\u0300" <= letter <= "\u036f" or letter == "\u0327")
    return normalize("NFC", "".join(kept))
