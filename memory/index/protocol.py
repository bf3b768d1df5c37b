"""What an index is to the memory: notes go in whole, candidates come out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.chunker import Chunk, Passage
from memory.search import Candidates
from memory.words import Term


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says of a note; as long as it stays the same, the note is taken to be the same."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """Also changes where a tool sets the modification time back."""


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """One note, ready to be indexed."""

    path: str
    stamp: Stamp
    digest: str
    """SHA-256 of its bytes, in hexadecimal."""
    passages: Sequence[Passage]
    words: Sequence[str]
    """For each passage its tokens, separated by single spaces."""
    chunks: Sequence[Chunk]
    fault: str = ""
    """Why it could not be read as it is; empty where it could."""


@dataclass(frozen=True, slots=True)
class KnownNote:
    """What the index holds of a note."""

    stamp: Stamp
    digest: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class IndexNumbers:
    """How much the index holds."""

    notes: int
    chunks: int
    last_indexed_at: str
    """ISO 8601 in UTC; empty before the first time."""


class IndexChanged(Exception):
    """Somebody else has changed the index since its `version` was asked for: look again at what it holds."""


class Index(Protocol):
    """Derived from the notes, and to be had again from them at any time.

    Calls block; an index belongs to one thread at a time. Each raises `IndexBroken` where only `reset` helps,
    and `IndexUnavailable` where waiting or a person may.
    """

    def identity(self) -> str:
        """Becomes another one when the index is begun anew, by whomever: then all notes are to be indexed again."""
        ...

    def version(self) -> str:
        """Becomes another one with every change that is not made through this very object."""
        ...

    def known(self) -> Mapping[str, KnownNote]:
        """Every indexed note by its path."""
        ...

    def apply(
        self,
        notes: Sequence[IndexedNote],
        *,
        gone: Collection[str] = (),
        restamped: Mapping[str, Stamp] | None = None,
        version: str = "",
    ) -> None:
        """Replace `notes`, drop `gone`, and put new stamps on notes that stayed the same: all or nothing.

        Nothing, and `IndexChanged`, where a `version` is given that the index no longer has.
        """
        ...

    def replace_all(self, notes: Iterable[IndexedNote]) -> None:
        """Hold exactly `notes`, in one step: searches find the old state or the new one."""
        ...

    def candidates(self, terms: Sequence[Term], *, most: int) -> Candidates:
        """Passages of the `most` chunks that match any of the terms best, with their neighbours."""
        ...

    def numbers(self) -> IndexNumbers:
        """How much it holds."""
        ...

    def reset(self) -> None:
        """Throw everything away and begin with an empty index."""
        ...

    def close(self) -> None:
        """Let go of files and connections; the index may not be used after."""
        ...
