"""Examine all notes: a first pass over the files collects hashes, a second one reads passages with equal hashes."""

import asyncio
import time
from array import array
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, groupby, islice
from typing import get_args

from memory.attribution import find_says, remove_marks
from memory.dates import note_date
from memory.document_paths import describe_document
from memory.errors import IndexCorrupted, IndexUnavailable, MemoryFault, NoteMissing
from memory.front_matter import read_front_matter
from memory.health.duplicates import (
    compute_beginnings,
    find_continued,
    find_duplicates,
    make_place,
    says_enough,
    split_words,
)
from memory.health.links import FileNames, fix_links
from memory.health.note_passages import ComparedPassage, read_passages
from memory.health.report import MAX_FINDINGS, Finding, FindingKind, HealthReport, Place, shorten
from memory.health.superseded import MAX_VERSIONS, compute_fact_keys, find_superseded, says_end
from memory.health.time_limit import TimeLimit
from memory.health.unfound import WordCounts, find_text_fault
from memory.note_links import NoteLink, find_links
from memory.notes import Notes
from memory.ranking.statements import strip_markers
from memory.search import SearchHit
from memory.translatable import Translatable

MAX_PASSAGES = 500_000
"""Passages that are compared; a memory with more is examined in part."""

MAX_KEPT = 10_000
"""Findings of a kind that are counted."""

MAX_READ_AGAIN = 50_000
"""Passages with something in common that are read again and compared."""

MAX_GROUP = 100
"""Passages that are remembered of those with the same words; the others are only counted."""

MAX_FILES = 200_000

MAX_LINES_OF_PLACE = 1_000
"""Lines of a finding that no other finding may be about."""

MAX_LINE_CHARS = 2_000
"""Characters of a line for which a corrected text is proposed."""

MAX_SEARCHED = 20
"""Notes without a rare word that are searched for."""

MAX_RESULTS = 10
"""A note among so many results of a search for its own words is found."""

FIRST_PASS_SHARE = 0.7
"""Share of the time for the first pass."""

NOT_AMONG_RESULTS = Translatable("a search for its own words finds other notes first")

SearchWords = Callable[[str], Awaitable[Sequence[SearchHit]]]


class _Groups:
    """Numbers of passages by what they have in common."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._more: dict[int, list[int]] = {}
        self.counts: dict[int, int] = {}
        """Number of the members of large groups, by key."""

    def add(self, key: int, number: int) -> None:
        first = self._first.setdefault(key, number)
        if first == number:
            return
        members = self._more.setdefault(key, [first])
        if len(members) < MAX_GROUP:
            if members[-1] != number:
                members.append(number)
        else:
            self.counts[key] = self.counts.get(key, MAX_GROUP) + 1

    def first(self, key: int) -> int | None:
        return self._first.get(key)

    def groups(self, *, most: int = MAX_GROUP) -> Iterator[tuple[int, list[int]]]:
        """Yield the groups of at most `most` passages, each with its key."""
        for key, members in self._more.items():
            if 1 < len(members) <= most:
                yield key, members


class _FirstPass:
    """What is collected of all notes, without keeping their texts."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.files = FileNames()
        self.paths: list[str] = []
        self.starts = array("L")
        """The number of each note's first passage."""
        self.keys = array("q")
        self.same = _Groups()
        self.facts = _Groups()
        self.beginnings: list[tuple[int, int]] = []
        self.words = WordCounts()
        self.findings: list[Finding] = []
        self.foreign: list[Finding] = []
        self.broken: list[tuple[str, NoteLink]] = []
        self.read = self.unread = 0
        self.is_part_away = False
        """Whether a folder is away, so that a link into it leads nowhere for now."""

    def run(self, limit: TimeLimit) -> None:
        listing = self.notes.walk()
        for problem in listing.problems:
            if problem.away:
                self.is_part_away = True
            elif problem.hides_notes or problem.path.lower().endswith(".md"):
                self._add_unfound(problem.path, problem.reason)
        self.files = FileNames(self.notes.files(limit=MAX_FILES))
        stats = sorted(listing.notes)
        for done, stat in enumerate(stats):
            if limit.has_passed or len(self.keys) >= MAX_PASSAGES:
                self.unread = len(stats) - done
                break
            try:
                text = self.notes.load(stat.path).text
            except NoteMissing:
                continue
            except MemoryFault as fault:
                self._add_unfound(stat.path, fault.text)
                continue
            self.read += 1
            self._add_note(stat.path, text)
        self.starts.append(len(self.keys))
        # A note that was read later, or not at all, may have the name as an alias.
        self.broken = [
            (path, link)
            for path, link in self.broken
            if not (link.is_wiki and self.unread)
            and not self.is_part_away
            and not self.files.has(link, path=path)
        ]

    def _add_unfound(self, path: str, reason: str) -> None:
        self.findings.append(Finding("not_found", (Place(path, 0, 0, ""),), reason=reason))

    def _add_note(self, path: str, text: str) -> None:
        if fault := find_text_fault(text):
            self._add_unfound(path, fault)
            return
        self.paths.append(path)
        self.starts.append(len(self.keys))
        if aliases := read_front_matter(text).aliases:
            self.files.add_aliases(path, aliases)
        if "](" in text or "[[" in text:
            broken = ((path, link) for link in find_links(text) if not self.files.has(link, path=path))
            self.broken += islice(broken, MAX_KEPT - len(self.broken))
        if "(says " in text and not describe_document(path):
            self.foreign += islice(_find_foreign(path, text), MAX_KEPT - len(self.foreign))
        last: ComparedPassage | None = None
        found = _words_of_name(path)
        for passage in read_passages(path, text):
            words = split_words(passage.bare_text)
            found.update(words)
            if len(self.keys) >= MAX_PASSAGES:
                break
            if not words:
                continue
            if last and _repeats_last(last, passage):
                self._repeat(last, passage)
                last = passage
                continue
            number, last = len(self.keys), passage
            self.keys.append(key := hash(words))
            if says_enough(passage.bare_text, words):
                self.same.add(key, number)
                if not passage.is_record and len(self.beginnings) < MAX_PASSAGES:
                    self.beginnings += ((each, number) for each in compute_beginnings(passage.bare_text))
            for fact, _ in compute_fact_keys(passage):
                self.facts.add(fact, number)
        self.words.add(path, found, is_log=note_date(path) is not None)

    def _repeat(self, last: ComparedPassage, passage: ComparedPassage) -> None:
        """Note that a passage says the same as the one right above it; a row of them is one finding."""
        if self.findings and (before := self.findings[-1]).kind == "duplicate":
            place = before.places[0]
            if place.path == passage.path and place.line_end == last.line_end:
                grown = Place(place.path, place.line_start, passage.line_end, place.text)
                self.findings[-1] = Finding("duplicate", (grown,), before.about, new_text="")
                return
        if len(self.findings) < MAX_KEPT:
            self.findings.append(Finding("duplicate", (make_place(passage),), make_place(last), new_text=""))


def _repeats_last(above: ComparedPassage, passage: ComparedPassage) -> bool:
    """Return whether a passage only repeats the one right above it."""
    return (
        passage.line_start == above.line_end + 1
        and len(passage.text) == len(above.text)
        and passage.text == above.text
        and passage.context == above.context
        and not passage.is_record
        and says_enough(passage.bare_text, split_words(passage.bare_text))
    )


async def examine_notes(
    notes: Notes,
    search_words: Callable[..., Awaitable[Sequence[SearchHit]]],
    *,
    today: date,
    seconds: float,
    is_stopped: Callable[[], bool],
) -> HealthReport:
    """Examine the notes in a thread; `search_words(query, limit=…)` searches them by words alone."""
    began = time.monotonic()
    first = _FirstPass(notes)
    findings = await asyncio.to_thread(_examine, first, today, seconds, is_stopped)
    common = await asyncio.to_thread(first.words.find_common, MAX_SEARCHED)
    limit = TimeLimit.after(seconds - (time.monotonic() - began), is_stopped)
    for path in common:
        if limit.has_passed:
            break
        if await _is_not_found(path, first, search_words):
            findings.append(Finding("not_found", (Place(path, 0, 0, ""),), reason=NOT_AMONG_RESULTS))
    shown, left_out = _limit(findings)
    read_only = tuple(folder.name for folder in notes.folders if not folder.is_writable)
    return HealthReport(shown, left_out, first.read, first.unread, time.monotonic() - began, read_only)


async def _is_not_found(
    path: str, first: _FirstPass, search_words: Callable[..., Awaitable[Sequence[SearchHit]]]
) -> bool:
    try:
        text = (await asyncio.to_thread(first.notes.load, path)).text
        query = " ".join(first.words.choose_rarest(await asyncio.to_thread(_words_of, path, text)))
        hits = await search_words(query, limit=MAX_RESULTS)
    except (NoteMissing, IndexCorrupted, IndexUnavailable):
        return False
    except MemoryFault:
        return True
    return bool(query) and all(hit.path != path for hit in hits)


def _words_of_name(path: str) -> set[str]:
    return set(split_words(path.rpartition("/")[2].removesuffix(".md")))


def _words_of(path: str, text: str) -> set[str]:
    return _words_of_name(path).union(*(split_words(each.bare_text) for each in read_passages(path, text)))


def _examine(first: _FirstPass, today: date, seconds: float, is_stopped: Callable[[], bool]) -> list[Finding]:
    limit = TimeLimit.after(seconds, is_stopped)
    first.run(TimeLimit.after(seconds * FIRST_PASS_SHARE, is_stopped))
    continued = list(islice(_find_continuations(first), MAX_READ_AGAIN))
    same, facts = list(first.same.groups()), list(first.facts.groups(most=MAX_VERSIONS))
    together = chain((group for _, group in chain(same, facts)), continued)
    wanted = dict.fromkeys(islice(chain.from_iterable(together), MAX_READ_AGAIN))
    passages = _read_again(first, wanted, limit)
    changed = list(find_superseded(passages, _present(facts, passages), today=today, limit=limit))
    versions = {_line_of(place) for each in changed for place in (*each.places, each.about) if place}
    equal = (
        (group, max(len(group), first.same.counts.get(key, 0))) for key, group in _present(same, passages)
    )
    twice = [
        each
        for each in find_duplicates(passages, equal, limit=limit)
        # Who moved to Bonn again did not note it twice.
        if versions.isdisjoint(_line_of(place) for place in (*each.places, each.about) if place)
    ]
    for shorter, longer in continued:
        if shorter in passages and longer in passages:
            found = find_continued(passages[shorter], passages[longer])
            twice += [found] if found else []
    changed = [each for each in changed if not says_end(each.places[0].text)]
    return list(_each_line_once([*first.findings, *twice, *changed, *_find_broken(first), *first.foreign]))


def _line_of(place: Place) -> tuple[str, int]:
    return place.path, place.line_start


def _each_line_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, but none about a line that an earlier one fixes: the two commands would conflict."""
    fixed: set[tuple[str, int]] = set()
    for each in findings:
        lines = [(one.path, line) for one in each.places for line in _some_lines(one)]
        if fixed.isdisjoint(lines):
            yield each
        fixed.update(lines)


def _some_lines(place: Place) -> Iterable[int]:
    return range(place.line_start, min(place.line_end, place.line_start + MAX_LINES_OF_PLACE) + 1)


def _find_continuations(first: _FirstPass) -> Iterator[tuple[int, int]]:
    """Yield pairs of passages: one, and one that begins with all of its words."""
    for key, longer in first.beginnings:
        shorter = first.same.first(key)
        if shorter is not None and shorter != longer:
            yield shorter, longer


def _present(
    groups: Iterable[tuple[int, Sequence[int]]], passages: Mapping[int, ComparedPassage]
) -> Iterator[tuple[int, list[int]]]:
    for key, group in groups:
        present = [number for number in group if number in passages]
        if len(present) > 1:
            yield key, present


def _read_again(first: _FirstPass, wanted: Iterable[int], limit: TimeLimit) -> dict[int, ComparedPassage]:
    """Return the passages with these numbers, without those that have changed since."""
    found: dict[int, ComparedPassage] = {}
    numbers = sorted(wanted)
    at = note = 0
    while at < len(numbers) and not limit.has_passed:
        while first.starts[note + 1] <= numbers[at]:
            note += 1
        end = at
        while end < len(numbers) and numbers[end] < first.starts[note + 1]:
            end += 1
        here, at, start = set(numbers[at:end]), end, first.starts[note]
        try:
            text = first.notes.load(first.paths[note]).text
        except MemoryFault:
            continue
        number, last = start, None
        for passage in read_passages(first.paths[note], text):
            words = split_words(passage.bare_text)
            if not words or (last and _repeats_last(last, passage)):
                last = passage if words else last
                continue
            if number >= first.starts[note + 1]:
                break
            if number in here and first.keys[number] == hash(words):
                found[number] = passage
            number, last = number + 1, passage
    return found


def _find_foreign(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        # The writer of a mark puts it at the end; elsewhere somebody tells about marks.
        if "(says " in line and line.rstrip(" |").endswith(")") and (says := find_says(line)):
            place = Place(path, number, number, shorten(strip_markers(line)))
            own = remove_marks(line).strip() if len(line) <= MAX_LINE_CHARS else None
            yield Finding("foreign_text", (place,), reason=", ".join(says), new_text=own)


def _find_broken(first: _FirstPass) -> Iterator[Finding]:
    """Yield a finding for each line with broken links; only those that are shown have a text."""
    lines = groupby(first.broken, key=lambda each: (each[0], each[1].line))
    for count, ((path, number), found) in enumerate(lines):
        links = [link for _, link in found]
        targets = ", ".join(dict.fromkeys(shorten(link.target) for link in links))
        place = Place(path, number, number, "")
        if count >= MAX_FINDINGS:
            yield Finding("broken_link", (place,), reason=targets)
            continue
        try:
            line = first.notes.read(path, line=number, limit=1).text.rstrip("\n")
        except MemoryFault:
            continue
        moved = [first.files.find_moved(link) for link in links]
        text = fix_links(line, links, path=path, moved=moved).strip()
        yield Finding(
            "broken_link",
            (replace(place, text=shorten(strip_markers(line))),),
            Place(moved[0], 0, 0, "") if len(moved) == 1 and moved[0] else None,
            reason=targets,
            new_text=text if len(line) <= MAX_LINE_CHARS else None,
        )


def _limit(findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], dict[FindingKind, int]]:
    shown: list[Finding] = []
    left_out: dict[FindingKind, int] = {}
    by_kind: dict[FindingKind, list[Finding]] = {kind: [] for kind in get_args(FindingKind)}
    for each in findings:
        by_kind[each.kind].append(each)
    for kind, found in by_kind.items():
        # From the bottom of a note up, so that each command leaves the lines of the next ones where they are.
        found[:MAX_FINDINGS] = sorted(
            found[:MAX_FINDINGS], key=lambda each: (each.places[0].path, -each.places[0].line_start)
        )
        shown += found[:MAX_FINDINGS]
        if len(found) > MAX_FINDINGS:
            left_out[kind] = len(found) - MAX_FINDINGS
    return tuple(shown), left_out
