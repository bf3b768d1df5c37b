"""What the memory holds and how it can be searched, for status pages and commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memory.embeddings.protocol import ModelId
from memory.index.location import VectorBackend
from memory.index.protocol import Index, VectorCounts
from memory.listing import Problem
from memory.progress import JobProgress

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Fetching
    from memory.watcher import WatchState


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """Counters of the embedding cache; a field is None while the index is unavailable."""

    entries: int | None = 0
    hits: int | None = 0
    misses: int | None = 0


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """The state of a folder of notes under `[[memory.folders]]`."""

    name: str
    path: str
    write: bool
    """Whether notes in it may be changed."""
    away: str
    """Why it could not be read when it was last scanned; empty if it could."""
    watch: "WatchState | None"
    """How changes are noticed; None if it is not watched."""
    notes: int
    """Number of its notes in the index, or in the folder itself while the index is unavailable."""
    hidden: int
    """Number of its lines that were forgotten and are hidden, since the folder may only be read."""

    @property
    def watch_problem(self) -> str:
        """Why changes are not noticed by events; empty if they are, or if it is away or not watched."""
        return "" if self.away or self.watch is None else self.watch.reason or self.watch.error


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What the memory holds and how it can be searched.

    A field that only the index can answer is None while the index is unavailable.
    """

    files: int
    total_chunks: int | None
    chunks_with_embedding: int | None
    vector_search_enabled: bool
    embedding_provider: str
    embedding_model: str
    dimensions: int
    embedding_reason: str
    """Why this provider was chosen, or why there is none."""
    embedding_problem: str
    """What is wrong with the provider; empty while it works."""
    embedding_next_try: str
    """When the provider is tried again; empty while it works."""
    embedding_fallback: str
    """Name of the fallback provider; empty if there is none."""
    embedding_serving: str
    """Whichever of the two makes vectors now; empty if both fail or semantic search is off."""
    embedding_serving_model: str
    """Model of the provider that is serving."""
    missing_vectors: int | None
    """Number of texts without a vector.

    While the provider fails, the smaller of its own number and its fallback's.
    """
    vector_backend: VectorBackend | Literal["none"]
    vector_backend_reason: str
    """Why this backend was chosen; empty if no vectors are compared."""
    fts: str
    """How text is tokenized and matched."""
    index: str
    """Location of the index: a path, or a server address without its password."""
    index_on_server: bool
    """True if the index is on a server, whose address must not appear in a chat."""
    index_problem: str
    """Why the index is unavailable; empty while it works."""
    last_indexed_at: str | None
    """ISO 8601 in UTC; empty before the first sync."""
    cache: CacheStatus
    watch: "WatchState | None"
    """How changes are noticed; None if the folder is not watched."""
    folders: tuple[FolderStatus, ...]
    """The folders of notes under `[[memory.folders]]`."""
    jobs: tuple[JobProgress, ...]
    """Jobs that are running now."""
    fetching: "Fetching | None"
    """Progress of a local model's download; None if none is running."""
    problems: tuple[Problem, ...]
    """Notes that could not be read completely, and other problems in the folders."""

    @property
    def problems_of_notes(self) -> tuple[Problem, ...]:
        """The problems, without those of folders that are away, which `folders` has."""
        return tuple(each for each in self.problems if not each.away)


def count_embeddings(index: Index, models: Sequence[ModelId]) -> tuple[ModelId, VectorCounts]:
    """Return the first model with its dimensions, and the counts of the model with the fewest missing vectors."""
    complete = [index.resolve_dimensions(model) for model in models]
    numbers = [index.count_vectors(model) for model in complete]
    return complete[0], min(numbers, key=lambda each: each.missing)
