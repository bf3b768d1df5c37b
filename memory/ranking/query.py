"""A query, ready to rank passages by: its terms with their weights, and the times that it names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memory.ranking.bm25 import term_weight
from memory.tokenizer import Term

BEGINNING_WEIGHT = 0.5
"""Weight of a beginning of words relative to a word as rare; the word itself matches both, and so ranks first.

Measured, the curve is flat from .3 to 1.
"""

LEAST_RARE_WORDS = 2
"""A query weighs at least as much as this many words that a single chunk has, when its coverage is computed.

Otherwise one common word ("thanks") would be covered wholly by any passage that has it.
"""

TOLD_BEFORE, TOLD_AFTER = timedelta(1), timedelta(7)


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time that a query names, and the terms that name it.

    A log of one of its days counts as if it contained those terms.
    """

    first: date
    last: date
    """Inclusive, like `first`; either is `date.min` or `date.max` if the range is open."""
    terms: tuple[Term, ...]

    @property
    def is_open(self) -> bool:
        """Return whether the range has no beginning or no end."""
        return self.first == date.min or self.last == date.max

    def contains(self, day: date) -> bool:
        """Return whether the day is within the range."""
        return self.first <= day <= self.last

    def is_near(self, day: date) -> bool:
        """Return whether a log of that day may describe what happened within the range."""
        if self.is_open:
            return self.contains(day)
        after = max(TOLD_AFTER, self.last - self.first)  # "last month" is told within a month
        return self.first - TOLD_BEFORE <= day <= self.last + min(after, date.max - self.last)


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """What passages are scored by."""

    weights: Mapping[Term, float]
    """The weight of each term."""
    total: float
    """Sum of the weights; 1 if there are none. Scores are in units of it."""
    full_coverage: float
    """The weight of a passage that covers the query wholly: `total`, or more if its words are common."""
    exact: frozenset[Term]
    """Terms that a passage must contain to be exact: all words but those that name a time."""
    times: tuple[NamedTime, ...] = ()
    spelled: frozenset[str] = frozenset()
    """The words of `exact` as the query spells them."""
    is_lookup: bool = False
    """True if a passage found by words must have one of them in itself, its headings or its note's name."""

    def terms_of_day(self, day: date | None) -> list[Term]:
        """Return the terms that every passage of that day's log counts as containing."""
        named = {term for time in self.times if day and time.contains(day) for term in time.terms}
        return [term for term in self.weights if term in named]


def weigh_terms(terms: Iterable[Term], frequencies: Mapping[Term, int], chunks: int) -> dict[Term, float]:
    """Return the weight of each term, by how many of the chunks contain it."""
    return {
        term: (BEGINNING_WEIGHT if term.is_beginning else 1) * term_weight(frequencies.get(term, 0), chunks)
        for term in terms
    }


def weigh_query(
    terms: Sequence[Term],
    frequencies: Mapping[Term, int],
    chunks: int,
    *,
    times: Sequence[NamedTime] = (),
    spelled: frozenset[str] = frozenset(),
    is_lookup: bool = False,
) -> WeightedQuery:
    """Return the query with its terms weighed.

    The words that name a time count at most like one average word of the others together: what is asked about
    decides first, and was often told on another day.
    """
    weights = weigh_terms(terms, frequencies, chunks)
    named = {term for time in times for term in time.terms}
    others = [weights[term] for term in weights if term not in named and not term.is_beginning]
    if named and others:
        share = min(1.0, sum(others) / len(others) / sum(weights[term] for term in named))
        weights |= {term: share * weights[term] for term in named}
    total = sum(weights.values()) or 1.0
    return WeightedQuery(
        weights,
        total=total,
        full_coverage=max(total, LEAST_RARE_WORDS * term_weight(1, chunks)),
        exact=frozenset(term for term in weights if term not in named and not term.is_beginning),
        times=tuple(times),
        spelled=spelled,
        is_lookup=is_lookup,
    )
