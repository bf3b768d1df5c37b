"""Search results, and the ranking that makes them from an index's candidates. Pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from memory.attribution import says_of
from memory.note_tags import is_tag_word
from memory.ranking.candidates import SearchCandidates
from memory.ranking.fusion import PassageKey, ScoredPassage, Weights, combine_scores
from memory.ranking.order import (
    fill_by_match,
    include_named_days,
    order_versions,
    prefer_linked,
    promote_best,
    sort_passages,
)
from memory.ranking.query import NamedTime, weigh_query
from memory.ranking.snippets import cut_snippet
from memory.ranking.supersession import find_versions
from memory.ranking.word_scores import MAX_WORD_SCORE, score_words
from memory.tokenizer import Term

Source = Literal["vector", "fts", "hybrid", "scan"]

MERGE_RATIO = 0.9
"""Minimum share of a hit's score that an adjacent passage needs to be merged into the hit.

A much worse neighbour would only make the answer longer.
"""


ASSUMED_SIMILARITY = 0.3
"""Cosine similarity that counts as evidence if no vectors were compared.

It is the mean, over real conversations, of passages with much of a question's words.
"""


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
    superseded_by: str | None = None
    """`path:line` of the passage that tells the same fact later, with another value; None if none is known."""
    says: tuple[str, ...] = ()
    """Whose words it is, if not its writer's: documents, authors of forwarded messages (memory/attribution.py)."""
    coverage: float = 0.0
    """0 to 1: share of the query's words, by weight, that it has, with its headings and neighbours."""

    @property
    def evidence(self) -> float:
        """0 to 1: how much speaks for it by words and by meaning, whatever else was found.

        `score` orders the hits of one search; this tells whether even the best of them is about the query.
        """
        angle = (1 - self.by_meaning) * math.pi / 2 if self.by_meaning is not None else None
        cosine = ASSUMED_SIMILARITY if angle is None else math.cos(angle)
        return round(1 - (1 - self.coverage) * (1 - cosine), 6)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A note that is no hit, one step along a link from a hit."""

    path: str
    hit: str
    """The path of the hit that it is linked with."""
    direction: Literal["to", "from"]
    """`to`: the hit links to it; `from`: it links to the hit."""
    line: int
    """The line of the link (1-based), in the note that contains it."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of one query, best first."""

    query: str
    hits: tuple[SearchHit, ...]
    notice: str = ""
    """Why the search was incomplete; empty if it was complete."""
    terms: tuple[Term, ...] = ()
    """What was searched for."""
    neighbours: tuple[Neighbour, ...] = ()
    """Notes one step along links from the hits, best connected first."""


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
    spelled: frozenset[str] = frozenset(),
    today: date = date.max,
) -> list[SearchHit]:
    """Return the best passages by their words and, if there are vectors, by their meaning.

    Among passages with nearly equal scores, those that contain more of the words themselves come first, then
    the newest relative to the time that the query names, then by path and line. The best score comes first or
    second.

    Adjacent passages with similar scores are merged into one hit, no longer than `snippet_max_chars`; no line
    is in two hits. If `looked_up`, a hit found by words has one of them in itself, in its headings or in the
    note's name. `spelled` holds the words as the query spells them. `source` is the source of hits found by
    words alone.
    """
    # A tag that no note has is only a word.
    terms = [term for term in terms if not is_tag_word(term.tokens[0]) or candidates.frequencies.get(term)]
    query = weigh_query(
        terms, candidates.frequencies, candidates.chunks, times=times, spelled=spelled, is_lookup=looked_up
    )
    word_scores = score_words(query, candidates.runs)
    found = sort_passages(
        combine_scores(query, candidates.runs, word_scores, weights or Weights(), today=today),
        times,
        today=today,
    )
    if candidates.links:
        found = prefer_linked(found, candidates.links, limit=limit)
    versions = find_versions(found, candidates.runs, terms, limit=limit, today=today)
    found = order_versions(found, versions.probable, times, today=today)
    if not times:
        found = promote_best(found, versions.superseded)
    first_half = (limit + 1) // 2
    found = include_named_days(found, times, asked_words=len(query.exact), places=first_half)
    found = fill_by_match(found, times, today=today, places=first_half)
    groups = _merge_adjacent(found, limit=limit, max_chars=snippet_max_chars)
    return [_make_hit(group, terms, snippet_max_chars, source, versions.superseded) for group in groups]


def _make_hit(
    group: Sequence[ScoredPassage],
    terms: Sequence[Term],
    max_chars: int,
    source: Source,
    superseded: Mapping[PassageKey, PassageKey],
) -> SearchHit:
    text = "\n".join(one.passage.text for one in group)
    best = max(group, key=lambda one: one.score)
    # A mark would seem to be about all lines of a hit.
    later = superseded.get(best.key) if len(group) == 1 else None
    return SearchHit(
        path=group[0].path,
        line_start=group[0].passage.line_start,
        line_end=group[-1].passage.line_end,
        snippet=cut_snippet(text, terms, max_chars),
        score=round(min(1.0, best.match), 6),
        source=_hit_source(group, source),
        heading=group[0].passage.heading,
        told=best.passage.day,
        by_words=round(min(1.0, best.words / MAX_WORD_SCORE), 6),
        by_meaning=None if best.meaning is None else round(best.meaning, 6),
        superseded_by=f"{later[0]}:{later[1]}" if later else None,
        says=says_of(group[0].path, text),  # a mark may be cut off the snippet
        coverage=max(one.coverage for one in group),
    )


def _merge_adjacent(
    found: Iterable[ScoredPassage], *, limit: int, max_chars: int
) -> list[list[ScoredPassage]]:
    """Return the first `limit` hits, best first; adjacent passages are merged in the order of their lines."""
    groups: list[list[ScoredPassage]] = []
    by_line: dict[tuple[str, int], list[ScoredPassage]] = {}
    for one in found:
        start, end = one.passage.line_start, one.passage.line_end
        if any((one.path, line) in by_line for line in (start, end)):
            continue
        before, after = by_line.get((one.path, start - 1)), by_line.get((one.path, end + 1))
        neighbours = [group for group in (before, after) if group is not None]
        host = next((group for group in neighbours if _belongs_to(one, group, max_chars)), None)
        if host is None:
            if len(groups) == limit:
                break
            groups.append(host := [])
        host.insert(0 if host and host is not before else len(host), one)
        for line in range(start, end + 1):
            by_line[one.path, line] = host
    return groups


def _belongs_to(one: ScoredPassage, group: Sequence[ScoredPassage], max_chars: int) -> bool:
    chars = sum(len(each.passage.text) + 1 for each in group) + len(one.passage.text)
    best = max(each.score for each in group)
    return chars <= max_chars and one.score >= MERGE_RATIO * best and _in_one_section(group[0], one)


def _in_one_section(first: ScoredPassage, second: ScoredPassage) -> bool:
    here, there = first.passage, second.passage
    return here.heading == there.heading and not here.is_heading and not there.is_heading


def _hit_source(group: Sequence[ScoredPassage], words: Source) -> Source:
    by_words = any(one.words > 0 for one in group)
    by_meaning = any(one.is_similar for one in group)
    return "hybrid" if by_words and by_meaning else "vector" if by_meaning else words
