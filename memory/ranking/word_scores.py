"""Score passages by the query's words in them, around them and in the headings above."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory.dates import note_date
from memory.ranking import bm25
from memory.ranking.candidates import CandidatePassage, PassageRun
from memory.ranking.lead import find_lead
from memory.ranking.query import WeightedQuery
from memory.ranking.term_counter import TermCounter
from memory.tokenizer import QUESTION_MARKS, Term, split_spelled_words, tokenize

NEIGHBOUR_WEIGHTS: Mapping[int, float] = {-2: 0.4, -1: 0.8, 1: 0.5, 2: 0.2}
"""Weight of a word in a passage so far away, in passages; negative ones stand before.

A line of a log carries half of its meaning, and the lines around it the rest. Those before it say more: an
answer follows its question.
"""

NEIGHBOUR_REACH = max(NEIGHBOUR_WEIGHTS)
"""How many passages before and after are neighbours."""

BLOCK_WEIGHT = 0.5
"""Weight of the score of a passage's block: the lines around it without a blank line or a heading between.

Lines that stand together are about the same thing. Measured, the curve is flat from .35 to .5.
"""

BLOCK_LENGTH = 100
"""Tokens of a block that count like a passage of average length; a log of hours in one block says little."""

HEADING_WEIGHT = 0.3
"""Weight of a word in the headings above a passage or in the note's name."""

MENTION_WEIGHT = 1.0
"""Weight of a word of a note's name in the note's first paragraph, if the query has the whole name.

That paragraph says what the note is about, so it counts as if it said the name, and the name were its label.
Measured on a vault, without the label a third of what it gains is left.
"""

NAME_WEIGHT = 6.0
"""The same weight for a query that has no other words: it asks for the note."""

HEADING_LINE_FACTOR = 0.5
"""Factor for a heading's own score: the passages below it answer better than a heading alone."""

LABEL_FACTOR = 1.6
"""Factor for a passage whose label the query names, such as the speaker in a log or the field in a list.

If the query names only some of its words ("Shoes for Dora:"), that share of the factor counts.
"""

QUESTION_FACTOR = 0.9
"""Factor for a passage that ends in a question mark: it asks, and the answer is likely to follow."""

WHOLE_QUERY_BONUS = 0.5
"""How much more a passage counts that itself contains every word asked for; a share of them adds that share.

Otherwise one rare word outweighs the others: asked for Ada's shoe size, any shoe would come before Ada.
"""

SPELLING_BONUS = 0.1
"""How much more a passage counts with all words as the query spells them: "house" before "houses"."""

_ITEM = re.compile(r"\s*+(?:[-*+]|\d++[.)])\s")
# Possessive, since a line may begin with a thousand spaces.
_LABEL = re.compile(r"\s*+(?:[-*+]|\d++[.)])?+\s*+([^:：\n]{1,40})[:：]")


MAX_WORD_SCORE = (
    (1 + SPELLING_BONUS) * LABEL_FACTOR * (1 + WHOLE_QUERY_BONUS) * (1 + BLOCK_WEIGHT) * bm25.MAX_SCORE
)
"""The highest possible score: a passage full of the query's words and named by its label."""


class WordScore(NamedTuple):
    """How well a passage answers the query by its words."""

    score: float
    """BM25 in units of the query's total weight; 1 if each word occurs once in a passage of average length."""
    own: float
    """Weight of the query's words in the passage itself."""
    coverage: float
    """0 to 1: share of the query's weight that the passage has, with headings, note's name and neighbours.

    Unlike the score, it compares queries: .5 means the same for each.
    """
    is_exact: bool
    """True if the passage itself contains all of `WeightedQuery.exact`, as the query spells them."""


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
    spelled = [
        query.spelled.intersection(split_spelled_words(passage.text))
        if query.spelled and own
        else frozenset()
        for passage, own in zip(run.passages, counts, strict=True)
    ]
    blocks = _score_blocks(query, run.passages, counts, lengths)
    # A note is found by its tags, aliases and title as by its path.
    named = tokenize(run.path.removesuffix(".md"))
    from_name = counter.count([*named, *run.names.split(" ")] if run.names else named)
    lead = find_lead(run.passages) if run.mentioned else None
    mentioned = counter.count(run.mentioned.split(" ")) if run.mentioned else {}
    # A query that is nothing but the name asks for the note itself, not for what mentions it.
    is_named = lead is not None and query.exact <= mentioned.keys()
    if lead is not None and is_named:
        spelled[lead] = query.spelled
    from_day = query.terms_of_day(note_date(run.path)) if query.times else []
    coverages = [0.0] * len(counts)
    all_shares = 1 + sum(NEIGHBOUR_WEIGHTS.values())
    scores: list[float] = []
    for index, passage in enumerate(run.passages):
        if passage.is_heading:
            coverages[index] = _cover(query, dict.fromkeys(counts[index], 1.0))
            scores.append(HEADING_LINE_FACTOR * _bm25(query, counts[index], bm25.AVERAGE_NORM))
            continue
        above = counter.count(_tokenize_heading(passage.heading)) if passage.heading else {}
        if not passage.words or (query.is_lookup and not (counts[index] or above or from_name or from_day)):
            scores.append(0.0)
            continue
        found: dict[Term, float] = {term: float(count) for term, count in counts[index].items()}
        present = dict.fromkeys((*counts[index], *above, *from_name, *from_day), 1.0)
        length = float(lengths[index])
        for distance, share in NEIGHBOUR_WEIGHTS.items():
            other = index + distance
            if not 0 <= other < len(counts):
                length += share * average_line  # the first or last lines of a note should not rank higher
            elif items[index] is not None and items[index] == items[other]:
                length += share * lengths[index]  # list items do not describe each other
            else:
                length += share * lengths[other]
                for term, count in counts[other].items():
                    found[term] = found.get(term, 0.0) + share * count
                    present[term] = max(present.get(term, 0.0), share)
        coverages[index] = _cover(query, present)
        for context in (above, from_name):
            for term in context:
                found[term] = found.get(term, 0.0) + HEADING_WEIGHT
        if index == lead:
            for term in mentioned:
                found[term] = max(found.get(term, 0.0), NAME_WEIGHT if is_named else MENTION_WEIGHT)
        for term in from_day:
            found[term] = max(found.get(term, 0.0), 1.0)
        score = _bm25(query, found, bm25.length_norm(length, all_shares * average_line))
        score += BLOCK_WEIGHT * blocks[index]
        if score:
            own = {**mentioned, **counts[index]} if index == lead else counts[index]
            label = 1.0 if index == lead else _named_label_share(passage.text, counter)
            score *= _passage_factor(query, passage.text, own, spelled[index], label)
        scores.append(score)
    return [
        WordScore(
            score=(
                _neighbour_score(index, scores, counts)
                if score
                and not counts[index]
                and not from_day
                and not (is_named and index == lead)
                and not run.passages[index].is_heading
                else score
            )
            / query.total,
            own=round(math.fsum(map(query.weights.__getitem__, counts[index])), 6),
            coverage=coverages[index],
            is_exact=(is_named and index == lead)
            or (
                bool(counts[index])
                and counts[index].keys() >= query.exact
                and spelled[index] == query.spelled
            ),
        )
        for index, score in enumerate(scores)
    ]


def _score_blocks(
    query: WeightedQuery,
    passages: Sequence[CandidatePassage],
    counts: Sequence[Mapping[Term, int]],
    lengths: Sequence[int],
) -> list[float]:
    """Return, for each passage, the score of the block that it stands in."""
    scores: list[float] = []
    start = 0
    for end in range(1, len(passages) + 1):
        if end < len(passages) and _stand_together(passages[end - 1], passages[end]):
            continue
        found: Counter[Term] = Counter()
        for count in counts[start:end]:
            found.update(count)
        norm = bm25.K1 * sum(lengths[start:end]) / BLOCK_LENGTH
        scores += [_bm25(query, found, norm)] * (end - start)
        start = end
    return scores


def _stand_together(first: CandidatePassage, second: CandidatePassage) -> bool:
    has_heading = first.is_heading or second.is_heading
    return not has_heading and second.line_start <= first.line_end + 1


def _bm25(query: WeightedQuery, counts: Mapping[Term, float], norm: float) -> float:
    return bm25.score(map(query.weights.__getitem__, counts), counts.values(), norm)


def _cover(query: WeightedQuery, present: Mapping[Term, float]) -> float:
    """Return the share of the query that a passage covers; `present`: how far it has each term, 0 to 1."""
    covered = math.fsum(query.weights[term] * share for term, share in present.items())
    return round(min(1.0, covered / query.full_coverage), 6)


def _item_indent(text: str) -> int | None:
    """Return the indentation of a list item; None if the text is no item, or a line of a dialogue."""
    item = _ITEM.match(text)
    return item.end() - len(item[0].lstrip()) if item and not _LABEL.match(text) else None


def _neighbour_score(index: int, scores: Sequence[float], counts: Sequence[Mapping[Term, int]]) -> float:
    """Return the score of a passage without any of the words: less than that of the neighbour that has them."""
    reach = range(max(0, index - NEIGHBOUR_REACH), min(len(scores), index + NEIGHBOUR_REACH + 1))
    lenders = [scores[other] for other in reach if counts[other]]
    return min(scores[index], 0.999 * max(lenders)) if lenders else scores[index]


def _passage_factor(
    query: WeightedQuery,
    text: str,
    counts: Mapping[Term, int],
    spelled: frozenset[str],
    label_share: float,
) -> float:
    """Return how much more or less a passage counts by what kind of passage it is.

    `counts`: the query's terms in it; `spelled`: its words that the query spells alike.
    """
    own = query.exact.intersection(counts)
    whole = 1 + WHOLE_QUERY_BONUS * (len(own) / len(query.exact) if query.exact else 0.0)
    label = 1 + (LABEL_FACTOR - 1) * label_share
    alike = 1 + SPELLING_BONUS * (len(spelled) / len(query.spelled) if spelled and own else 0.0)
    return whole * label * alike * (QUESTION_FACTOR if text.rstrip().endswith(QUESTION_MARKS) else 1.0)


def _named_label_share(text: str, counter: TermCounter) -> float:
    """Return the share of a label's words that the query contains; 0 without a label."""
    label = _LABEL.match(text)
    words = tokenize(label[1]) if label else []
    counts = counter.count(words).items()
    named = sum(count * len(term.tokens) for term, count in counts if not term.is_beginning)
    return min(1.0, named / len(words)) if words else 0.0


@lru_cache(maxsize=1024)  # 0.6 MB
def _tokenize_heading(heading: str) -> list[str]:
    return tokenize(heading)
