"""Lines with words to forget: found in all notes, deleted from them, and from names and trash."""

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import count

from memory.document_paths import parse_title, untitled_path
from memory.errors import MemoryFault, NoteMissing
from memory.forgetting import NoteLines, WordsToForget
from memory.listing import Problem
from memory.locked_note import LockedNote
from memory.notes import Notes

RemoveBlocks = Callable[[LockedNote, Collection[str]], frozenset[str]]
"""Deletes whole lines as `LockedNote.remove` does."""
RenameNote = Callable[[LockedNote, str], bool]
"""Renames a note as `LockedNote.rename` does."""


@dataclass(frozen=True, slots=True)
class FoundLines:
    """Lines that match the words to forget."""

    lines: tuple[NoteLines, ...]
    more: bool
    """True if there are more matches than requested."""
    in_trash: int
    """Number of trash files with a match."""
    in_names: int
    """Number of filed documents with a match in their name."""
    unread: tuple[Problem, ...]
    """Notes that could not be read."""


@dataclass(frozen=True, slots=True)
class ForgottenLines:
    """What was deleted."""

    lines: int
    missed: tuple[NoteLines, ...]
    """Lines that had changed or moved since they were found."""
    hidden: tuple[NoteLines, ...]
    """Lines in folders that may only be read: they are still there, but neither found nor shown any more."""
    in_trash: int
    in_names: int
    problem: str
    """Why some of the text may remain in the index; empty if none does."""


def find_lines(notes: Notes, words: WordsToForget, limit: int) -> FoundLines:
    """Return up to `limit` matches from all notes, and count the matches in trash and file names."""
    found: list[NoteLines] = []
    listing = notes.walk()
    unread = [problem for problem in listing.problems if problem.hides_notes]
    for stat in sorted(listing.notes):
        try:
            text = notes.load_to_forget(stat.path)
        except NoteMissing:
            continue
        except MemoryFault as error:
            unread.append(Problem(stat.path, error.text, hides_notes=True))
            continue
        lines = text.split("\n")
        found += (
            NoteLines(stat.path, first + 1, last + 1, "\n".join(lines[first : last + 1]))
            for first, last in words.find_matches(text)
        )
        if len(found) > limit:
            break
    in_trash = notes.trash.count_matching(words)
    in_names = sum(words.is_in(parse_title(stat.path)) for stat in listing.notes)
    return FoundLines(tuple(found[:limit]), len(found) > limit, in_trash, in_names, tuple(unread))


def remove_lines(
    notes: Notes, lines: Sequence[NoteLines], words: WordsToForget, remove: RemoveBlocks
) -> tuple[tuple[NoteLines, ...], tuple[NoteLines, ...]]:
    """Delete lines from their notes, or hide them in folders that may only be read.

    There, lines with `words` are hidden in any note, since somebody may move or copy the file. Returns the hidden ones,
    and those that had changed or moved meanwhile.
    """
    hidden, missed = list[NoteLines](), list[NoteLines]()
    for path in dict.fromkeys(each.path for each in lines):
        here = [each for each in lines if each.path == path]
        blocks = [each.text for each in here]
        gone: frozenset[str] = frozenset()
        with contextlib.suppress(NoteMissing):
            if notes.is_read_only(path):
                gone = notes.hide(path, blocks, everywhere=words.is_in)
                hidden += [each for each in here if each.text in gone]
            else:
                with notes.held(path, existing=True) as note:
                    gone = remove(note, blocks)
        missed += [each for each in here if each.text not in gone]
    return tuple(hidden), tuple(missed)


def remove_names(notes: Notes, words: WordsToForget, rename: RenameNote) -> int:
    """Rename the filed documents with a match in their name; return how many there were."""
    named = sorted(
        stat.path
        for stat in notes.walk().notes
        if words.is_in(parse_title(stat.path)) and not notes.is_read_only(stat.path)
    )
    for path in named:
        with contextlib.suppress(NoteMissing), notes.held(path, existing=True) as note:
            names = (untitled_path(path, number).rpartition("/")[2] for number in count(1))
            next(name for name in names if rename(note, name))
    return len(named)
