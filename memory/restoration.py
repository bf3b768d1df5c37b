"""Where lines from the trash are put back, even if what replaced them was replaced as well."""

from itertools import islice

from memory.errors import EditRefused, NoteMissing
from memory.note_edits import LineCorrection, LinesChecksum, find_replacement, find_restored, new_lines
from memory.notes import Notes
from memory.trash import Trash, TrashItem

LATER_REMOVALS_READ = 1_000
"""How many later removals from a note are followed to find a line that was replaced repeatedly."""


def find_correction(notes: Notes, removed: TrashItem, *, block: str) -> LineCorrection | None:
    """Return the correction that puts a trash item back where it was; None if its place cannot be found.

    Its replacement may have been replaced as well: the next `LATER_REMOVALS_READ` removals from the note
    are followed. Raises `EditRefused` if `block` is there already.
    """
    try:
        text = notes.load(removed.note).text
    except NoteMissing:
        return None
    stood, new = removed.stood, removed.new_lines
    later = islice(
        (
            each
            for each in reversed(notes.trash.items())
            if each.at > removed.at and not each.is_restored and each.note == removed.note
        ),
        LATER_REMOVALS_READ,
    )
    while True:
        if stood is None or new is None:
            return None
        following = next((each for each in later if _removed_lines(notes.trash, each) == new), None)
        were_removed = following is not None
        if found := find_replacement(text, anchor=stood, new=new, old=block, were_removed=were_removed):
            return found
        if following is None:
            break
        stood, new = following.stood, following.new_lines
    if removed.stood and (line := find_restored(text, anchor=removed.stood, block=block)):
        raise EditRefused(
            "{path}:{line} already says that again, so nothing was restored.", path=removed.note, line=line
        )
    return None


def _removed_lines(trash: Trash, removed: TrashItem) -> LinesChecksum:
    return new_lines(trash.read(removed).removesuffix("\n"))
