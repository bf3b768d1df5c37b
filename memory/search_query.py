"""A question as it is searched for: its terms, and the times that it names."""

from collections.abc import Sequence
from datetime import date
from itertools import islice

from memory.dates import read_dates
from memory.normalization import normalize
from memory.note_tags import find_tags, tag_words
from memory.ranking.query import NamedTime
from memory.tokenizer import MAX_QUERY_CHARS, Term, find_beginnings, find_spellings, parse_query, tokenize

MAX_TAGS = 20
"""Tags of a query that are searched for."""

MAX_PHRASE_TOKENS = 60
"""The beginning of a query in which names of notes are looked for."""

MAX_PHRASE_WORDS = 8
"""Tokens of the longest name that is looked for; characters, in scripts without spaces."""


def truncate_query(query: str) -> str:
    """Return the part of the query that is parsed. NFKC may turn one character into eighteen."""
    beginning = query[:MAX_QUERY_CHARS]
    normal = normalize("NFKC", beginning)
    return beginning if len(normal) <= MAX_QUERY_CHARS else normal[:MAX_QUERY_CHARS]


def read_query(query: str, today: date) -> tuple[list[Term], list[NamedTime]]:
    """Return the query's search terms, its tags and the beginnings of words last, and the times that it names."""
    terms = parse_query(query)
    times = _find_times(query, terms, today)
    tags = (Term((tag_words(tag)[-1],)) for _, tag in islice(find_tags(query), MAX_TAGS))
    return [*terms, *dict.fromkeys(tags), *find_beginnings(_without_times(terms, times))], times


def read_phrases(query: str, terms: Sequence[Term]) -> list[str]:
    """Return the sequences of the query's tokens that may be a note's name, each joined by spaces.

    Each has at least one word that is searched for: "the" is no name.
    """
    tokens = tokenize(query)[:MAX_PHRASE_TOKENS]
    asked = {token for term in terms if not term.is_beginning for token in term.tokens}
    return list(
        dict.fromkeys(
            " ".join(tokens[first:end])
            for first in range(len(tokens))
            for end in range(first + 1, min(first + MAX_PHRASE_WORDS, len(tokens)) + 1)
            if not asked.isdisjoint(tokens[first:end])
        )
    )


def read_spellings(query: str, terms: Sequence[Term], times: Sequence[NamedTime]) -> frozenset[str]:
    """Return the query's words as it spells them, without those that name a time."""
    return find_spellings(query, _without_times(terms, times))


def _without_times(terms: Sequence[Term], times: Sequence[NamedTime]) -> list[Term]:
    named = {term for time in times for term in time.terms}
    return [term for term in terms if term not in named]


def _find_times(query: str, terms: Sequence[Term], today: date) -> list[NamedTime]:
    """Return the times that a query names, each with the terms that name it."""
    asked = set(terms)
    return [
        NamedTime(
            span.first,
            span.last,
            tuple(t for t in parse_query(query[span.start : span.end]) if t in asked),
        )
        for span in read_dates(query, today)
    ]
