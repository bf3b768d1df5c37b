"""Errors of the memory; every message is fit to be shown to a person, in any language (see `Translatable`)."""

from memory.translatable import TranslatableError


class MemoryFault(TranslatableError):
    """Base of all errors of the memory (`MemoryError` is Python's own and means something else)."""


class PathRefused(MemoryFault):
    """The path is not that of a note: outside the folder, not `.md`, or not a plain relative path."""


class NoteMissing(MemoryFault):
    """There is no such note."""


class NoteUnreadable(MemoryFault):
    """The note exists but cannot be read as text."""


class NoteUnwritable(MemoryFault):
    """The note could not be written (permission, full disk, read-only); the old version is intact."""


class FolderReadOnly(NoteUnwritable):
    """The note is in a folder that may only be read."""


class NothingToWrite(MemoryFault):
    """The text to write is blank."""


class TextTooLong(MemoryFault):
    """The text is too long for one write or one edit."""


class EditRefused(MemoryFault):
    """The passage to replace does not occur, or occurs more than once."""


class NoteChanged(EditRefused):
    """The note is no longer the version that was read."""


class NoteExists(MemoryFault):
    """There is a note of this name already."""


class IndexCorrupted(MemoryFault):
    """The index is damaged; deleting and rebuilding it helps, and loses no note."""


class IndexUnavailable(MemoryFault):
    """The index cannot be used now: locked, read-only, disk full, no connection."""


class RebuildRunning(IndexUnavailable):
    """Another process is rebuilding the index."""
