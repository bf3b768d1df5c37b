"""The interface between the index and what it is made from: a folder of notes, or anything that reads like one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from memory.listing import Listing, NoteStat


@dataclass(frozen=True, slots=True)
class LoadedNote:
    """One version of a whole note."""

    text: str
    """Without a byte-order mark, with LF line ends."""
    encoding: str
    """Such as `utf-8` or `utf-16-le`; `windows-1252` if bytes that are not UTF-8 were read as that."""
    digest: str
    """SHA-256 of the bytes that it was read from, in hexadecimal."""
    stat: NoteStat
    """Metadata of exactly this version, under the note's own path even if it was opened by a link."""


class NoteSource(Protocol):
    """What is indexed. Methods block, and several threads may call them at once.

    They may raise `IndexUnavailable` if nothing can be read at the moment; then the index stays as it is.
    """

    @property
    def is_shared(self) -> bool:
        """Return whether other instances write to it as well."""
        ...

    def walk(self, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
        """Return every note, and everything that looks like a note but cannot be read as one.

        `known` holds size, mtime_ns and ctime_ns of notes by path: of a note whose numbers are still the same
        only the path is returned, in `Listing.unchanged`, and the note is not read again.
        """
        ...

    def load(self, path: str) -> LoadedNote:
        """Read a whole note for indexing. Raises `NoteMissing`, `NoteUnreadable`, `PathRefused`."""
        ...
