"""Which passages answer a query: pure ranking over candidates, wherever they came from."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from memory.words import Term, cut

Source = Literal["vector", "fts", "hybrid", "scan"]

K1 = 1.2
B = 0.75
"""Okapi BM25's usual constants (Robertson and Zaragoza 2009; also FTS5's)."""

NEIGHBOURS = (0.6, 0.4)
"""How much a word counts that stands one or two passages away. A line of a log says half of what it means,
and the lines around say the rest, the nearer the more. Measured, the curve is flat from .5 to .7."""

HEADING = 0.3
"""How much a word counts that stands in the headings above or in the note's name."""

HEADING_LINE = 0.5
"""A heading by itself answers little: it is passed over for what stands below it, and lives by its own words."""

LABEL = 1.4
"""Bonus for a passage that the query names by its label: who speaks in a log, which field in a list."""

# Possessive: a line may begin with a thousand spaces.
ELSEWHERE = 1000
"""Chunks without the word that every word is weighed with. A small memory knows little of how rare words are: in
twenty chunks "describe" looks as rare as a name. The curve is flat from 300 on, and a large memory drowns it."""

_LABEL = re.compile(r"\s*+(?:[-*+]|\d++[.)])?+\s*+([^:：\n]{1,40})[:：]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One passage that may be a hit."""

    line_start: int
    line_end: int
    heading: str
    is_heading: bool
    text: str
    words: str
    """The passage's tokens, separated by single spaces."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring passages of one note, in the order of their lines."""

    path: str
    passages: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What an index offers for some terms, and the numbers that it takes to weigh them."""

    runs: tuple[Run, ...]
    frequencies: Mapping[Term, int]
    """In how many chunks each term stands."""
    chunks: int
    """How many there are in all."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found."""

    path: str
    """Relative to the memory folder, with `/`."""
    line_start: int
    """1-based, inclusive, as is `line_end`."""
    line_end: int
    snippet: str
    score: float
    """0 to 1: the share of the query's weight that the passage and its surroundings carry."""
    source: Source
    heading: str
    """The headings that it stands under, joined by ` > `; may be empty."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of one query, best first."""

    query: str
    hits: tuple[Hit, ...]
    notice: str = ""
    """Why the search was less than whole; empty where it was whole."""


def rank(
    terms: Sequence[Term],
    candidates: Candidates,
    *,
    limit: int,
    snippet_max_chars: int,
    source: Source,
    looked_up: bool = False,
) -> list[Hit]:
    """The best passages by BM25 over each and its surroundings; no line twice, ties by path and line.

    What is `looked_up` and not asked stands in every hit, in the headings above it, or in the note's name.
    """
    weights = {term: _idf(candidates.frequencies.get(term, 0), candidates.chunks) for term in terms}
    best_possible = LABEL * (K1 + 1) * sum(weights.values())
    scored = [
        (min(1.0, score / best_possible), run.path, passage)
        for run, scores in zip(
            candidates.runs, _score_runs(weights, candidates.runs, looked_up=looked_up), strict=True
        )
        for passage, score in zip(run.passages, scores, strict=True)
        if score > 0
    ]
    scored.sort(key=lambda item: (-item[0], item[1], item[2].line_start, item[2].text))
    hits: list[Hit] = []
    taken: set[tuple[str, int]] = set()
    for score, path, passage in scored:
        if len(hits) == limit:
            break
        if (path, passage.line_start) in taken:
            continue
        taken.add((path, passage.line_start))
        snippet = cut_snippet(passage.text, terms, snippet_max_chars)
        hits.append(
            Hit(path, passage.line_start, passage.line_end, snippet, round(score, 6), source, passage.heading)
        )
    return hits


def count_frequencies(terms: Iterable[Term], runs: Iterable[Run]) -> dict[Term, int]:
    """In how many of the runs each term stands."""
    counting = _Counting(terms)
    counts: Counter[Term] = Counter()
    for run in runs:
        present: set[Term] = set()
        for passage in run.passages:
            present.update(counting.count(passage.words.split(" ")))
        counts.update(present)
    return counts


def cut_snippet(text: str, terms: Sequence[Term], max_chars: int) -> str:
    """`text`, or of a longer one `max_chars` around the first word asked for, with … where it was cut."""
    if len(text) <= max_chars:
        return text
    at = _first_place(text, terms)
    start = max(0, min(at - max_chars // 4, len(text) - max_chars + 1))
    if start:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    piece = text[start : start + max(0, max_chars - (2 if start else 1))]
    ending = "" if start + len(piece) >= len(text) else "…"
    return f"{'…' if start else ''}{piece}{ending}"[:max_chars]


def _first_place(text: str, terms: Sequence[Term]) -> int:
    """Where in the text the first of the terms stands, as far as that can be told; else 0."""
    words = {term.tokens[0] for term in terms if len(term.tokens) == 1}
    places = [text.find("".join(term.tokens)) for term in terms if len(term.tokens) == 2]
    for match in re.finditer(r"\w+", text) if words else ():
        if here := words.intersection(cut(match[0])):
            places.append(match.start() + max(0, min(match[0].find(word) for word in here)))
            break
    return min((place for place in places if place >= 0), default=0)


def _idf(frequency: int, chunks: int) -> float:
    # With the 1 added, as Lucene has it: a word that stands everywhere still counts a little.
    return math.log1p((max(chunks, frequency) + ELSEWHERE - frequency + 0.5) / (frequency + 0.5))


def _score_runs(weights: Mapping[Term, float], runs: Sequence[Run], *, looked_up: bool) -> list[list[float]]:
    counting = _Counting(weights)
    split = [[passage.words.split(" ") for passage in run.passages] for run in runs]
    passages = sum(map(len, split)) or 1
    average = sum(len(words) for run in split for words in run) / passages
    return [
        _score_run(run, words, weights=weights, counting=counting, average_line=average, looked_up=looked_up)
        for run, words in zip(runs, split, strict=True)
    ]


def _score_run(
    run: Run,
    words: list[list[str]],
    *,
    weights: Mapping[Term, float],
    counting: "_Counting",
    average_line: float,
    looked_up: bool,
) -> list[float]:
    counts = [counting.count(line) for line in words]
    lengths = [len(line) for line in words]
    from_path = counting.count(cut(run.path.removesuffix(".md")))
    average = average_line * (1 + 2 * sum(NEIGHBOURS))
    scores: list[float] = []
    for index, passage in enumerate(run.passages):
        if passage.is_heading:
            scores.append(HEADING_LINE * _bm25({t: float(n) for t, n in counts[index].items()}, weights, K1))
            continue
        above = counting.count(_heading_words(passage.heading)) if passage.heading else {}
        if not passage.words or (looked_up and not (counts[index] or above or from_path)):
            scores.append(0.0)
            continue
        found: dict[Term, float] = {term: float(count) for term, count in counts[index].items()}
        length = float(lengths[index])
        for distance, share in enumerate(NEIGHBOURS, 1):
            for other in (index - distance, index + distance):
                if not 0 <= other < len(counts):
                    length += share * average_line  # an end of a note is no reason to rank higher
                else:
                    length += share * lengths[other]
                    for term, count in counts[other].items():
                        found[term] = found.get(term, 0.0) + share * count
        for context in (above, from_path):
            for term in context:
                found[term] = found.get(term, 0.0) + HEADING
        norm = K1 * (1 - B + B * length / average) if average else K1
        score = _bm25(found, weights, norm)
        scores.append(score * LABEL if score and _label_named(passage.text, counting) else score)
    return [
        _borrowed(index, scores, counts)
        if score and not counts[index] and not run.passages[index].is_heading
        else score
        for index, score in enumerate(scores)
    ]


def _borrowed(index: int, scores: Sequence[float], counts: Sequence[Mapping[Term, int]]) -> float:
    """The score of a passage with none of the words: less than that of the neighbour whose words it lives by."""
    reach = range(max(0, index - len(NEIGHBOURS)), min(len(scores), index + len(NEIGHBOURS) + 1))
    lenders = [scores[other] for other in reach if counts[other]]
    return min(scores[index], 0.999 * max(lenders)) if lenders else scores[index]


def _bm25(found: Mapping[Term, float], weights: Mapping[Term, float], norm: float) -> float:
    return sum(weights[term] * frequency * (K1 + 1) / (frequency + norm) for term, frequency in found.items())


def _label_named(text: str, counting: "_Counting") -> bool:
    label = _LABEL.match(text)
    return label is not None and bool(counting.count(cut(label[1])))


@lru_cache(maxsize=4096)
def _heading_words(heading: str) -> list[str]:
    return cut(heading)


class _Counting:
    """Counts the terms of one query in lists of words."""

    def __init__(self, terms: Iterable[Term]) -> None:
        by_tokens = {term.tokens: term for term in terms}
        self._singles = {tokens[0]: term for tokens, term in by_tokens.items() if len(tokens) == 1}
        self._pairs = {tokens: term for tokens, term in by_tokens.items() if len(tokens) == 2}

    def count(self, words: Sequence[str]) -> dict[Term, int]:
        singles, pairs = self._singles, self._pairs
        counts: dict[Term, int] = {}
        for word in words:
            if word in singles:
                term = singles[word]
                counts[term] = counts.get(term, 0) + 1
        if pairs:
            for pair in pairwise(words):
                if pair in pairs:
                    term = pairs[pair]
                    counts[term] = counts.get(term, 0) + 1
        return counts
