"""Find statements that a later one has made untrue, with the recogniser that marks search results; pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import pairwise

from memory.health.duplicates import Key, make_place
from memory.health.note_passages import ComparedPassage
from memory.health.report import Finding
from memory.health.time_limit import TimeLimit
from memory.ranking.persistence import says_nothing
from memory.ranking.state_words import NO_SPACES, load_state_words
from memory.ranking.statements import MAX_OTHER_WORDS, MIN_SHARED_WORDS, Statement, parse_statement
from memory.ranking.supersession import find_latest
from memory.tokenizer import Term, tokenize

MAX_VERSIONS = 60
"""Statements that begin alike and are compared; a fact with more values is a measurement."""

_MIN_BEFORE = 2
"""Minimum letters before a word of state in scripts without spaces."""

_END = re.compile(r"until \d{4}-\d\d-\d\d: ")
_LIST_MARKER = re.compile(r"\s*(?:(?:[-*+•]|\d{1,9}[.)])\s+)?")


def compute_fact_keys(passage: ComparedPassage) -> Iterator[tuple[Key, Sequence[Term]]]:
    """Yield hashes that two statements of one fact have in common, each with the question that they answer.

    They begin alike, up to a word of state, whatever is asked; or they have all words but a name or a number in
    common, and these words are asked for.
    """
    if passage.day is None or passage.is_record or passage.is_foreign:
        return
    parsed = parse_statement(_make_statement(passage, passage.day), frozenset())
    if parsed is None:
        return
    pieces = parsed.pieces
    if parsed.label:
        yield hash(("label", pieces[: parsed.label], passage.context)), ()
        return
    if parsed.by_letter:
        text = "".join(pieces)
        for state in _unspaced_states():
            at = text.find(state, 1)
            if at >= 0:
                yield hash(("before", text[: at + len(state)])), ()
                yield hash(("around", text[:_MIN_BEFORE], state)), ()
        return
    states = _states()
    ends = {at + 1 for at, word in enumerate(pieces) if word in states}
    ends |= {at + 2 for at, pair in enumerate(pairwise(pieces)) if "_".join(pair) in states}
    ends |= {at for at, word in enumerate(pieces) if at and word[0].isdigit()}
    yield from ((hash(("before", pieces[:end])), ()) for end in ends)
    if pieces[-1] in states or (len(pieces) > 1 and pieces[-2] in states):
        yield hash(("around", pieces[:1], pieces[-2:])), ()
    yield from _compute_asked_keys(parsed.spelled)


def _compute_asked_keys(spelled: Sequence[str]) -> Iterator[tuple[Key, Sequence[Term]]]:
    """Yield the questions that a number answers, or a name at the end: the name in "Bonn, says Anna" answers none."""
    if len(spelled) > MAX_OTHER_WORDS:
        return
    at = 1
    while at < len(spelled):
        end = at
        while end < len(spelled) and (spelled[end][0].isupper() or spelled[end][0].isdigit()):
            end += 1
        is_value = end > at and (
            spelled[at][0].isdigit() or (end == len(spelled) and says_nothing(spelled[at - 1].lower()))
        )
        if is_value:
            words = (word for word in (*spelled[:at], *spelled[end:]) if not says_nothing(word.lower()))
            asked = sorted({token for word in words for token in tokenize(word)[:1]})
            if len(asked) >= MIN_SHARED_WORDS:
                yield hash(("asked", *asked)), tuple(Term((token,)) for token in asked)
        at = end + 1


def find_superseded(
    passages: Mapping[int, ComparedPassage],
    groups: Iterable[tuple[Key, Sequence[int]]],
    *,
    today: date,
    limit: TimeLimit,
) -> Iterator[Finding]:
    """Yield the statements that are surely superseded; `groups`: the numbers of passages with the same key.

    What is dated after `today` takes no part. Among them are those that say already until when they were true.
    """
    latest: dict[int, int] = {}
    for key, group in groups:
        if limit.has_passed:
            break
        numbers = [number for number in group if _is_told_by(passages[number], today)]
        statements = [_make_statement(passages[number], passages[number].day or today) for number in numbers]
        asked = dict(compute_fact_keys(passages[group[0]])).get(key, ())
        surely, _ = find_latest(statements, asked)
        found = {numbers[old]: numbers[new] for old, new in surely.items()}
        for old, new in found.items():
            latest[old] = max(latest.get(old, new), new, key=lambda number: _day_of(passages[number]))
    for old, new in latest.items():
        earlier, later = passages[old], passages[new]
        text = _add_end(earlier, _day_of(later))
        yield Finding("superseded", (make_place(earlier),), make_place(later), new_text=text)


def says_end(text: str) -> bool:
    """Return whether a passage says until when it was true, as the command of such a finding makes it say."""
    return _END.match(text.strip()) is not None


def _add_end(passage: ComparedPassage, day: date) -> str:
    """Return a passage that says until when it was true, below the day and the time that it begins with.

    Indentation and list marker are left out, since `/correct` keeps them.
    """
    bare = passage.bare_text.strip()
    before = passage.text.partition(bare)[0]
    return f"{_LIST_MARKER.sub('', before, count=1)}until {day}: {bare}"


def _is_told_by(passage: ComparedPassage, today: date) -> bool:
    return passage.day is not None and passage.day <= today


def _day_of(passage: ComparedPassage) -> date:
    return passage.day or date.min


def _make_statement(passage: ComparedPassage, day: date) -> Statement:
    text = passage.text
    if says_end(passage.bare_text):
        text = _END.sub("", text, count=1)  # it is still what was true between two others
    return Statement(
        text,
        day,
        context=passage.context,
        log_folder=passage.path.rpartition("/")[0] if passage.is_log else None,
        is_spoken=passage.is_spoken,
    )


@cache
def _states() -> frozenset[str]:
    spaced = (words for code, words in load_state_words().items() if code not in NO_SPACES)
    return frozenset().union(*(each.copulas | each.verbs | each.has for each in spaced))


@cache
def _unspaced_states() -> tuple[str, ...]:
    languages = load_state_words()
    return tuple(
        {
            state
            for code in NO_SPACES
            for state in languages[code].copulas | languages[code].verbs | languages[code].lasting
        }
    )
