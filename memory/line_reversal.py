"""Reverse a change to a note that may have changed since, by finding its lines by content; pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.formatting import format_lead_in
from memory.line_diff import LineDiff, split_lines
from memory.note_edits import LineAnchor, find_anchor, make_anchor
from memory.write_recovery import find_block

DIFF_MAX_LINES = 12
DIFF_MAX_CHARS = 160
"""Characters of a line in a diff."""
_NEAR_LINES = 200
"""How far from their place edited lines are looked for."""
_SIMILAR = 0.5
_MAX_INSERTED = 100
"""Lines between those of a change, at most."""
_MAX_STARTS = 20
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|$)")


@dataclass(frozen=True, slots=True)
class LinesReplacement:
    """Whole lines of a note as it is now, and what replaces them."""

    line: int
    """The first line; 1-based."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    lead: int = 0
    """How many lines at the beginning of `new` only separate it from the text above."""


def plan_reversal(text: str, change: LineDiff) -> LinesReplacement | None:
    """Return what reverses a change; None if the lines that it wrote are no longer there.

    Of several equal runs of lines, it is the one below the same lines as then, at the same line, or the nearest. Lines
    that somebody has put between added ones stay.
    A title or blank lines that only led up to added text are removed with it, unless other text needs them. Lines that
    the change removed return to where they were, or to the end.
    """
    lines = split_lines(text)
    if not change.new:
        return _plan_return(text, len(lines), change)
    lead = change.lead if change.lead < len(change.new) else 0
    run = change.new[lead:]
    line = _find_run(lines, run, change, lead)
    if line is None:
        return None if change.old else _plan_around_insertions(lines, run, change.line + lead)
    above = _count_needless(lines, line, len(run), change.new[:lead])
    return LinesReplacement(line - above, tuple(lines[line - 1 - above : line - 1 + len(run)]), change.old)


def stands_in_place(text: str, change: LineDiff) -> bool:
    """Return whether the lines that a change wrote are still below the same lines as then."""
    lines = split_lines(text)
    lead = change.lead if change.lead < len(change.new) else 0
    return any(_is_in_place(lines, line, change, lead) for line in _find_runs(lines, change.new[lead:]))


def describe_edits(text: str, change: LineDiff) -> str:
    """Return a short diff from the lines that a change wrote to what is there now, as far as that can be told."""
    import difflib  # takes 3 ms, needless unless an undo is refused

    run = change.new[change.lead :]
    found = _find_similar(split_lines(text), run, change.line + change.lead)
    diff = [line for line in difflib.ndiff(run[:_NEAR_LINES], found) if line[:1] in "+-"]
    shown = [f"{line[:DIFF_MAX_CHARS]}…" if len(line) > DIFF_MAX_CHARS else line for line in diff]
    more = len(shown) - DIFF_MAX_LINES
    return "\n".join(shown[:DIFF_MAX_LINES] + ["…"] * (more > 0))


def _plan_return(text: str, total: int, change: LineDiff) -> LinesReplacement:
    line = find_anchor(text, LineAnchor(change.line, change.above))
    if line is None and make_anchor(split_lines(text), total + 1).above == change.above:
        line = total + 1
    if line is not None or not total:
        return LinesReplacement(line or 1, (), change.old)
    lead = format_lead_in(text if text.endswith("\n") else f"{text}\n", "\n".join(change.old), title="")
    blank = lead.count("\n") if change.old and change.old[0].strip() else 0
    return LinesReplacement(total + 1, (), ("",) * blank + change.old, lead=blank)


def _find_run(lines: Sequence[str], run: Sequence[str], change: LineDiff, lead: int) -> int | None:
    """Return the line (1-based) at which a change's lines are; None if they are nowhere."""
    expected = change.line + lead
    found = list(_find_runs(lines, run))
    if not found:
        return None
    in_place = [line for line in found if _is_in_place(lines, line, change, lead)]
    return min(in_place or found, key=lambda line: abs(line - expected))


def _is_in_place(lines: Sequence[str], line: int, change: LineDiff, lead: int) -> bool:
    return line > lead and make_anchor(lines, line - lead).above == change.above


def _plan_around_insertions(
    lines: Sequence[str], run: Sequence[str], expected: int
) -> LinesReplacement | None:
    """Return what removes added lines between which others have been inserted; None if they are not all there."""
    if len(run) < 2 or not run[0].strip():
        return None
    starts = [at for at, line in enumerate(lines) if line == run[0]]
    for start in sorted(starts, key=lambda at: abs(at + 1 - expected))[:_MAX_STARTS]:
        kept, wanted, at = list[str](), 0, start
        while wanted < len(run) and at < len(lines) and len(kept) <= _MAX_INSERTED:
            if lines[at] == run[wanted]:
                wanted += 1
            else:
                kept.append(lines[at])
            at += 1
        if wanted == len(run):
            return LinesReplacement(start + 1, tuple(lines[start:at]), tuple(kept))
    return None


def _find_runs(lines: Sequence[str], run: Sequence[str]) -> Iterator[int]:
    if not any(run):  # blank lines are nothing that can be searched for
        yield from (at + 1 for at in range(len(lines) - len(run) + 1) if not any(lines[at : at + len(run)]))
        return
    text, line, before = "\n".join(lines), 1, 0
    for offset in find_block(text, "\n".join(run)):
        line, before = line + text.count("\n", before, offset), offset
        yield line


def _count_needless(lines: Sequence[str], line: int, count: int, lead: Sequence[str]) -> int:
    """Return how many lines above a run (of `count` lines from `line`) nobody needs once it is removed."""
    same = 0
    while same < min(len(lead), line - 1) and lines[line - 2 - same] == lead[-1 - same]:
        same += 1
    below = lines[line - 1 + count :]
    following = next((each for each in below if each.strip()), None)
    if following is None:
        return same
    if below[0].strip():
        return 0
    titles = [found for each in lead if (found := _HEADING.match(each))]
    next_title = _HEADING.match(following)
    if not titles or (same == len(lead) and next_title and len(next_title[1]) <= len(titles[0][1])):
        return same
    return next((at for at in range(same) if lead[-1 - at].strip()), same)


def _find_similar(lines: Sequence[str], run: Sequence[str], expected: int) -> Sequence[str]:
    """Return the lines that a run may have become; () if there are none like it."""
    import difflib

    first = max(expected - 1 - _NEAR_LINES, 0)
    near = lines[first : expected - 1 + len(run[:_NEAR_LINES]) + _NEAR_LINES]
    alike = set[int]()
    for wanted in filter(str.strip, run[:_NEAR_LINES]):
        best = (
            difflib.get_close_matches(wanted, near, n=1, cutoff=_SIMILAR) if wanted not in near else [wanted]
        )
        alike.update(near.index(each) for each in best)
    if not alike:
        return ()
    begin, end = min(alike), max(alike) + 1
    return near[begin : min(end, begin + 2 * len(run) + DIFF_MAX_LINES)]
