"""Replays all recorded changes to the notes, from nothing."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bot.state.changes import Change
from memory.forgetting import FORGOTTEN
from memory.line_diff import split_lines


def replay(
    changes: Iterable[Change], before: Mapping[str, Sequence[str]] | None = None
) -> dict[str, list[str]]:
    """Return the lines of each note after these changes, whatever their order; notes without lines are left out.

    `before`: the lines of notes that were there already.
    """
    notes = {path: list(lines) for path, lines in (before or {}).items()}
    for change in sorted(changes, key=lambda each: each.number):
        lines = notes.setdefault(change.path, [])
        at = change.lines.line - 1
        stood = tuple(lines[at : at + len(change.lines.old)])
        assert _are_alike(stood, change.lines.old), f"change {change.number} of {change.path}: {stood}"
        lines[at : at + len(change.lines.old)] = change.lines.new
    return {path: lines for path, lines in notes.items() if lines}


def are_alike(notes: Mapping[str, Sequence[str]], others: Mapping[str, Sequence[str]]) -> bool:
    """Return whether notes are the same, as far as their lines were not forgotten."""
    return notes.keys() == others.keys() and all(_are_alike(notes[path], others[path]) for path in notes)


def _are_alike(stood: Sequence[str], old: Sequence[str]) -> bool:
    """Return whether lines are the same, as far as they were not forgotten."""
    return len(stood) == len(old) and all(
        one == other or FORGOTTEN in (one, other) for one, other in zip(stood, old, strict=True)
    )


def read_notes(folder: Path) -> dict[str, list[str]]:
    """Return the lines of each note in a folder that has any, but not of those that are deleted meanwhile."""
    notes: dict[str, list[str]] = {}
    for path in folder.rglob("*.md"):
        with suppress(FileNotFoundError):
            notes[str(path.relative_to(folder))] = split_lines(path.read_text("utf-8"))
    return {path: lines for path, lines in notes.items() if lines}
