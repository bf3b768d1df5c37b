"""Counts the notes in a folder, so that people see what is searched and what is not."""

import os
from pathlib import Path

from memory.paths import is_note_name

MOST_NOTES = 10_000
"""At which counting ends: more are all the same to the reader, and the folder may be on a slow disk."""


def count_notes(folder: Path, *, except_in: Path | None = None) -> int:
    """Return how many Markdown files are in a folder, up to `MOST_NOTES`, without those in hidden folders."""
    found = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "." and Path(parent, name) != except_in]
        found += sum(1 for name in files if name[0] != "." and is_note_name(name))
        if found >= MOST_NOTES:
            return MOST_NOTES
    return found
