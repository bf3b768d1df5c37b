"""A question as it is searched for: its terms, and the times that it names."""

from collections.abc import Sequence
from datetime import date

from memory.dates import read_dates
from memory.normalization import normalize
from memory.ranking.query import NamedTime
from memory.tokenizer import MAX_QUERY_CHARS, Term, find_beginnings, find_spellings, parse_query


def truncate_query(query: str) -> str:
    """Return the part of the query that is parsed. NFKC may turn one character into eighteen."""
    beginning = query[:MAX_QUERY_CHARS]
    normal = normalize("NFKC", beginning)
    return beginning if len(normal) <= MAX_QUERY_CHARS else normal[:MAX_QUERY_CHARS]


def read_query(query: str, today: date) -> tuple[list[Term], list[NamedTime]]:
    """Return the query's search terms, the beginnings of words last, and the times that it names."""
    terms = parse_query(query)
    times = _find_times(query, terms, today)
    return [*terms, *find_beginnings(_without_times(terms, times))], times


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
