"""Writes to a note as they are stored before they are made: planned, made, and recognised after a crash."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from bot.state import changes, note_effects
from bot.undo_plan import PlannedUndo
from memory.errors import EditRefused, MemoryFault, NoteExists, NoteUnwritable
from memory.line_diff import LineDiff, split_lines
from memory.line_reversal import LinesReplacement
from memory.locked_note import LockedNote
from memory.note_edits import LineAnchor, LineCorrection
from memory.paths import format_path
from memory.write_recovery import BeforeAppend, BeforeEdit, BeforeReplacement
from memory.write_result import WriteResult

if TYPE_CHECKING:
    from apsw import Connection


def plan_write(note: LockedNote, intent: Mapping[str, Any]) -> tuple[dict[str, Any], LineDiff]:
    """Return the intent with the state of the note before the write, and the lines that will change."""
    before: BeforeAppend | BeforeEdit
    match intent:
        case {"append": {"block": block, "title": title, **more}}:
            before, lines = note.plan_append(block, title=title, at=str(more.get("at", "")))
        case {"edit": {"old": old, "new": new}}:
            before, lines = note.plan_edit(old, new)
        case {"correct": fields}:
            before, lines = note.plan_correct(LineCorrection(**fields))
        case {"insert": {"block": block}} if note.is_empty:
            title = PurePosixPath(note.path).stem
            return plan_write(
                note, {"append": {"block": block, "title": title, "at": ""}, "trash": intent["trash"]}
            )
        case {"insert": {"block": block, "stood": stood}}:
            before, lines = note.plan_insert(block, _line_span(stood))
        case {"create": {"block": block}}:
            if not note.is_missing:
                raise note_exists(note)
            before, lines = note.plan_append(block, title="")
            return {"append": {"block": block, "title": "", "at": ""}, "before": asdict(before)}, lines
        case {"rewrite": {"text": text, "digest": digest}}:
            return _replacement(*note.plan_rewrite(text, digest=digest), deletes=False)
        case {"delete": digest}:
            return _replacement(*note.plan_deletion(digest=digest), deletes=True)
        case {"exchange": fields}:
            replaced, lines = note.plan_exchange(LinesReplacement(**_with_tuples(fields)))
            return {**intent, "before": asdict(replaced)}, lines
        case {"replace": fields, "deletes": deletes}:  # once more, since a first try was not made
            wanted = LinesReplacement(**_with_tuples(fields))
            replaced, lines, leaves_nothing = note.plan_replacement(wanted)
            return _replacement(wanted, replaced, lines, deletes=deletes and leaves_nothing)
        case _:
            raise _outcome_unknown(intent)
    return {**intent, "before": asdict(before)}, lines


def _replacement(
    wanted: LinesReplacement, before: BeforeReplacement, lines: LineDiff, *, deletes: bool
) -> tuple[dict[str, Any], LineDiff]:
    return {"replace": asdict(wanted), "deletes": deletes, "before": asdict(before)}, lines


def plan_reversal(note: LockedNote, number: int, planned: PlannedUndo) -> tuple[dict[str, Any], LineDiff]:
    """Return the intent of an undo with the state of the note before it, and the lines that will change."""
    wanted = planned.lines
    if wanted.new and note.is_empty:
        block = "\n".join(wanted.new)
        append, lines = note.plan_append(block, title="")
        intent = {"append": {"block": block, "title": "", "at": ""}, "undo": number}
        return {**intent, "before": asdict(append)}, replace(lines, lead=wanted.lead)
    before, lines, leaves_nothing = note.plan_replacement(wanted)
    done = {"undo": number, "replace": asdict(wanted), "deletes": leaves_nothing and planned.may_delete}
    return {**done, "before": asdict(before)}, lines


def apply_write(note: LockedNote, intent: Mapping[str, Any]) -> WriteResult:
    """Make a planned write. Raises what the note's method raises; then the note is unchanged."""
    match intent:
        case {"append": {"block": block, "title": title, **more}, "before": before}:
            return note.append(block, title=title, at=str(more.get("at", "")), before=BeforeAppend(**before))
        case {"edit": {"old": old, "new": new}}:
            return note.edit(old, new)
        case {"correct": fields}:
            return note.correct(LineCorrection(**fields))
        case {"insert": {"block": block, "stood": stood}}:
            return note.insert(block, _line_span(stood))
        case {"exchange": fields}:
            wanted = LinesReplacement(**_with_tuples(fields))
            note.exchange_lines(wanted)
            return WriteResult(note.path, wanted.line, wanted.line + len(wanted.new) - 1, 0)
        case {"replace": fields, "deletes": deletes}:
            wanted = LinesReplacement(**_with_tuples(fields))
            return _delete(note, wanted) if deletes else note.replace(wanted)
    raise _outcome_unknown(intent)


def recover_write(note: LockedNote, intent: Mapping[str, Any]) -> WriteResult | None:
    """Return the place of a write that was done, after completing a torn one; None if it was not done."""
    match intent:
        case {"append": {"block": block, "title": title, **more}, "before": before}:
            at = str(more.get("at", ""))
            return note.finish_append(block, title=title, at=at, before=BeforeAppend(**before))
        case {"edit": {"old": old, "new": new}, "before": before}:
            return note.finish_edit(old, new, BeforeEdit(**before))
        case {"correct": {"old": old, "new": new}, "before": before}:
            return note.finish_edit(old, new, BeforeEdit(**before))
        case {"insert": {"block": block}, "before": before}:
            return note.finish_edit("", block, BeforeEdit(**before))
        case {"replace": fields, "before": before} | {"exchange": fields, "before": before}:
            return note.finish_replacement(
                LinesReplacement(**_with_tuples(fields)), BeforeReplacement(**before)
            )
        case {"remove": _, "before": before}:
            # Only the same bytes prove it: the lines are not stored.
            return note.finish_replacement(LinesReplacement(1, (), ()), BeforeReplacement(**before))
        case {"rename": name, **links}:
            is_done = note.finish_move(str(name)) or (links and _complete_move(note, str(name), links))
            return WriteResult(str(name), 1, 0, 0) if is_done else None
    raise _outcome_unknown(intent)


def plan_move(note: LockedNote, to: str, links: LinesReplacement | None) -> tuple[dict[str, Any], LineDiff]:
    """Return the intent of a move to the path `to`, and the lines that change: those with relative `links`."""
    if links is None:
        return {"rename": to}, LineDiff(1, "", (), ())
    before, lines = note.plan_exchange(links)
    return {"rename": to, "links": asdict(links), "before": asdict(before)}, lines


def apply_move(note: LockedNote, target: LockedNote, links: LinesReplacement | None) -> bool:
    """Change the links of a note and move it; return False if there is another note, and then change nothing.

    Raises MemoryFault; then its links are as they were, unless somebody has edited them meanwhile.
    """
    if links is None:
        return note.move(target)
    note.exchange_lines(links)
    try:
        is_done = note.move(target)
    except MemoryFault:
        with suppress(MemoryFault):  # it may be there already, and only not certain to be on disk
            _put_links_back(note, links)
        raise
    if not is_done:
        _put_links_back(note, links)
    return is_done


def _complete_move(note: LockedNote, to: str, intent: Mapping[str, Any]) -> bool:
    """Move a note whose links a crash has left changed; return False if they are not, or it cannot be moved there."""
    links, before = LinesReplacement(**_with_tuples(intent["links"])), _with_tuples(intent["before"])
    if note.finish_replacement(links, BeforeReplacement(**before)) is None:
        return False
    try:
        is_done = note.move_to(to)
    except MemoryFault:  # otherwise nothing could be written to the note until the other folder can be
        is_done = note.is_missing
    if not is_done:
        with suppress(EditRefused):  # somebody has edited them meanwhile
            _put_links_back(note, links)
    return is_done


def _put_links_back(note: LockedNote, links: LinesReplacement) -> None:
    note.exchange_lines(replace(links, old=links.new, new=links.old))


def note_exists(note: LockedNote) -> NoteExists:
    """Return the error that there is a note where one is to be created, or moved to."""
    return NoteExists("There is a note {path} already; choose another name.", path=format_path(note.path))


def discard(db: "Connection", key: str) -> None:
    """Delete the record of a write that was certainly not made and will not be retried with this key."""
    note_effects.delete_effect(db, key)
    changes.delete_unmade(db, key)


def mark_done(db: "Connection", key: str, written: WriteResult) -> None:
    """Store that a write was made, and where; a renamed note's changes go with it."""
    if (effect := note_effects.find_effect(db, key)) and "rename" in effect.intent:
        changes.rename_note(db, effect.path, written.path)
    note_effects.mark_done(db, key, asdict(written))
    changes.mark_done(db, key)


def _delete(note: LockedNote, wanted: LinesReplacement) -> WriteResult:
    """Delete a note of which only these lines are left."""
    if not note.delete_if(lambda text: tuple(split_lines(text)) == wanted.old, keep=True):
        raise EditRefused("{path} has changed in the meantime; nothing was removed.", path=note.path)
    return WriteResult(note.path, 1, 0, 0)


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _line_span(stood: Mapping[str, Any] | None) -> LineAnchor | None:
    return LineAnchor(**stood) if stood else None


def _outcome_unknown(intent: Mapping[str, Any]) -> MemoryFault:
    return NoteUnwritable(
        "An unfinished write was recorded by another version of Commonplace and can't be completed: {fields}.",
        fields=", ".join(intent),
    )
