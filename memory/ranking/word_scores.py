"""Score passages by the query's words in them, around them and in the headings above."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory.dates import note_date
from memory.ranking import bm25
from memory.ranking.candidates import PassageRun
from memory.ranking.query import WeightedQuery
from memory.ranking.term_counter import TermCounter
from memory.tokenizer import Term, tokenize

NEIGHBOUR_WEIGHTS = (0.6, 0.4)
"""Weight of a word that is one or two passages away.

A line of a log carries half of its meaning, and the lines around it the rest. Measured, the curve is flat
from .5 to .7.
"""

HEADING_WEIGHT = 0.3
"""Weight of a word in the headings above a passage or in the note's name."""

HEADING_LINE_FACTOR = 0.5
"""Factor for a heading's own score: the passages below it answer better than a heading alone."""

LABEL_FACTOR = 1.4
"""Factor for a passage whose label the query names, such as the speaker in a log or the field in a list."""

_ITEM = re.compile(r"\s*+(?:[-*+]|\d++[.)])\s")
# Possessive, since a line may begin with a thousand spaces.
_LABEL = re.compile(r"\s*+(?:[-*+]|\d++[.)])?+\s*+([^:：\n]{1,40})[:：]")


MAX_WORD_SCORE = LABEL_FACTOR * bm25.MAX_SCORE
"""The highest possible score: a passage full of the query's words and named by its label."""


class WordScore(NamedTuple):
    """How well a passage answers the query by its words."""

    score: float
    """BM25 in units of the query's total weight; 1 if each word occurs once in a passage of average length."""
    own: float
    """Weight of the query's words in the passage itself."""
    is_exact: bool
    """True if the passage itself contains all of `WeightedQuery.exact`."""


def score_words(query: WeightedQuery, runs: Sequence[PassageRun]) -> list[list[WordScore]]:
    """Return the score of each passage by its words, by run."""
    counter = TermCounter(query.weights)
    split = [[passage.words.split(" ") for passage in run.passages] for run in runs]
    passages = sum(map(len, split)) or 1
    average = sum(len(words) for run in split for words in run) / passages
    return [
        _score_run(query, run, words, counter=counter, average_line=average)
        for run, words in zip(runs, split, strict=True)
    ]


def _score_run(
    query: WeightedQuery,
    run: PassageRun,
    words: list[list[str]],
    *,
    counter: TermCounter,
    average_line: float,
) -> list[WordScore]:
    counts = [counter.count(line) for line in words]
    items = [_item_indent(passage.text) for passage in run.passages]
    lengths = [len(line) for line in words]
    from_path = counter.count(tokenize(run.path.removesuffix(".md")))
    from_day = query.terms_of_day(note_date(run.path)) if query.times else []
    average = average_line * (1 + 2 * sum(NEIGHBOUR_WEIGHTS))
    scores: list[float] = []
    for index, passage in enumerate(run.passages):
        if passage.is_heading:
            scores.append(HEADING_LINE_FACTOR * _bm25(query, counts[index], bm25.AVERAGE_NORM))
            continue
        above = counter.count(_tokenize_heading(passage.heading)) if passage.heading else {}
        if not passage.words or (query.is_lookup and not (counts[index] or above or from_path or from_day)):
            scores.append(0.0)
            continue
        found: dict[Term, float] = {term: float(count) for term, count in counts[index].items()}
        length = float(lengths[index])
        for distance, share in enumerate(NEIGHBOUR_WEIGHTS, 1):
            for other in (index - distance, index + distance):
                if not 0 <= other < len(counts):
                    length += share * average_line  # the first or last lines of a note should not rank higher
                else:
                    length += share * lengths[other]
                    if items[index] is not None and items[index] == items[other]:
                        continue  # list items do not describe each other
                    for term, count in counts[other].items():
                        found[term] = found.get(term, 0.0) + share * count
        for context in (above, from_path):
            for term in context:
                found[term] = found.get(term, 0.0) + HEADING_WEIGHT
        for term in from_day:
            found[term] = max(found.get(term, 0.0), 1.0)
        score = _bm25(query, found, bm25.length_norm(length, average))
        scores.append(score * LABEL_FACTOR if score and _has_label(passage.text, counter) else score)
    return [
        WordScore(
            score=(
                _neighbour_score(index, scores, counts)
                if score and not counts[index] and not from_day and not run.passages[index].is_heading
                else score
            )
            / query.total,
            own=round(math.fsum(map(query.weights.__getitem__, counts[index])), 6),
            is_exact=bool(counts[index]) and counts[index].keys() >= query.exact,
        )
        for index, score in enumerate(scores)
    ]


def _bm25(query: WeightedQuery, counts: Mapping[Term, float], norm: float) -> float:
    return bm25.score(map(query.weights.__getitem__, counts), counts.values(), norm)


def _item_indent(text: str) -> int | None:
    """Return the indentation of a list item; None if the text is no item, or a line of a dialogue."""
    item = _ITEM.match(text)
    return item.end() - len(item[0].lstrip()) if item and not _LABEL.match(text) else None


def _neighbour_score(index: int, scores: Sequence[float], counts: Sequence[Mapping[Term, int]]) -> float:
    """Return the score of a passage without any of the words: less than that of the neighbour that has them."""
    reach = range(
        max(0, index - len(NEIGHBOUR_WEIGHTS)), min(len(scores), index + len(NEIGHBOUR_WEIGHTS) + 1)
    )
    lenders = [scores[other] for other in reach if counts[other]]
    return min(scores[index], 0.999 * max(lenders)) if lenders else scores[index]


def _has_label(text: str, counter: TermCounter) -> bool:
    label = _LABEL.match(text)
    return label is not None and bool(counter.count(tokenize(label[1])))


@lru_cache(maxsize=1024)  # 0.6 MB
def _tokenize_heading(heading: str) -> list[str]:
    return tokenize(heading)
