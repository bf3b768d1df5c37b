"""Rank the passages that answer a query. Pure functions over candidates from any source."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from memory.dates import note_date
from memory.tokenizer import Term, tokenize

Source = Literal["vector", "fts", "hybrid", "scan"]

BM25_K1 = 1.2
BM25_B = 0.75
"""The usual constants of Okapi BM25 (Robertson and Zaragoza 2009; also used by FTS5)."""

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

ASSUMED_OTHER_CHUNKS = 1000
"""Number of chunks without the word that is added when a word's rarity is computed.

A small memory knows little about rarity: in twenty chunks "describe" looks as rare as a name. The curve is
flat from 300 on, and the number hardly matters in a large memory.
"""

NEAR_TIE = 0.01
"""Width of a score band; scores in one band count as equal, and the newer note comes first.

The bands are fixed: with "differs by less than", A could equal B and B equal C, but A not C, and there would
be no total order. Measured, wider bands find less.
"""

EXACT_TIE = 0.3
"""Width of a score band for passages that contain every word of the query.

Their scores differ by length, surroundings and vector noise, which do not show which one is right. Measured,
.15 puts fewer of the latest statements first, and .5 finds less.
"""

MEANING_SHARE = 0.5
"""Weight of perfect vector similarity relative to a perfect word match, at equal settings.

Similarity is gradual, and within one memory seldom above one half. Measured, the curve is flat from .4 to .6;
there, words still win if a model does not know the language and finds everything similar.
"""

MERGE_RATIO = 0.95
"""Minimum share of a hit's score that an adjacent passage needs to be merged into the hit.

A much worse neighbour would only make the answer longer.
"""

TIME_FACTOR = 1.2
"""Factor for daily logs of the time that the query names, or of days near it.

It is small, since people write about things weeks later and confuse months.
"""

TOLD_BEFORE, TOLD_AFTER = timedelta(1), timedelta(7)
_LATEST = date.max - TOLD_AFTER

_LOWEST_BAND = -(1 << 30)

_MOST_WORDS = LABEL_FACTOR * (BM25_K1 + 1)
"""The highest possible word score: a passage full of the query's words and named by its label."""

_ITEM = re.compile(r"\s*+(?:[-*+]|\d++[.)])\s")
# Possessive, since a line may begin with a thousand spaces.
_LABEL = re.compile(r"\s*+(?:[-*+]|\d++[.)])?+\s*+([^:：\n]{1,40})[:：]")


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """One passage that may become a hit."""

    line_start: int
    line_end: int
    heading: str
    is_heading: bool
    text: str
    words: str
    """The passage's tokens, separated by single spaces."""
    similarity: "Similarity | None" = None
    """Similarity of the query and the passage's segment; None if there are no vectors to compare."""
    day: date | None = None
    """The day it was written about; None if the note does not say, and for MEMORY.md."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of two vectors."""

    cosine: float
    """Cosine after subtracting the mean of all notes' vectors."""
    is_enough: bool
    """True if the passage may be a hit by its meaning alone."""


@dataclass(frozen=True, slots=True)
class PassageRun:
    """Consecutive passages of one note, in the order of their lines."""

    path: str
    passages: tuple[CandidatePassage, ...]
    mtime_ns: int = 0
    """The file's modification time, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class SearchCandidates:
    """An index's candidates for a query, and the numbers needed to weigh its terms."""

    runs: tuple[PassageRun, ...]
    frequencies: Mapping[Term, int]
    """Number of chunks that contain each term."""
    chunks: int
    """Number of all chunks."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One passage, or several merged ones, that answers the query."""

    path: str
    """Relative to the memory folder, with `/`."""
    line_start: int
    """1-based, inclusive, like `line_end`."""
    line_end: int
    snippet: str
    score: float
    """0 to 1, from the words that the passage and its surroundings contain and the similarity of meaning."""
    source: Source
    heading: str
    """The headings above it, joined by ` > `; may be empty."""
    told: date | None = None
    """The day it was written about; None if the note does not say."""
    by_words: float = 0.0
    """0 to 1: the word match alone, before it is scaled to the best hit of the search."""
    by_meaning: float | None = None
    """0 to 1: the similarity of meaning; None if no vectors were compared."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of one query, best first."""

    query: str
    hits: tuple[SearchHit, ...]
    notice: str = ""
    """Why the search was incomplete; empty if it was complete."""


DayRange = tuple[date, date]
"""First and last day, inclusive."""


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
        return self.first - TOLD_BEFORE <= day <= min(self.last, _LATEST) + TOLD_AFTER


@dataclass(frozen=True, slots=True)
class Weights:
    """Relative weights of meaning and words."""

    vector: float = 0.7
    text: float = 0.3


def rank(
    terms: Sequence[Term],
    candidates: SearchCandidates,
    *,
    limit: int,
    snippet_max_chars: int,
    source: Source,
    looked_up: bool = False,
    weights: Weights | None = None,
    times: Sequence[NamedTime] = (),
    today: date = date.max,
) -> list[SearchHit]:
    """Return the best passages by their words and, if there are vectors, by their meaning.

    Among passages with nearly equal scores, those that contain more of the words themselves come first, then
    the newest relative to the time that the query names, then by path and line. The best score comes first or
    second.

    Adjacent passages with similar scores are merged into one hit, no longer than `snippet_max_chars`; no line
    is in two hits. If `looked_up`, a hit found by words has one of them in itself, in its headings or in the
    note's name. `source` is the source of hits found by words alone.
    """
    found = _apply_weights(
        _score_candidates(terms, candidates, looked_up=looked_up, times=times), weights or Weights()
    )
    found = _sort_hits(
        found, today=today, as_of=min([today, max((time.last for time in times), default=today)])
    )
    return [
        _make_hit(
            group, cut_snippet("\n".join(one.passage.text for one in group), terms, snippet_max_chars), source
        )
        for group in _merge_adjacent(found, limit=limit, most_chars=snippet_max_chars)
    ]


def score_band(score: float, width: float = NEAR_TIE) -> int:
    """Return the number of the band that a score is in; higher is better."""
    return math.floor(math.log(score) / math.log1p(width)) if score > 0 else _LOWEST_BAND


def band_floor(band: int) -> float:
    """Return a lower bound of the band's scores."""
    return math.exp((band - 1e-6) * math.log1p(NEAR_TIE))


def newest_first(
    day: date | None, mtime_ns: int, *, today: date, as_of: date | None = None
) -> tuple[int, int, int]:
    """Return a sort key that puts the newest first.

    An undated note does not age: it counts as of `as_of`, after notes dated so, the last modified first. A
    day after `today` counts as today. Days after `as_of`, the end of the time that the query names, come
    last.
    """
    now = as_of or today
    if day is None:
        return -now.toordinal(), 1, -mtime_ns
    day = min(day, today)
    return (-day.toordinal() if day <= now else day.toordinal()), 0, 0


@dataclass(frozen=True, slots=True)
class _ScoredPassage:
    """A passage that may become a hit, with its scores."""

    path: str
    mtime_ns: int
    passage: CandidatePassage
    words: float
    """BM25 in units of the query's total weight; 1 if each word occurs once in a passage of average length."""
    meaning: float | None
    """Similarity by angle: 1 for the same direction, 0 from a right angle on; None if it was not compared."""
    is_similar: bool
    is_timely: bool
    """True if it is from the time that the query names, or the query names none."""
    own: float
    """Weight of the query's words in the passage itself, so that no newer but less exact passage hides it."""
    is_exact: bool
    """True if it contains all of them, except those that name a time."""
    score: float = 0.0


def _make_hit(group: Sequence[_ScoredPassage], snippet: str, source: Source) -> SearchHit:
    best = max(group, key=lambda one: one.score)
    return SearchHit(
        path=group[0].path,
        line_start=group[0].passage.line_start,
        line_end=group[-1].passage.line_end,
        snippet=snippet,
        score=round(min(1.0, best.score), 6),
        source=_hit_source(group, source),
        heading=group[0].passage.heading,
        told=best.passage.day,
        by_words=round(min(1.0, best.words / _MOST_WORDS), 6),
        by_meaning=None if best.meaning is None else round(best.meaning, 6),
    )


def _score_candidates(
    terms: Sequence[Term], candidates: SearchCandidates, *, looked_up: bool, times: Sequence[NamedTime]
) -> list[_ScoredPassage]:
    weights = {term: _idf(candidates.frequencies.get(term, 0), candidates.chunks) for term in terms}
    whole = sum(weights.values()) or 1.0
    days = [note_date(run.path) if times else None for run in candidates.runs]
    said = [frozenset(t for time in times if day and time.contains(day) for t in time.terms) for day in days]
    asked = weights.keys() - {term for time in times for term in time.terms}
    scored = _score_runs(weights, candidates.runs, said, asked=asked, looked_up=looked_up)
    return [
        _ScoredPassage(
            run.path,
            run.mtime_ns,
            passage,
            words=score / whole,
            meaning=_angle_similarity(passage.similarity),
            is_similar=_is_similar(passage),
            is_timely=not times or (day is not None and any(time.is_near(day) for time in times)),
            own=own,
            is_exact=is_exact,
        )
        for run, day, scores in zip(candidates.runs, days, scored, strict=True)
        for passage, (score, own, is_exact) in zip(run.passages, scores, strict=True)
        if score > 0 or _is_similar(passage)
    ]


def _is_similar(passage: CandidatePassage) -> bool:
    return passage.similarity is not None and passage.similarity.is_enough


def _angle_similarity(similarity: Similarity | None) -> float | None:
    """Convert a cosine to 0..1 by its angle (Cer et al. 2018, "Universal Sentence Encoder", section 5).

    The cosine itself hardly separates near from very near.
    """
    if similarity is None:
        return None
    return 1 - 2 * math.acos(min(1.0, max(0.0, similarity.cosine))) / math.pi


def _apply_weights(found: Sequence[_ScoredPassage], weights: Weights) -> list[_ScoredPassage]:
    """Return the passages with their combined scores, leaving out those that score 0."""
    if all(one.meaning is None for one in found):
        return [
            replace(one, score=_time_factor(one) * one.words / _MOST_WORDS) for one in found if one.words > 0
        ]
    # The geometric mean of two scalings: words at their own value, which is always small for a long query,
    # and the best match as perfect, however poor it is.
    best = math.sqrt(max(one.words for one in found)) or 1.0
    meaning, words = MEANING_SHARE * weights.vector, weights.text
    most = meaning + words * math.sqrt(_MOST_WORDS)
    scored = (
        replace(
            one,
            score=_time_factor(one) * (meaning * (one.meaning or 0.0) + words * one.words / best) / most,
        )
        for one in found
    )
    return [one for one in scored if one.score > 0]


def _time_factor(one: _ScoredPassage) -> float:
    return 1.0 if one.is_timely else 1 / TIME_FACTOR


def _sort_hits(found: Sequence[_ScoredPassage], *, today: date, as_of: date) -> list[_ScoredPassage]:
    """Return the passages best first, and the newest first among nearly equal scores."""

    def age_order(one: _ScoredPassage) -> tuple[object, ...]:
        age = newest_first(one.passage.day, one.mtime_ns, today=today, as_of=as_of)
        return age, -one.score, one.path, one.passage.line_start, one.passage.text

    def by_words(one: _ScoredPassage) -> tuple[object, ...]:
        return -score_band(one.score), -one.own, age_order(one)

    ordered = sorted(found, key=by_words)
    # Passages found by meaning keep their place; among the others, exact matches go before their neighbours.
    places = [place for place, one in enumerate(ordered) if one.is_exact or not one.is_similar]
    settled = sorted(
        (ordered[place] for place in places),
        key=lambda one: (
            -score_band(one.score, EXACT_TIE),
            not one.is_exact,
            age_order(one) if one.is_exact else by_words(one),
        ),
    )
    for place, one in zip(places, settled, strict=True):
        ordered[place] = one
    return _promote_best(ordered)


def _promote_best(ordered: list[_ScoredPassage]) -> list[_ScoredPassage]:
    """Move the best score to the second place if newer passages precede it, so that age cannot hide it."""
    best = max(range(len(ordered)), key=lambda place: ordered[place].score, default=0)
    if best > 1 and score_band(ordered[best].score) > score_band(ordered[0].score):
        ordered.insert(1, ordered.pop(best))
    return ordered


def _merge_adjacent(
    found: Iterable[_ScoredPassage], *, limit: int, most_chars: int
) -> list[list[_ScoredPassage]]:
    """Return the first `limit` hits, best first; adjacent passages are merged in the order of their lines."""
    groups: list[list[_ScoredPassage]] = []
    by_line: dict[tuple[str, int], list[_ScoredPassage]] = {}
    for one in found:
        start, end = one.passage.line_start, one.passage.line_end
        if any((one.path, line) in by_line for line in (start, end)):
            continue
        before, after = by_line.get((one.path, start - 1)), by_line.get((one.path, end + 1))
        neighbours = [group for group in (before, after) if group is not None]
        host = next((group for group in neighbours if _belongs_to(one, group, most_chars)), None)
        if host is None:
            if len(groups) == limit:
                break
            groups.append(host := [])
        host.insert(0 if host and host is not before else len(host), one)
        for line in range(start, end + 1):
            by_line[one.path, line] = host
    return groups


def _belongs_to(one: _ScoredPassage, group: Sequence[_ScoredPassage], most_chars: int) -> bool:
    chars = sum(len(each.passage.text) + 1 for each in group) + len(one.passage.text)
    best = max(each.score for each in group)
    return chars <= most_chars and one.score >= MERGE_RATIO * best and _in_one_section(group[0], one)


def _in_one_section(first: _ScoredPassage, second: _ScoredPassage) -> bool:
    here, there = first.passage, second.passage
    return here.heading == there.heading and not here.is_heading and not there.is_heading


def _hit_source(group: Sequence[_ScoredPassage], words: Source) -> Source:
    by_words = any(one.words > 0 for one in group)
    by_meaning = any(one.is_similar for one in group)
    return "hybrid" if by_words and by_meaning else "vector" if by_meaning else words


def count_frequencies(terms: Iterable[Term], runs: Iterable[PassageRun]) -> dict[Term, int]:
    """Return in how many of the runs each term occurs."""
    counting = _TermCounter(terms)
    counts: Counter[Term] = Counter()
    for run in runs:
        present: set[Term] = set()
        for passage in run.passages:
            present.update(counting.count(passage.words.split(" ")))
        counts.update(present)
    return counts


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
    words = {term.tokens[0] for term in terms if len(term.tokens) == 1}
    places = [text.find("".join(term.tokens)) for term in terms if len(term.tokens) == 2]
    for match in re.finditer(r"\w+|[^\w\s]+", text) if words else ():
        if here := words.intersection(tokenize(match[0])):
            places.append(match.start() + max(0, min(match[0].find(word) for word in here)))
            break
    return min((place for place in places if place >= 0), default=0)


def _idf(frequency: int, chunks: int) -> float:
    # As in Lucene, 1 is added so that a word in every chunk still counts a little.
    return math.log1p((max(chunks, frequency) + ASSUMED_OTHER_CHUNKS - frequency + 0.5) / (frequency + 0.5))


def _score_runs(
    weights: Mapping[Term, float],
    runs: Sequence[PassageRun],
    said: Sequence[Collection[Term]],
    *,
    asked: Collection[Term],
    looked_up: bool,
) -> list[list[tuple[float, float, bool]]]:
    """Return score, weight of the own words and exactness of each passage, by run.

    `said` holds, for each run, the terms that all its passages count as containing. A passage is exact if it
    contains all of `asked`.
    """
    counting = _TermCounter(weights)
    split = [[passage.words.split(" ") for passage in run.passages] for run in runs]
    passages = sum(map(len, split)) or 1
    average = sum(len(words) for run in split for words in run) / passages
    return [
        _score_run(
            run,
            words,
            weights=weights,
            said=[term for term in of_run if term in weights],
            asked=asked,
            counting=counting,
            average_line=average,
            looked_up=looked_up,
        )
        for run, words, of_run in zip(runs, split, said, strict=True)
    ]


def _score_run(
    run: PassageRun,
    words: list[list[str]],
    *,
    weights: Mapping[Term, float],
    said: Sequence[Term],
    asked: Collection[Term],
    counting: "_TermCounter",
    average_line: float,
    looked_up: bool,
) -> list[tuple[float, float, bool]]:
    counts = [counting.count(line) for line in words]
    items = [_item_indent(passage.text) for passage in run.passages]
    lengths = [len(line) for line in words]
    from_path = counting.count(tokenize(run.path.removesuffix(".md")))
    average = average_line * (1 + 2 * sum(NEIGHBOUR_WEIGHTS))
    scores: list[float] = []
    for index, passage in enumerate(run.passages):
        if passage.is_heading:
            scores.append(
                HEADING_LINE_FACTOR * _bm25({t: float(n) for t, n in counts[index].items()}, weights, BM25_K1)
            )
            continue
        above = counting.count(_tokenize_heading(passage.heading)) if passage.heading else {}
        if not passage.words or (looked_up and not (counts[index] or above or from_path or said)):
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
        for term in said:
            found[term] = max(found.get(term, 0.0), 1.0)
        norm = BM25_K1 * (1 - BM25_B + BM25_B * length / average) if average else BM25_K1
        score = _bm25(found, weights, norm)
        scores.append(score * LABEL_FACTOR if score and _has_label(passage.text, counting) else score)
    return [
        (
            _neighbour_score(index, scores, counts)
            if score and not counts[index] and not said and not run.passages[index].is_heading
            else score,
            round(math.fsum(map(weights.__getitem__, counts[index])), 6),
            bool(counts[index]) and counts[index].keys() >= set(asked),
        )
        for index, score in enumerate(scores)
    ]


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


def _bm25(found: Mapping[Term, float], weights: Mapping[Term, float], norm: float) -> float:
    return sum(
        weights[term] * frequency * (BM25_K1 + 1) / (frequency + norm) for term, frequency in found.items()
    )


def _has_label(text: str, counting: "_TermCounter") -> bool:
    label = _LABEL.match(text)
    return label is not None and bool(counting.count(tokenize(label[1])))


@lru_cache(maxsize=1024)  # 0.6 MB
def _tokenize_heading(heading: str) -> list[str]:
    return tokenize(heading)


class _TermCounter:
    """Counts the terms of one query in lists of tokens."""

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
