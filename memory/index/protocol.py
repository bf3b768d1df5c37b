"""What an index is to the memory: notes go in whole, candidates come out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from memory.chunker import Chunk, Passage, Segment
from memory.embeddings.protocol import ModelId, Vector
from memory.search import DayRange, SearchCandidates
from memory.tokenizer import Term

CLAIM_SECONDS = 15
"""So long a note stays claimed by an instance that was not heard of again: until then no other one indexes it."""


class Stamp(NamedTuple):
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
    segments: Sequence[Segment] = ()
    """What is embedded: together they cover the passages, each of them once, but headings with text below."""
    fault: str = ""
    """Why it could not be read as it is; empty where it could."""


@dataclass(frozen=True, slots=True)
class KnownNote:
    """What the index holds of a note."""

    stamp: Stamp
    digest: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """How much the index holds."""

    notes: int
    chunks: int
    last_indexed_at: str
    """ISO 8601 in UTC; empty before the first time."""


@dataclass(frozen=True, slots=True)
class UnembeddedText:
    """A text that wants a vector."""

    digest: bytes
    text: str


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A question's vector, and which notes count as alike."""

    model: ModelId
    vector: Vector
    limit: int
    """How many segments to propose."""
    min_similarity: float
    """The cosine below which none is proposed."""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How much of what the index holds has vectors of one model."""

    segments: int
    """How many different texts there are to embed."""
    missing: int
    """How many of them have no vector yet, without those that were refused."""
    chunks_with_embedding: int
    """Chunks of which nothing is missing and nothing was refused."""
    refused: tuple[tuple[str, str], ...]
    """`(path, reason)` of notes with a text that no vector could be had for, by path."""
    kept: int
    """All vectors in the file, of any model, those included that no note needs now."""
    hits: int
    """How often a text of a new or changed note had its vector already, since the file was begun."""
    misses: int


class IndexChanged(Exception):
    """Somebody else has changed the index since its `version` was asked for: look again at what it holds."""


class Index(Protocol):
    """Derived from the notes, and to be had again from them at any time.

    Calls block; an index belongs to one thread at a time. Each raises `IndexBroken` where only `reset` helps,
    and `IndexUnavailable` where waiting or a person may.
    """

    def track_model(self, model: ModelId | None) -> None:
        """From now on count for how many texts that come there is a vector of `model`; of None, nothing."""
        ...

    def identity(self) -> str:
        """Becomes another one when the index is begun anew, by whomever: then all notes are to be indexed again."""
        ...

    def version(self) -> str:
        """Becomes another one with every change of the notes that is not made through this very object."""
        ...

    def stamps(self) -> tuple[Mapping[str, tuple[int, int, int]], Mapping[str, str]]:
        """The stamp of every note by its path; and of those with a fault, what it is."""
        ...

    def known(self, paths: Collection[str] | None = None) -> Mapping[str, KnownNote]:
        """What is held of these notes, or of all, by path."""
        ...

    def claim(self, paths: Sequence[str]) -> Collection[str]:
        """Those of the notes that are ours to index now; somebody else is at the others.

        Held by this very object until they are applied, given back, or for `CLAIM_SECONDS`; those that are ours
        already are held for as long again. What the index holds of a note is to be asked after it is claimed.
        """
        ...

    def release(self, paths: Collection[str]) -> None:
        """Claims that come to nothing."""
        ...

    def write_batch(
        self,
        notes: Sequence[IndexedNote],
        *,
        gone: Collection[str] = (),
        restamped: Mapping[str, Stamp] | None = None,
        version: str = "",
    ) -> None:
        """Replace `notes`, drop `gone`, and put new stamps on notes that stayed the same: all or nothing.

        Nothing, and `IndexChanged`, where a `version` is given that the index no longer has. An index that instances
        share leaves out, without a word, those whose claim is not ours any more, and those of `gone` that somebody has
        indexed since; the claims end with it.
        """
        ...

    def shadow(self) -> "Shadow":
        """An empty index beside this one, with the same vectors, to be filled while this one answers.

        Only one at a time: raises `IndexUnavailable` where another process has one.
        """
        ...

    def candidates(
        self,
        terms: Sequence[Term],
        *,
        most: int,
        likeness: VectorQuery | None = None,
        days: Sequence[DayRange] = (),
        today: date = date.max,
    ) -> SearchCandidates:
        """Passages of the `most` chunks that match any of the terms best, with their neighbours.

        Of chunks, and of segments, that are equally good, the newest are taken (see `memory.search.newest_first`);
        what is dated after `today` counts as of today.

        With a `likeness` also those of the segments that are most like it, and every passage, whoever
        proposed it, with the similarity of its segment where that has a vector of this model. With `days` also
        the daily logs of these, whole.
        """
        ...

    def list_unembedded(self, model: ModelId, *, most: int) -> list[UnembeddedText]:
        """Texts without a vector of `model`, newest notes first, without those that were refused."""
        ...

    def store_vectors(
        self, model: ModelId, vectors: Mapping[bytes, Vector], refused: Mapping[bytes, str] | None = None
    ) -> None:
        """Keep vectors by the digest of their text, and why there is none for others."""
        ...

    def retry_refused(self, model: ModelId) -> None:
        """Forget which texts were refused, so that they are asked for again."""
        ...

    def resolve_dimensions(self, model: ModelId) -> ModelId:
        """`model` with its dimensions as last seen, where they are not known (0) yet.

        While it is not known which model it is, the one that the provider had last; of this name where it has one.
        """
        ...

    def other_versions(self, model: ModelId) -> list[ModelId]:
        """The same model in other versions, the latest first; none where `model` has vectors of its own."""
        ...

    def sample_vectors(self, model: ModelId, *, most: int) -> list[tuple[UnembeddedText, Vector]]:
        """Texts of notes with the vectors that `model` made of them, evenly chosen."""
        ...

    def adopt_vectors(self, other: ModelId, model: ModelId) -> None:
        """Count the vectors of `other` as those of `model` from now on, unless that has some of its own."""
        ...

    def count_vectors(self, model: ModelId) -> VectorCounts:
        """How far the vectors of `model` have come."""
        ...

    def evict_unused(self, *, most: int, wanted: Collection[ModelId]) -> int:
        """Keep at most `most` vectors, the longest unused go first; gives back how many went.

        Those of a `wanted` model whose text is in a note stay in any case.
        """
        ...

    def purge(self) -> None:
        """Let nothing stay in the file of texts that are in no note any more: no vector, no word, no byte.

        Raises `IndexUnavailable` also while somebody else reads or rebuilds.
        """
        ...

    def numbers(self) -> IndexCounts:
        """How much it holds."""
        ...

    def reset(self) -> None:
        """Throw the notes away and begin with an empty index; vectors stay where they can be had."""
        ...

    def close(self) -> None:
        """Let go of files and connections; the index may not be used after."""
        ...


class Shadow(Index, Protocol):
    """An index in the making."""

    def promote(self) -> None:
        """Become the index, in one step: searches find the old state or the new one. It is closed after."""
        ...
