"""Which words of a passage matched a query: its own words, or words that only begin alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.ranking.term_counter import TermCounter
from memory.tokenizer import Term, tokenize_with_offsets


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """Words of a passage as it spells them, each once, in its order."""

    words: tuple[str, ...]
    """Those that the query contains, whatever their case, accents and endings."""
    forms: tuple[str, ...]
    """Those that only begin like one of the query."""


def explain_match(terms: Sequence[Term], text: str) -> MatchedWords:
    """Return which words of `text` match the terms."""
    counter = TermCounter(terms)
    tokens = tokenize_with_offsets(text)
    spans = [([token], start, end) for token, start, end in tokens]
    spans += [([one, other], start, end) for (one, start, _), (other, _, end) in pairwise(tokens)]
    words: dict[str, None] = {}
    forms: dict[str, None] = {}
    for span, start, end in sorted(spans, key=lambda each: each[1]):
        found = [term for term in counter.count(span) if len(term.tokens) == len(span) or term.is_beginning]
        if any(not term.is_beginning for term in found):
            words[text[start:end]] = None
        elif found and len(span) == 1:
            forms[text[start:end]] = None
    return MatchedWords(tuple(words), tuple(forms))
