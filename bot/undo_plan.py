"""Which lines an undo replaces with which, and why it cannot be done."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import apsw

from bot import phrases
from bot.state import changes
from bot.state.changes import Change
from bot.visible_names import escape_path
from memory.errors import EditRefused
from memory.line_diff import split_lines
from memory.line_reversal import LinesReplacement, describe_edits, plan_reversal, stands_in_place
from memory.write_recovery import find_block

Refusal = Literal[
    "unknown",
    "undone",
    "redone",
    "forgotten",
    "nothing",
    "note_gone",
    "name_taken",
    "changed_later",
    "edited",
]
"""Why a change is not undone: there is no such change; it is already undone; it was an undo, and its change is already
redone; `/forget` has removed its text; it changed no line; its note is gone; another note has the name from which it
moved its note; a later change has edited its lines or moved its note again, or somebody outside of Commonplace has
edited them."""


class UndoRefused(EditRefused):
    """The change stays as it is."""

    def __init__(self, message: str, reason: Refusal, *, by: int = 0, diff: str = "") -> None:
        """`by`: the change that undid it, or that edited its lines. `diff`: from its lines to those there now."""
        super().__init__(message)
        self.reason = reason
        self.by = by
        self.diff = diff


@dataclass(frozen=True, slots=True)
class PlannedUndo:
    """What an undo does to a note."""

    lines: LinesReplacement
    may_delete: bool
    """Whether the note is deleted if nothing is left in it."""
    says: tuple[str, ...]
    """Whose words are put back, as far as the chain tells (`ChangeOrigin.says`)."""


def find_undoable(db: apsw.Connection, number: int) -> tuple[Change, ...]:
    """Return the chain (see `changes.read_chain`) of a change that can be undone. Raises UndoRefused."""
    chain = changes.read_chain(db, number)
    at = next((at for at, each in enumerate(chain) if each.number == number), None)
    if at is None:
        raise UndoRefused(phrases.UNDO_REFUSED["unknown"].format(number=number), "unknown")
    last = chain[-1]
    if (len(chain) - at) % 2 == 0:
        if chain[at].undoes and at % 2:
            root = chain[0].undoes or chain[0].number
            raise UndoRefused(
                phrases.UNDO_REFUSED["redone"].format(number=number, undone=root, by=last.number),
                "redone",
                by=last.number,
            )
        raise UndoRefused(
            phrases.UNDO_REFUSED["undone"].format(number=number, by=last.number), "undone", by=last.number
        )
    if any(each.forgotten for each in chain):
        raise UndoRefused(phrases.UNDO_REFUSED["forgotten"].format(number=number), "forgotten")
    if last.is_empty:
        raise UndoRefused(phrases.UNDO_REFUSED["nothing"].format(number=number), "nothing")
    return chain


def plan_undo(
    chain: Sequence[Change], text: str, *, read_since: Callable[[int], Sequence[Change]]
) -> PlannedUndo:
    """Return what undoes the last change of a chain in its note, whose text is `text` now.

    `read_since` returns the changes to the note after a number. Raises UndoRefused.
    """
    last = chain[-1]
    later = partial(read_since, last.number)
    found = plan_reversal(text, last.lines)
    if found is None or _is_written_by_others(text, chain, read_since):
        raise _explain(last, text, later)
    if not last.lines.new and (by := _find_restoring(later(), last, text)):
        raise UndoRefused(phrases.UNDO_REFUSED["put_back"].format(number=last.number, by=by), "undone", by=by)
    # The beginning of the chain may be pruned; then its first change is an undo.
    takes_back = (len(chain) + bool(chain[0].undoes)) % 2 == 1
    before = chain[-2] if len(chain) > 1 else None
    if before and last.lines.old == before.lines.new:
        found = replace(found, lead=before.lines.lead)
    return PlannedUndo(found, may_delete=takes_back, says=before.origin.says if before else ())


def check_can_move_back(
    change: Change, *, is_there: bool, read_since: Callable[[int], Sequence[Change]]
) -> None:
    """Raise UndoRefused if the note is no longer where a change has moved it. `is_there`: whether there is a note."""
    number, path = change.number, escape_path(change.path)
    if later := [each.number for each in _without_undone(read_since(number)) if each.is_move]:
        raise UndoRefused(
            phrases.UNDO_REFUSED["moved_later"].format(path=path, number=number, by=later[-1]),
            "changed_later",
            by=later[-1],
        )
    if not is_there or change.path != change.moved_to:
        raise UndoRefused(phrases.UNDO_REFUSED["note_gone"].format(path=path, number=number), "note_gone")


def name_taken(change: Change) -> UndoRefused:
    """Return the error that a move cannot be undone since another note has the old name."""
    taken = escape_path(change.moved_from)
    message = phrases.UNDO_REFUSED["name_taken"].format(path=taken, number=change.number)
    return UndoRefused(message, "name_taken")


def _is_written_by_others(
    text: str, chain: Sequence[Change], read_since: Callable[[int], Sequence[Change]]
) -> bool:
    """Return whether other changes wrote all such lines that are there now: those of the change are gone, then.

    Earlier changes count only if the lines are not where they were: of equal ones, these may be the others'.
    """
    change, known = chain[-1].lines, {each.number for each in chain}
    run = change.new[change.lead :]
    if not _filled(run):
        return False
    whole = "\n".join(run)
    here, in_place = len(find_block(text, whole)), stands_in_place(text, change)
    others = read_since(0 if here and not in_place else chain[-1].number)
    standing = [*_without_undone([each for each in others if each.number not in known])]
    if here:
        theirs = 0
        for each in standing:
            added = _count_runs(each.lines.new, whole) - _count_runs(each.lines.old, whole)
            # What was removed later may be what this change wrote, unless that still seems to be there.
            is_theirs = in_place or each.number < chain[0].number
            theirs = max(theirs + added, 0) if is_theirs else theirs + max(added, 0)
        return here <= theirs
    # Others have been inserted between these lines, so they are looked for one by one.
    left = Counter(split_lines(text))
    for each in standing:
        left -= Counter(each.lines.new) - Counter(each.lines.old)
    return not Counter(filter(str.strip, run)) <= left


def _count_runs(lines: Sequence[str], whole: str) -> int:
    return len(find_block("\n".join(lines), whole))


def _explain(change: Change, text: str, later: Callable[[], Sequence[Change]]) -> UndoRefused:
    path, number = escape_path(change.path), change.number
    if not text:
        return UndoRefused(phrases.UNDO_REFUSED["note_gone"].format(path=path, number=number), "note_gone")
    if by := _find_later_edit(later(), change):
        return UndoRefused(
            phrases.UNDO_REFUSED["changed_later"].format(path=path, number=number, by=by),
            "changed_later",
            by=by,
        )
    return UndoRefused(
        phrases.UNDO_REFUSED["edited"].format(path=path, number=number),
        "edited",
        diff=describe_edits(text, change.lines),
    )


def _find_later_edit(later: Sequence[Change], change: Change) -> int:
    """Return the number of the last change that replaced lines of this one; 0 if none did."""
    ours, found = _filled(change.lines.new), 0
    for each in _without_undone(later):
        if not each.forgotten and (ours & _filled(each.lines.old)) - _filled(each.lines.new):
            ours |= _filled(each.lines.new)
            found = each.number
    return found


def _find_restoring(later: Sequence[Change], change: Change, text: str) -> int:
    """Return the number of a change that added again what this one removed, and is still there; 0 if none did."""
    gone = _filled(change.lines.old)
    for each in _without_undone(later):
        if not each.lines.old and gone and gone <= _filled(each.lines.new) <= _filled(split_lines(text)):
            return each.number
    return 0


def _without_undone(changes_: Sequence[Change]) -> Iterator[Change]:
    """Yield the last change of each chain among these, unless its undo has left nothing of it."""
    numbers, undone_by = {each.number for each in changes_}, {each.undoes: each for each in changes_}
    for each in changes_:
        length, last = 1, each
        while each.undoes not in numbers and last.number in undone_by:
            length, last = length + 1, undone_by[last.number]
        if each.undoes not in numbers and length % 2:
            yield last


def _filled(lines: Sequence[str]) -> set[str]:
    return {line for line in lines if line.strip()}
