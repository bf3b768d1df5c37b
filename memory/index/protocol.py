"""The interface between memory and index: whole notes go in, search candidates come out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from memory.chunker import Chunk, Passage, Segment
from memory.embeddings.protocol import ModelId, Vector
from memory.index.note_graph import ResolvedLink
from memory.note_references import NoteName, NoteReference
from memory.ranking.candidates import DayRange, SearchCandidates
from memory.tokenizer import Term

CLAIM_SECONDS = 15
"""Seconds until a note's claim expires if its instance is silent; until then no other instance indexes the note."""


class Stamp(NamedTuple):
    """File metadata from `stat`. A note with an unchanged stamp is taken to be unchanged."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """Also changes when a tool sets the modification time back."""


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """One note, ready to be indexed."""

    path: str
    stamp: Stamp
    digest: str
    """SHA-256 of its bytes, in hexadecimal."""
    passages: Sequence[Passage]
    words: Sequence[str]
    """The tokens of each passage, separated by single spaces; as many items as `passages`."""
    chunks: Sequence[Chunk]
    segments: Sequence[Segment] = ()
    """Ranges of passages to embed. They cover every passage once, except headings with content below."""
    fault: str = ""
    """Why the note could not be read completely; empty if it could."""
    names: Sequence[NoteName] = ()
    """What it is called besides its path, and its tags; their words count for all of its passages."""
    links: Sequence[NoteReference] = ()
    """Its links to other notes, by line."""


@dataclass(frozen=True, slots=True)
class KnownNote:
    """What the index holds of a note."""

    stamp: Stamp
    digest: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """Size of the index."""

    notes: int
    chunks: int
    last_indexed_at: str
    """ISO 8601 in UTC; empty before the first time."""


@dataclass(frozen=True, slots=True)
class UnembeddedText:
    """A text that needs a vector."""

    digest: bytes
    text: str


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A query's vector, and which segments count as similar."""

    model: ModelId
    vector: Vector
    limit: int
    """Maximum number of segments to propose."""
    min_similarity: float
    """Minimum cosine of a proposed segment."""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How much of the index has vectors of one model."""

    segments: int
    """Number of distinct texts to embed."""
    missing: int
    """How many of them have no vector yet, not counting refused texts."""
    chunks_with_embedding: int
    """Chunks whose segments all have vectors."""
    refused: tuple[tuple[str, str], ...]
    """`(path, reason)` of each note with a text that the provider refused, by path."""
    kept: int
    """Number of all stored vectors, of any model, including those that no note needs now."""
    hits: int
    """How many texts of new or changed notes already had a vector, since the index was created."""
    misses: int


class IndexChanged(Exception):
    """Another writer changed the index after its `version` was read; read its content again."""


class Index(Protocol):
    """A search index that can be rebuilt from the notes at any time.

    Calls block, and an index belongs to one thread at a time. Every method raises `IndexCorrupted` if only
    `reset` helps, and `IndexUnavailable` if it may work later or a person must act.
    """

    def track_model(self, model: ModelId | None) -> None:
        """Count cache hits and misses for vectors of `model` from now on; None stops the counting."""
        ...

    def identity(self) -> str:
        """Return an id that changes when anyone creates the index from scratch.

        Then all notes must be indexed again.
        """
        ...

    def is_outdated(self) -> bool:
        """Return whether another version, or one with other settings, indexed the notes.

        If so, the index answers but accepts no notes; promoting a shadow brings it up to date.
        """
        ...

    def version(self) -> str:
        """Return an id that changes with every change of the notes made by another object or process."""
        ...

    def stamps(self) -> tuple[Mapping[str, tuple[int, int, int]], Mapping[str, str]]:
        """Return the stamp of every note by path, and the fault of every faulty note by path."""
        ...

    def dated_notes(self) -> Sequence[tuple[str, int]]:
        """Return path and day of every note whose name begins with a date; days count from 0001-01-01 as 1."""
        ...

    def known(self, paths: Collection[str] | None = None) -> Mapping[str, KnownNote]:
        """Return what the index holds of these notes, or of all notes, by path."""
        ...

    def claim(self, paths: Sequence[str]) -> Collection[str]:
        """Claim notes for indexing; return those that no other instance has claimed.

        A claim belongs to this object until `write_batch`, `release` or `CLAIM_SECONDS` later. Claiming a
        note again extends the claim. Read what the index holds of a note only after claiming it.
        """
        ...

    def release(self, paths: Collection[str]) -> None:
        """Give up claims without indexing the notes."""
        ...

    def write_batch(
        self,
        notes: Sequence[IndexedNote],
        *,
        deleted: Collection[str] = (),
        restamped: Mapping[str, Stamp] | None = None,
        version: str = "",
    ) -> None:
        """Replace `notes`, delete `deleted` and update the stamps in `restamped`, in one transaction.

        Raises `IndexChanged` and writes nothing if `version` is given and is not the index's any more. A
        shared index silently skips notes whose claim was lost, and notes in `deleted` that were indexed since.
        The claims end.
        """
        ...

    def shadow(self) -> "Shadow":
        """Return an empty index with the same vectors, to be filled while this one answers.

        Raises `IndexUnavailable` if another process has a shadow: there is only one at a time.
        """
        ...

    def candidates(
        self,
        terms: Sequence[Term],
        *,
        limit: int,
        vector_query: VectorQuery | None = None,
        days: Sequence[DayRange] = (),
        today: date = date.max,
        within: Collection[str] | None = None,
        phrases: Collection[str] = (),
    ) -> SearchCandidates:
        """Return the passages of the `limit` chunks that match the terms best, with their neighbours.

        Among equally good chunks or segments the newest are chosen (see `memory.ranking.ties.newest_first`); a date
        after `today` counts as today. With `vector_query`, the most similar segments are added, and each passage,
        from whatever source, gets the similarity of its segment if that has a vector of this model. With
        `days`, the daily logs of these days are added whole.

        Notes are added that the query mentions by one of their names, or by the text of links to them; `phrases` holds
        the sequences of the query's tokens that may be such a name, joined by spaces.

        `within` holds paths of folders: what an index of the notes in these folders alone would return
        is returned, down to frequencies and similarities. None searches all notes, an empty collection none.
        """
        ...

    def links(
        self, paths: Collection[str], *, within: Collection[str] | None = None
    ) -> Sequence[ResolvedLink]:
        """Return the links in these notes, and those in other notes that lead to them; at most some thousand.

        A link in another note is one if it leads to one of these. For `within`, see `candidates`: links of other
        folders are left out, and lead nowhere there.
        """
        ...

    def lines(self, places: Sequence[tuple[str, int]]) -> Sequence[str]:
        """Return the text of lines, each given by path and 1-based number; "" for a line that is not indexed."""
        ...

    def list_unembedded(self, model: ModelId, *, limit: int) -> list[UnembeddedText]:
        """Return texts without a vector of `model`, newest notes first, without refused texts."""
        ...

    def store_vectors(
        self, model: ModelId, vectors: Mapping[bytes, Vector], refused: Mapping[bytes, str] | None = None
    ) -> None:
        """Store vectors by the digest of their text, and the reasons for refused texts.

        Each vector is packed float32 of length one, with the model's dimensions.
        """
        ...

    def retry_refused(self, model: ModelId) -> None:
        """Forget which texts were refused, so that they are embedded again."""
        ...

    def resolve_dimensions(self, model: ModelId) -> ModelId:
        """Return `model` with its last known dimensions if they are 0.

        If the model's version is unknown, return the provider's last model, preferably one of the same name.
        """
        ...

    def other_versions(self, model: ModelId) -> list[ModelId]:
        """Return other versions of the same model, latest first; empty if `model` has vectors of its own."""
        ...

    def sample_vectors(self, model: ModelId, *, limit: int) -> list[tuple[UnembeddedText, Vector]]:
        """Return up to `limit` evenly chosen texts of notes with their vectors of `model`."""
        ...

    def adopt_vectors(self, other: ModelId, model: ModelId) -> None:
        """Treat the vectors of `other` as those of `model`, unless `model` has vectors of its own."""
        ...

    def count_vectors(self, model: ModelId) -> VectorCounts:
        """Return how many texts have a vector of `model`."""
        ...

    def evict_unused(self, *, limit: int, wanted_models: Collection[ModelId]) -> int:
        """Delete the longest unused vectors until `limit` are left; return how many were deleted.

        Vectors of a `wanted_models` model that belong to a text in a note are always kept.
        """
        ...

    def purge(self) -> None:
        """Erase every trace of texts that are in no note any more: vectors, words and free pages.

        Also raises `IndexUnavailable` while another process reads or rebuilds the index.
        """
        ...

    def numbers(self) -> IndexCounts:
        """Return the number of notes and chunks."""
        ...

    def reset(self) -> None:
        """Delete all notes and start with an empty index; vectors are kept if possible."""
        ...

    def close(self) -> None:
        """Close files and connections; the index cannot be used afterwards."""
        ...


class Shadow(Index, Protocol):
    """An index under construction."""

    def promote(self) -> None:
        """Replace the index in one step and close; searches see the old state or the new one."""
        ...
