"""Pure: highlights query words in a passage."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.tokenizer import Term, tokenize_with_offsets


@dataclass(frozen=True, slots=True)
class HighlightPiece:
    """A piece of text that matches the query or does not."""

    text: str
    is_asked_for: bool


def highlight(text: str, terms: Sequence[Term]) -> list[HighlightPiece]:
    """Split `text` into pieces that match the terms and pieces between; joined, they are the text again."""
    singles = {term.tokens[0] for term in terms if len(term.tokens) == 1}
    pairs = {term.tokens for term in terms if len(term.tokens) == 2}
    tokens = tokenize_with_offsets(text)
    found = [token in singles for token, _, _ in tokens]
    for index in range(1, len(tokens)):
        if (tokens[index - 1][0], tokens[index][0]) in pairs:
            found[index - 1] = found[index] = True
    pieces: list[HighlightPiece] = []
    at = 0
    for start, end in _merge_spans(
        [(start, end) for (_, start, end), is_in in zip(tokens, found, strict=True) if is_in]
    ):
        if start > at:
            pieces.append(HighlightPiece(text[at:start], False))
        pieces.append(HighlightPiece(text[start:end], True))
        at = end
    if at < len(text):
        pieces.append(HighlightPiece(text[at:], False))
    return pieces


def _merge_spans(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge adjacent spans, so that words of scripts without spaces are highlighted as a whole."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] >= start:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
