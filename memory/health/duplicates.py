"""Find what notes say twice, in the same words or nearly the same; pure, and linear in the length of the notes.

A line about a day is an event of that day, and equal events on two days are two events. A lasting fact, or a line in a
note without a day, is the same wherever it stands, unless different headings show that it is about something else.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import groupby

from memory.dates import CORE_NOTE
from memory.health.note_passages import ComparedPassage
from memory.health.report import MAX_PLACES, Finding, FindingKind, Place, shorten
from memory.health.time_limit import TimeLimit
from memory.normalization import normalize
from memory.ranking.persistence import names_subject, tells_state
from memory.ranking.state_words import ARTICLES, load_state_words
from memory.ranking.statements import MAX_CHARS, Statement, parse_statement
from memory.stop_words import load_all_stop_words

MIN_WORDS = 3
"""A passage with fewer words ("Slept well") may be said of many things."""

MIN_CONTENT_WORDS = 2

MIN_LETTERS = 6
"""Minimum letters in scripts without spaces."""

LONG_WORDS = 12
"""A passage with this many words is about one thing, whatever the headings say, if only two notes have it."""

LONG_LETTERS = 36

MIN_BLOCK = 4
"""Minimum consecutive passages that make a copy even if each of them may be said twice."""

MIN_BLOCK_WORDS = 40
"""Minimum words of such a copy: two days may have the same routine."""

MIN_BLOCK_LETTERS = 120

MAX_GAP = 3
"""Maximum distance of two passages of a copy; those between say too little to be compared."""

MAX_COMPARED = 20
"""Maximum equal passages that are compared with each other."""

MIN_BEGINNING_WORDS = 4
"""Minimum words of a passage that another one repeats and continues."""

_WORD = re.compile(
    r"\w+|-(?=\d)|[^\w\s.,:;!…·|\"'“”‘’„«»‹›()\[\]{}_`~*\\–—。，、；：！？।॥「」『』（）【】《》-]"
)
_POSSESSIVE = re.compile(r"['’]s?\b")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BREAK = re.compile(r"[,;(–—.:!](?=\s)|\s-(?=\s)|[，、；。（：]")
_CALLED = "named called that the der die das el la le les los las il lo gli den det on user's"
"""Words, besides articles and "is", that make no difference to what a passage says."""

Key = int
"""A hash of the words of a passage."""


def compute_beginnings(text: str) -> Iterator[Key]:
    """Yield the keys of the beginnings of a text that could be passages of their own."""
    if len(text) > MAX_CHARS:
        return
    words: tuple[str, ...] = ()
    start = 0
    for found in _BREAK.finditer(text):
        words += split_words(text[start : found.start()])
        start = found.start()
        if len(words) >= MIN_BEGINNING_WORDS and says_enough(text[:start], words):
            yield hash(words)


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without those that make no difference."""
    plain = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    if "'" in plain or "’" in plain:
        plain = _POSSESSIVE.sub("", plain)
    negligible = _negligible_words()
    return tuple([word for word in _WORD.findall(plain) if word not in negligible])


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal except for case, spaces, and the mark at their end."""
    return _plain(one) == _plain(other)


def find_duplicates(
    passages: Mapping[int, ComparedPassage], groups: Iterable[tuple[Sequence[int], int]], *, limit: TimeLimit
) -> Iterator[Finding]:
    """Yield what is said twice.

    `passages`: by their number in the order of the notes; `groups`: the numbers of passages with the same key,
    at least some, and how many there are in all.
    """
    copies: dict[tuple[int, bool], list[int]] = defaultdict(list)
    pairs: list[tuple[int, int, bool]] = []
    sizes: dict[int, int] = {}
    uncompared: dict[int, int] = {}
    for group, total in groups:
        if limit.has_passed:
            break
        numbers = sorted(group[:MAX_COMPARED], key=lambda number: _rank(passages[number]))
        clusters = list(_cluster(numbers, passages, is_alone=total == 2))
        for kept, others in clusters:
            pairs += ((kept, number, is_surely) for number, is_surely in others)
        if [len(others) for _, others in clusters] == [len(numbers) - 1]:
            uncompared[clusters[0][0]] = total - len(numbers)  # if all of these are copies, so are the others
        sizes |= dict.fromkeys(numbers, total)
    for run in _join_runs(pairs, passages):
        surely = [pair for pair in run if pair[2]]
        is_template = sum(sizes[first] > 2 for first, _, _ in run) * 2 > len(run)
        is_copy = len(surely) * 2 > len(run) or (
            not surely and not is_template and _is_long_run(run, passages)
        )
        if len(run) >= MIN_BLOCK and is_copy:
            yield _make_block(run, passages)
            continue
        for kept, number, _ in surely:
            copies[kept, is_same_text(passages[kept].bare_text, passages[number].bare_text)].append(number)
    for (kept, is_exact), numbers in copies.items():
        found = _make_finding(passages[kept], [passages[number] for number in numbers], is_exact=is_exact)
        yield replace(found, more=found.more + uncompared.pop(kept, 0))


def find_continued(shorter: ComparedPassage, longer: ComparedPassage) -> Finding | None:
    """Return the finding that one passage says what another says, and more; None if they are about two things."""
    if shorter.path == longer.path and shorter.line_start == longer.line_start:
        return None
    if longer.is_foreign or not _repeats(shorter, longer, is_alone=False):
        return None
    return Finding("near_duplicate", (make_place(shorter),), make_place(longer), new_text="")


def make_place(passage: ComparedPassage, last: ComparedPassage | None = None) -> Place:
    """Return the place of a passage, or of several up to `last`."""
    end = (last or passage).line_end
    return Place(passage.path, passage.line_start, end, shorten(passage.bare_text))


def _rank(passage: ComparedPassage) -> tuple[bool, bool, bool, str, str, int]:
    """Return the order in which passages are kept: one's own words, the core note, no day, the oldest day."""
    day = passage.day.isoformat() if passage.day else ""
    return (
        passage.is_foreign,
        passage.path != CORE_NOTE,
        passage.day is not None,
        day,
        passage.path,
        passage.line_start,
    )


def _cluster(
    numbers: Sequence[int], passages: Mapping[int, ComparedPassage], *, is_alone: bool
) -> Iterator[tuple[int, list[tuple[int, bool]]]]:
    """Yield each passage that is kept, with its copies and whether each is surely one."""
    clusters: list[tuple[int, list[tuple[int, bool]]]] = []
    for number in numbers:
        for kept, others in clusters:
            if _repeats(passages[kept], passages[number], is_alone=is_alone):
                others.append((number, True))
                break
        else:
            if clusters and is_alone:
                clusters[0][1].append((number, False))
            clusters.append((number, []))
    yield from ((kept, others) for kept, others in clusters if others)


def _repeats(one: ComparedPassage, other: ComparedPassage, *, is_alone: bool) -> bool:
    """Return whether two passages with the same words say the same thing."""
    if one.is_record or other.is_record:
        return False
    is_dated = one.day is not None and other.day is not None
    if one.path == other.path and one.context == other.context and one.day == other.day:
        return one.time == other.time or _lasts(one) or not is_dated
    if is_dated and not _lasts(one):
        return False
    if one.is_log and other.is_log and one.path.rpartition("/")[0] != other.path.rpartition("/")[0]:
        return False  # somebody else's logs
    if one.context == other.context or not (one.context and other.context) or _names_subject(one):
        return True
    return is_alone and one.path != other.path and _is_long(one.text) and not is_dated


def _parse(passage: ComparedPassage) -> tuple[Sequence[str], bool, int] | None:
    statement = parse_statement(Statement(passage.text, passage.day or date.min), frozenset())
    return (statement.spelled, statement.by_letter, statement.label) if statement else None


def _lasts(passage: ComparedPassage) -> bool:
    found = _parse(passage)
    return found is not None and tells_state(found[0], by_letter=found[1])


def _names_subject(passage: ComparedPassage) -> bool:
    found = _parse(passage)
    return (
        found is not None
        and not found[2]
        and names_subject(found[0], by_letter=found[1])
        and tells_state(found[0], by_letter=found[1])
    )


def _join_runs(
    pairs: list[tuple[int, int, bool]], passages: Mapping[int, ComparedPassage]
) -> Iterator[list[tuple[int, int, bool]]]:
    """Yield the pairs, grouping those whose passages follow each other in both notes."""

    def line(pair: tuple[int, int, bool]) -> tuple[str, str, int]:
        first, second, _ = pair
        return passages[first].path, passages[second].path, second - first

    for (one, other, _), same in groupby(sorted(pairs, key=lambda pair: (*line(pair), pair[0])), key=line):
        run: list[tuple[int, int, bool]] = []
        for pair in same:
            if run and (pair[0] > run[-1][0] + MAX_GAP or one == other):
                yield run
                run = []
            run.append(pair)
        yield run


def _is_long_run(run: Sequence[tuple[int, int, bool]], passages: Mapping[int, ComparedPassage]) -> bool:
    """Return whether a copy is longer than what two days may have in common."""
    texts = [passages[first].text for first, _, _ in run]
    letters = sum(len(_UNSPACED.findall(text)) for text in texts if not text.isascii())
    return sum(len(text.split()) for text in texts) >= MIN_BLOCK_WORDS or letters >= MIN_BLOCK_LETTERS


def _make_block(run: Sequence[tuple[int, int, bool]], passages: Mapping[int, ComparedPassage]) -> Finding:
    kept, copy = ([passages[pair[side]] for pair in run] for side in (0, 1))
    is_exact = all(
        is_same_text(one.bare_text, other.bare_text) for one, other in zip(kept, copy, strict=True)
    )
    places, more = _choose_places(_join_lines(copy))
    return Finding(
        "duplicate" if is_exact else "near_duplicate",
        places,
        make_place(kept[0], kept[-1]),
        more,
        new_text="",
    )


def _join_lines(passages: Sequence[ComparedPassage]) -> Iterator[Place]:
    """Yield the places of passages, joined where no other line, such as a heading, is between them."""
    first = last = passages[0]
    for passage in passages[1:]:
        if passage.line_start != last.line_end + 1:
            yield make_place(first, last)
            first = passage
        last = passage
    yield make_place(first, last)


def _choose_places(places: Iterable[Place]) -> tuple[tuple[Place, ...], int]:
    """Return up to `MAX_PLACES` of these, the last lines of a note first, and the number of the others."""
    found = list(places)
    shown = sorted(found[:MAX_PLACES], key=lambda place: (place.path, -place.line_start))
    return tuple(shown), len(found) - len(shown)


def _make_finding(kept: ComparedPassage, copies: Sequence[ComparedPassage], *, is_exact: bool) -> Finding:
    kind: FindingKind = "duplicate" if is_exact else "near_duplicate"
    places, more = _choose_places(map(make_place, copies))
    return Finding(kind, places, make_place(kept), more, new_text="")


def says_enough(text: str, words: Sequence[str]) -> bool:
    """Return whether a text with these words says enough to be about one thing."""
    letters = len(_UNSPACED.findall(text)) if not text.isascii() else 0
    if letters * 2 > sum(map(len, words)):
        return letters >= MIN_LETTERS
    if len(text.split(None, MIN_WORDS)) < MIN_WORDS:
        return False
    stop_words, content = load_all_stop_words(), 0
    for word in words:
        content += word not in stop_words and word[0].isalnum()
        if content >= MIN_CONTENT_WORDS:
            return True
    return False


def _is_long(text: str) -> bool:
    letters = len(_UNSPACED.findall(text)) if not text.isascii() else 0
    return letters >= LONG_LETTERS or len(text.split()) >= LONG_WORDS


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .。।")


@cache
def _negligible_words() -> frozenset[str]:
    copulas = (
        word for each in load_state_words().values() for word in each.copulas if not _UNSPACED.search(word)
    )
    return ARTICLES.union(copulas, _CALLED.split())
