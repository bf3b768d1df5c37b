"""Which passages answer a query: pure ranking over candidates, wherever they came from."""

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
"""Okapi BM25's usual constants (Robertson and Zaragoza 2009; also FTS5's)."""

NEIGHBOUR_WEIGHTS = (0.6, 0.4)
"""How much a word counts that stands one or two passages away. A line of a log says half of what it means,
and the lines around say the rest, the nearer the more. Measured, the curve is flat from .5 to .7."""

HEADING_WEIGHT = 0.3
"""How much a word counts that stands in the headings above or in the note's name."""

HEADING_LINE_FACTOR = 0.5
"""A heading by itself answers little: it is passed over for what stands below it, and lives by its own words."""

LABEL_FACTOR = 1.4
"""Bonus for a passage that the query names by its label: who speaks in a log, which field in a list."""

ASSUMED_OTHER_CHUNKS = 1000
"""Chunks without the word that every word is weighed with. A small memory knows little of how rare words are: in
twenty chunks "describe" looks as rare as a name. The curve is flat from 300 on, and a large memory drowns it."""

NEAR_TIE = 0.01
"""Scores in one band of this width count as equal, and the newer note comes first. The bands are fixed: with "differs
by less than" A could equal B, and B C, but not A C, and there would be no one order. Measured, wider ones find less."""

EXACT_TIE = 0.3
"""The same for passages that hold all the words of the question: they differ by their length, by what stands around
them, and with vectors by a digit more or less, which says nothing of which one is right. Measured, .15 puts fewer of
the latest statements first, and .5 finds less."""

MEANING_SHARE = 0.5
"""What perfect likeness is worth against perfect words at equal weights: likeness is a matter of degree, and within
one memory seldom more than half. Measured, the curve is flat from .4 to .6; there, words still win where a model
does not know the language and takes everything for alike."""

MERGE_RATIO = 0.95
"""A passage that touches a hit becomes part of it where its score is this share of the hit's: a neighbour that is
much worse would only make the answer longer."""

TIME_FACTOR = 1.2
"""How much more counts what stands in a log of the time that is asked about, or of the days around it: a little, since
people tell of things weeks later, and mistake the month."""

TOLD_BEFORE, TOLD_AFTER = timedelta(1), timedelta(7)
_LATEST = date.max - TOLD_AFTER

_LOWEST_BAND = -(1 << 30)

_MOST_WORDS = LABEL_FACTOR * (BM25_K1 + 1)
"""What a passage could have at most, full of the query's words and named by its label."""

_ITEM = re.compile(r"\s*+(?:[-*+]|\d++[.)])\s")
# Possessive: a line may begin with a thousand spaces.
_LABEL = re.compile(r"\s*+(?:[-*+]|\d++[.)])?+\s*+([^:：\n]{1,40})[:：]")


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """One passage that may be a hit."""

    line_start: int
    line_end: int
    heading: str
    is_heading: bool
    text: str
    words: str
    """The passage's tokens, separated by single spaces."""
    similarity: "Similarity | None" = None
    """Of the question and the segment that the passage is in; None where there are no vectors to compare."""
    day: date | None = None
    """When it was told; None where the note does not say, and for MEMORY.md."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """How like two vectors are."""

    cosine: float
    """Less what all notes have in common."""
    is_enough: bool
    """Whether it is reason enough to be found by; what words have found is not asked for it."""


@dataclass(frozen=True, slots=True)
class PassageRun:
    """Neighbouring passages of one note, in the order of their lines."""

    path: str
    passages: tuple[CandidatePassage, ...]
    mtime_ns: int = 0
    """When the note was last modified, by the file system."""


@dataclass(frozen=True, slots=True)
class SearchCandidates:
    """What an index offers for some terms, and the numbers that it takes to weigh them."""

    runs: tuple[PassageRun, ...]
    frequencies: Mapping[Term, int]
    """In how many chunks each term stands."""
    chunks: int
    """How many there are in all."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that was found."""

    path: str
    """Relative to the memory folder, with `/`."""
    line_start: int
    """1-based, inclusive, as is `line_end`."""
    line_end: int
    snippet: str
    score: float
    """0 to 1: how much of the query's words the passage and its surroundings carry, and how like its meaning is."""
    source: Source
    heading: str
    """The headings that it stands under, joined by ` > `; may be empty."""
    told: date | None = None
    """The day on which it was told; None where the note does not say."""
    by_words: float = 0.0
    """0 to 1: how well words alone have found it, as they count before the best of a search is measured by."""
    by_meaning: float | None = None
    """0 to 1: how like its meaning is to the question's; None where that was not compared."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of one query, best first."""

    query: str
    hits: tuple[SearchHit, ...]
    notice: str = ""
    """Why the search was less than whole; empty where it was whole."""


DayRange = tuple[date, date]
"""The first and the last, inclusive."""


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time that a query names, and the words that name it: a log of one of its days is as good as has them."""

    first: date
    last: date
    """Inclusive, as is `first`; `date.min` or `date.max` where it is open."""
    terms: tuple[Term, ...]

    @property
    def is_open(self) -> bool:
        """Whether it has no beginning or no end."""
        return self.first == date.min or self.last == date.max

    def contains(self, day: date) -> bool:
        """Whether the day is one of it."""
        return self.first <= day <= self.last

    def is_near(self, day: date) -> bool:
        """Whether somebody may have told on that day of what happened then."""
        if self.is_open:
            return self.contains(day)
        return self.first - TOLD_BEFORE <= day <= min(self.last, _LATEST) + TOLD_AFTER


@dataclass(frozen=True, slots=True)
class Weights:
    """How much meaning and words count against each other."""

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
    """The best passages by their words and, where there are vectors, by their meaning.

    Of passages that are about equally good, those come first that hold more of the words themselves, then the newest
    as of the time that is asked about, then by path and line. The one with the best score is first or second.

    Passages that touch and are about as good are one hit, no longer than a snippet; no line is in two. What is
    `looked_up` and not asked stands in every hit that words found, in the headings above it, or in the note's
    name. `source` is what a hit is called that only words have found.
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
    """Return the number of the band that a score is in; the higher, the better."""
    return math.floor(math.log(score) / math.log1p(width)) if score > 0 else _LOWEST_BAND


def band_floor(band: int) -> float:
    """Return a score that no score of the band is below, and few of others."""
    return math.exp((band - 1e-6) * math.log1p(NEAR_TIE))


def newest_first(
    day: date | None, mtime_ns: int, *, today: date, as_of: date | None = None
) -> tuple[int, int, int]:
    """Return a key that sorts the newest first.

    What has no day does not age: it counts as of `as_of`, behind what is dated so, the last modified first. A day
    after `today` counts as today. Where the question is about a time that ends with `as_of`, days after it come last.
    """
    now = as_of or today
    if day is None:
        return -now.toordinal(), 1, -mtime_ns
    day = min(day, today)
    return (-day.toordinal() if day <= now else day.toordinal()), 0, 0


@dataclass(frozen=True, slots=True)
class _ScoredPassage:
    """A passage that may become a hit, with what speaks for it."""

    path: str
    mtime_ns: int
    passage: CandidatePassage
    words: float
    """BM25 in units of the query's own weight: 1 for each word once in a passage of usual length, were it alone."""
    meaning: float | None
    """Angle to the question, 1 where there is none and 0 from a right angle on; None where it was not compared."""
    is_alike: bool
    is_timely: bool
    """Whether it is of the time that is asked about, or none is."""
    own: float
    """The weight of the words asked for that stand in it itself: age hides no exact hit behind a less exact one."""
    is_exact: bool
    """Whether all of them do, but for those that name a time."""
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
            is_alike=_is_alike(passage),
            is_timely=not times or (day is not None and any(time.is_near(day) for time in times)),
            own=own,
            is_exact=is_exact,
        )
        for run, day, scores in zip(candidates.runs, days, scored, strict=True)
        for passage, (score, own, is_exact) in zip(run.passages, scores, strict=True)
        if score > 0 or _is_alike(passage)
    ]


def _is_alike(passage: CandidatePassage) -> bool:
    return passage.similarity is not None and passage.similarity.is_enough


def _angle_similarity(similarity: Similarity | None) -> float | None:
    """Cosine to 0..1 by its angle (Cer et al. 2018, "Universal Sentence Encoder", section 5).

    The cosine itself makes little of the difference between near and very near.
    """
    if similarity is None:
        return None
    return 1 - 2 * math.acos(min(1.0, max(0.0, similarity.cosine))) / math.pi


def _apply_weights(found: Sequence[_ScoredPassage], weights: Weights) -> list[_ScoredPassage]:
    """With their scores, without those that have none."""
    if all(one.meaning is None for one in found):
        return [
            replace(one, score=_time_factor(one) * one.words / _MOST_WORDS) for one in found if one.words > 0
        ]
    # Between taking the words at their worth, which for a long question is always small, and taking the best
    # for perfect, however poor it is: their geometric mean.
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
    """Return them best first, and of those that are about equally good the newest first."""

    def settle_equals(one: _ScoredPassage) -> tuple[object, ...]:
        age = newest_first(one.passage.day, one.mtime_ns, today=today, as_of=as_of)
        return age, -one.score, one.path, one.passage.line_start, one.passage.text

    def by_words(one: _ScoredPassage) -> tuple[object, ...]:
        return -score_band(one.score), -one.own, settle_equals(one)

    ordered = sorted(found, key=by_words)
    # What was found by its meaning stays where it is; of the others, exact ones go before what stands beside them.
    places = [place for place, one in enumerate(ordered) if one.is_exact or not one.is_alike]
    settled = sorted(
        (ordered[place] for place in places),
        key=lambda one: (
            -score_band(one.score, EXACT_TIE),
            not one.is_exact,
            settle_equals(one) if one.is_exact else by_words(one),
        ),
    )
    for place, one in zip(places, settled, strict=True):
        ordered[place] = one
    return _promote_best(ordered)


def _promote_best(ordered: list[_ScoredPassage]) -> list[_ScoredPassage]:
    """Put the passage with the clearly best score second where newer ones stand before it: no age hides it."""
    best = max(range(len(ordered)), key=lambda place: ordered[place].score, default=0)
    if best > 1 and score_band(ordered[best].score) > score_band(ordered[0].score):
        ordered.insert(1, ordered.pop(best))
    return ordered


def _merge_adjacent(
    found: Iterable[_ScoredPassage], *, limit: int, most_chars: int
) -> list[list[_ScoredPassage]]:
    """The first `limit` of them, best first, those that touch put together in the order of their lines."""
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
    by_meaning = any(one.is_alike for one in group)
    return "hybrid" if by_words and by_meaning else "vector" if by_meaning else words


def count_frequencies(terms: Iterable[Term], runs: Iterable[PassageRun]) -> dict[Term, int]:
    """In how many of the runs each term stands."""
    counting = _TermCounter(terms)
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
    at = _first_match(text, terms)
    start = max(0, min(at - max_chars // 4, len(text) - max_chars + 1))
    if start:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    piece = text[start : start + max(0, max_chars - (2 if start else 1))]
    ending = "" if start + len(piece) >= len(text) else "…"
    return f"{'…' if start else ''}{piece}{ending}"[:max_chars]


def _first_match(text: str, terms: Sequence[Term]) -> int:
    """Where in the text the first of the terms stands, as far as that can be told; else 0."""
    words = {term.tokens[0] for term in terms if len(term.tokens) == 1}
    places = [text.find("".join(term.tokens)) for term in terms if len(term.tokens) == 2]
    for match in re.finditer(r"\w+|[^\w\s]+", text) if words else ():
        if here := words.intersection(tokenize(match[0])):
            places.append(match.start() + max(0, min(match[0].find(word) for word in here)))
            break
    return min((place for place in places if place >= 0), default=0)


def _idf(frequency: int, chunks: int) -> float:
    # With the 1 added, as Lucene has it: a word that stands everywhere still counts a little.
    return math.log1p((max(chunks, frequency) + ASSUMED_OTHER_CHUNKS - frequency + 0.5) / (frequency + 0.5))


def _score_runs(
    weights: Mapping[Term, float],
    runs: Sequence[PassageRun],
    said: Sequence[Collection[Term]],
    *,
    asked: Collection[Term],
    looked_up: bool,
) -> list[list[tuple[float, float, bool]]]:
    """The score of each passage and the weight of its own words; `said` are words that all of a run are taken to have.

    A passage is exact that has all that are `asked` for.
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
                    length += share * average_line  # an end of a note is no reason to rank higher
                else:
                    length += share * lengths[other]
                    if items[index] is not None and items[index] == items[other]:
                        continue  # of a list each item stands for itself
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
    """How far an item of a list is indented; None for what is none, and for what somebody says in a talk."""
    item = _ITEM.match(text)
    return item.end() - len(item[0].lstrip()) if item and not _LABEL.match(text) else None


def _neighbour_score(index: int, scores: Sequence[float], counts: Sequence[Mapping[Term, int]]) -> float:
    """The score of a passage with none of the words: less than that of the neighbour whose words it lives by."""
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
