"""What can go wrong with the memory; every text is fit to be shown to a person."""


class MemoryFault(Exception):
    """Base of all errors of the memory (`MemoryError` is Python's own and means something else)."""


class PathRefused(MemoryFault):
    """The path is not one of a note: outside the folder, not `.md`, or not a plain relative name."""


class NoteMissing(MemoryFault):
    """There is no such note."""


class NoteUnreadable(MemoryFault):
    """The note is there but cannot be read as text."""


class NoteUnwritable(MemoryFault):
    """The note could not be written (permission, full disk, read-only); what was on disk is whole."""


class NothingToWrite(MemoryFault):
    """The text to be written is blank."""


class TextTooLong(MemoryFault):
    """The text is too long for one write or one edit."""


class EditRefused(MemoryFault):
    """The passage to be replaced stands there not at all, or more than once."""


class IndexCorrupted(MemoryFault):
    """The index is damaged; throwing it away and indexing again helps, and costs no note."""


class IndexUnavailable(MemoryFault):
    """The index cannot be used for now: locked, read-only, no room, no connection."""
