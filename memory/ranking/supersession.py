"""Find newer versions of facts: passages about the same thing with another value, told on a later day.

What is surely superseded is precise rather than complete, since a false mark misleads: two events, two things of a
list, or one statement told twice supersede nothing. For the order of passages, probable versions are enough.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import combinations, pairwise
from typing import NamedTuple

from memory.attribution import says_of
from memory.dates import note_date
from memory.ranking.candidates import CandidatePassage, PassageRun
from memory.ranking.fusion import PassageKey, ScoredPassage
from memory.ranking.persistence import is_lasting_label, is_lasting_value
from memory.ranking.statements import (
    MIN_SHARED_WORDS,
    ParsedStatement,
    Statement,
    find_label,
    parse_statement,
)
from memory.tokenizer import Term

MIN_COMPARED = 40
"""How many of the best passages are compared, even if fewer are wanted: the current one may not be among those."""

MAX_COMPARED = 200
"""Maximum passages that are compared, however many are wanted, since each is compared with each that begins alike."""

MAX_VALUE_WORDS = 8
"""Maximum words of what differs; else it is another statement."""

MAX_VALUE_LETTERS = 24
"""The same in scripts without spaces."""

MEASURED_VALUES = 3
"""Number of values from which a fact that changes within `MEASURED_DAYS` is a measurement or an event."""

MEASURED_DAYS = 14


Latest = dict[int, int]
"""The index of the current version, by that of each statement that has a later one."""


_SectionLabel = tuple[str, date | None, str, str]
"""What one section's lines begin with: the note's path, the day, the headings, and the label in lower case."""


class FactVersions(NamedTuple):
    """Passages that tell a fact which another one tells later, each with the current one."""

    superseded: Mapping[PassageKey, PassageKey]
    """Those that surely do, as people may be told."""
    probable: Mapping[PassageKey, PassageKey]
    """Those that probably do, including the former."""


def find_versions(
    found: Sequence[ScoredPassage],
    runs: Sequence[PassageRun],
    terms: Sequence[Term],
    *,
    limit: int,
    today: date,
) -> FactVersions:
    """Find the versions of facts among the best passages.

    `runs`: the candidates, which show whose labels are speakers' names. What is dated after `today` takes no part.
    """
    best = found[: min(max(limit, MIN_COMPARED), MAX_COMPARED)]
    spoken = _count_labels(best, runs)
    statements = [
        None
        if one.passage.day and one.passage.day > today
        else _make_statement(one.path, one.passage, spoken)
        for one in best
    ]
    keys = [one.key for one in best]
    surely, probably = (
        {keys[old]: keys[new] for old, new in latest.items()} for latest in find_latest(statements, terms)
    )
    return FactVersions(surely, probably)


def find_latest(statements: Sequence[Statement | None], terms: Sequence[Term]) -> tuple[Latest, Latest]:
    """Return what is surely superseded, and what probably is; None stands for what tells no fact.

    Every earlier statement with another value is superseded by the current one: the first of the last statements
    that agree.
    """
    asked = frozenset(term.tokens[0] for term in terms if len(term.tokens) == 1 and not term.is_beginning)
    parsed = {
        number: found
        for number, each in enumerate(statements)
        if each and (found := parse_statement(each, asked))
    }
    surely = _find_current(parsed, _group_by_fact(parsed, _comparable_pairs(parsed), _tell_one_fact))
    asked_about = [number for number, each in parsed.items() if len(each.shared) >= MIN_SHARED_WORDS]
    probably = _find_current(
        parsed, _group_by_fact(parsed, combinations(asked_about, 2), _probably_tell_one_fact), measured=True
    )
    return surely, probably | surely


def _find_current(
    parsed: Mapping[int, ParsedStatement], groups: Iterable[list[int]], *, measured: bool = False
) -> Latest:
    """Return the current statement for each that has one; with `measured`, also of what changes every few days."""
    current: Latest = {}
    for group in groups:
        group.sort(key=lambda number: (parsed[number].statement.day, number))
        runs = list(_split_by_value(group, parsed))
        if _contradict_on_one_day(parsed[number] for number in group):
            continue
        if not measured and _is_measured(runs, parsed):
            continue
        now = runs[-1][0]
        current |= {
            number: now for run in runs[:-1] for number in run if not _agree(parsed[number], parsed[now])
        }
    return current


def _make_statement(path: str, passage: CandidatePassage, labels: Counter[_SectionLabel]) -> Statement | None:
    if passage.day is None or passage.is_heading or says_of(path, passage.text):
        return None  # what somebody else says does not replace what the person noted
    label = _read_label(path, passage)
    return Statement(
        passage.text,
        passage.day,
        context=read_context(path, passage.heading),
        log_folder=path.rpartition("/")[0] if note_date(path) else None,
        is_spoken=label is not None and labels[label] > 1,
    )


def _count_labels(found: Sequence[ScoredPassage], runs: Sequence[PassageRun]) -> Counter[_SectionLabel]:
    """Return how often each label occurs in one section; a speaker's name occurs more than once."""
    paths = {one.path for one in found if one.passage.day and find_label(one.passage.text)}
    labels = (_read_label(run.path, each) for run in runs if run.path in paths for each in run.passages)
    return Counter(label for label in labels if label)


def _read_label(path: str, passage: CandidatePassage) -> _SectionLabel | None:
    label = find_label(passage.text)
    return (path, passage.day, passage.heading, label.lower()) if label else None


def read_context(path: str, heading: str) -> str:
    """Return the words of the headings and of the note's name; a daily log's name and title only name the day.

    But a log may have no title; then the first heading may name a person.
    """
    names = heading.split(" > ")
    if not note_date(path):
        names.insert(0, path.removesuffix(".md"))
    elif any(map(str.isdigit, names[0])):
        del names[0]
    words = " ".join(names).lower().split()
    return " ".join(word for word in words if not any(map(str.isdigit, word)))


def _group_by_fact(
    parsed: Mapping[int, ParsedStatement],
    pairs: Iterable[tuple[int, int]],
    tell_one_fact: Callable[[ParsedStatement, ParsedStatement], bool],
) -> list[list[int]]:
    """Return the statements about one fact, as numbers."""
    groups = {number: [number] for number in parsed}
    for one, other in pairs:
        if groups[one] is not groups[other] and tell_one_fact(parsed[one], parsed[other]):
            groups[one].extend(groups[other])
            for each in groups[other]:
                groups[each] = groups[one]
    return list({id(group): group for group in groups.values()}.values())


def _comparable_pairs(parsed: Mapping[int, ParsedStatement]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that begin alike, and those that both name a value of what is asked for."""
    alike: dict[str, list[int]] = {}
    for number, each in parsed.items():
        alike.setdefault(each.pieces[0], []).append(number)
    named = [number for number, each in parsed.items() if each.named]
    for numbers in (*alike.values(), named):
        yield from combinations(numbers, 2)


def _split_by_value(group: Sequence[int], parsed: Mapping[int, ParsedStatement]) -> Iterator[list[int]]:
    """Yield the numbers of consecutive statements that agree."""
    run = [group[0]]
    for before, number in pairwise(group):
        if not _agree(parsed[before], parsed[number]):
            yield run
            run = []
        run.append(number)
    yield run


def _contradict_on_one_day(group: Iterable[ParsedStatement]) -> bool:
    """Return whether one day has two values: then which one counts is unknown, or they are two things of a list."""
    days: dict[date, ParsedStatement] = {}
    return any(not _agree(days.setdefault(each.statement.day, each), each) for each in group)


def _is_measured(runs: Sequence[Sequence[int]], parsed: Mapping[int, ParsedStatement]) -> bool:
    """Return whether a fact changes as often as what people spend, or how long they sleep."""
    if len(runs) < MEASURED_VALUES:
        return False
    return any(
        (parsed[after[0]].statement.day - parsed[before[-1]].statement.day).days < MEASURED_DAYS
        for before, after in pairwise(runs)
    )


def _tell_one_fact(one: ParsedStatement, other: ParsedStatement) -> bool:
    if _are_of_others(one, other):
        return False
    if one.pieces == other.pieces:
        return True
    if one.statement.day == other.statement.day:
        return False
    return _differ_in_value(one, other) or _name_values(one, other)


def _probably_tell_one_fact(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Return whether both have the same names of the query, and enough of its words in common; in any language."""
    if _are_of_others(one, other):
        return False
    if one.pieces == other.pieces:
        return True
    both = one.shared & other.shared
    return (
        one.statement.day != other.statement.day
        and len(both) >= MIN_SHARED_WORDS
        and one.subjects | other.subjects <= both
    )


def _are_of_others(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Return whether two statements are about different people: under other headings, or in somebody else's logs."""
    first, second = one.statement, other.statement
    return bool(one.label and first.context != second.context) or (
        None not in (first.log_folder, second.log_folder) and first.log_folder != second.log_folder
    )


def _agree(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Return whether two statements about one fact have the same value."""
    if one.pieces == other.pieces:
        return True
    return bool(one.named and other.named and one.named.value == other.named.value)


def _differ_in_value(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Return whether two statements are equal except for the value of a label, or of a word like "is"."""
    if one.pieces[0] != other.pieces[0] or one.by_letter != other.by_letter or one.label != other.label:
        return False
    start = _common_prefix_length(one.pieces, other.pieces)
    if start < one.label:
        return False
    end = _common_prefix_length(one.pieces[start:][::-1], other.pieces[start:][::-1])
    values = [each.spelled[start : len(each.spelled) - end] for each in (one, other)]
    most = MAX_VALUE_LETTERS if one.by_letter else MAX_VALUE_WORDS
    if not all(0 < len(value) <= most for value in values):
        return False
    if one.label:
        told = [each.spelled[each.label :] for each in (one, other)]
        return is_lasting_label(one.spelled[: one.label], told, by_letter=one.by_letter)
    before, after = one.pieces[:start], one.pieces[len(one.pieces) - end :]
    return is_lasting_value(before, after, values, by_letter=one.by_letter)


def _name_values(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Return whether two statements, however worded, have the same words of the query, and one name or number."""
    first, second = one.named, other.named
    return bool(first and second and one.shared == other.shared and first.is_number == second.is_number)


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many of the first pieces are equal."""
    return next(
        (at for at, (piece, same) in enumerate(zip(one, other, strict=False)) if piece != same),
        min(len(one), len(other)),
    )
