"""Cut a passage's text around the words that were searched for."""

import re
from collections.abc import Sequence

from memory.ranking.term_counter import TermCounter
from memory.tokenizer import Term, tokenize


def cut_snippet(text: str, terms: Sequence[Term], max_chars: int) -> str:
    """Return `text`, or `max_chars` of it around the first matching word, with … where it was cut."""
    if len(text) <= max_chars:
        return text
    at = _first_match(text, terms)
    start = max(0, min(at - max_chars // 4, len(text) - max_chars + 1))
    if start:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    piece = text[start : start + max(0, max_chars - (2 if start else 1))]
    ending = "" if start + len(piece) >= len(text) else "…"
    return f"{'…' if start else ''}{piece}{ending}"[:max_chars]


def _first_match(text: str, terms: Sequence[Term]) -> int:
    """Return the offset of the first term in the text, if it can be found; else 0."""
    words = {term.tokens[0] for term in terms if len(term.tokens) == 1 and not term.is_beginning}
    places = [text.find("".join(term.tokens)) for term in terms if len(term.tokens) == 2]
    counter = TermCounter(terms)
    first_form = -1
    for match in re.finditer(r"\w+|[^\w\s]+", text) if words else ():
        tokens = tokenize(match[0])
        if here := words.intersection(tokens):
            places.append(match.start() + max(0, min(match[0].find(word) for word in here)))
            break
        if first_form < 0 and any(term.is_beginning for term in counter.count(tokens)):
            first_form = match.start()
    return min((place for place in places if place >= 0), default=max(0, first_form))
