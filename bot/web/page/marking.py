"""Pure: where the words that were asked for stand in a passage."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.words import Term, place_tokens


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text."""

    text: str
    is_asked_for: bool


def mark(text: str, terms: Sequence[Term]) -> list[Piece]:
    """Cut `text` into pieces, those that the terms ask for and those between; joined they are the text again."""
    singles = {term.tokens[0] for term in terms if len(term.tokens) == 1}
    pairs = {term.tokens for term in terms if len(term.tokens) == 2}
    tokens = place_tokens(text)
    found = [token in singles for token, _, _ in tokens]
    for index in range(1, len(tokens)):
        if (tokens[index - 1][0], tokens[index][0]) in pairs:
            found[index - 1] = found[index] = True
    pieces: list[Piece] = []
    at = 0
    for start, end in _joined(
        [(start, end) for (_, start, end), is_in in zip(tokens, found, strict=True) if is_in]
    ):
        if start > at:
            pieces.append(Piece(text[at:start], False))
        pieces.append(Piece(text[start:end], True))
        at = end
    if at < len(text):
        pieces.append(Piece(text[at:], False))
    return pieces


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that touch as one: characters of a script without spaces are marked as the words that they are."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] >= start:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
