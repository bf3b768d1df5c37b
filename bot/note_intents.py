"""Writes to a note as they are stored before they are made: planned, made, and recognised after a crash."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from typing import Any

from bot.undo_plan import PlannedUndo
from memory.errors import EditRefused, MemoryFault, NoteExists, NoteUnwritable
from memory.line_diff import LineDiff, split_lines
from memory.line_reversal import LinesReplacement
from memory.locked_note import LockedNote
from memory.note_edits import LineAnchor, LineCorrection
from memory.paths import format_path
from memory.write_recovery import BeforeAppend, BeforeEdit, BeforeReplacement
from memory.write_result import WriteResult


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
                raise NoteExists(
                    "There is a note {path} already; choose another name.", path=format_path(note.path)
                )
            before, lines = note.plan_append(block, title="")
            return {"append": {"block": block, "title": "", "at": ""}, "before": asdict(before)}, lines
        case {"rewrite": {"text": text, "digest": digest}}:
            return _replacement(*note.plan_rewrite(text, digest=digest), deletes=False)
        case {"delete": digest}:
            return _replacement(*note.plan_deletion(digest=digest), deletes=True)
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
        case {"replace": fields, "before": before}:
            return note.finish_replacement(
                LinesReplacement(**_with_tuples(fields)), BeforeReplacement(**before)
            )
        case {"remove": _, "before": before}:
            # Only the same bytes prove it: the lines are not stored.
            return note.finish_replacement(LinesReplacement(1, (), ()), BeforeReplacement(**before))
        case {"rename": name}:
            return WriteResult(str(name), 1, 0, 0) if note.finish_move(str(name)) else None
    raise _outcome_unknown(intent)


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
