"""Embeds the notes' texts in the background, again after a change of model, and embeds queries."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from memory.embeddings.errors import (
    EmbeddingError,
    ModelUnknown,
    NoModelInstalled,
    RequestRefused,
    ResponseUnusable,
    join_fallback,
)
from memory.embeddings.factory import Embedding
from memory.embeddings.protocol import ModelId, Vector
from memory.embeddings.provider_choice import explain_choice
from memory.embeddings.query_cache import QueryCache
from memory.embeddings.unit_vectors import are_same_vectors
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.protocol import Index, UnembeddedText, VectorQuery
from memory.progress import ReportProgress, RunningJobs
from memory.settings import EmbeddingSettings, SearchSettings
from memory.translatable import Translatable, end_sentence

if TYPE_CHECKING:
    from memory.embeddings.embedder import EmbeddedBatch
    from memory.embeddings.model_files import DownloadProgress as Fetching

log = logging.getLogger(__name__)

MAX_TEXTS_PER_READ = 2000
"""About how many texts are read from the index at once: enough for many full requests, a few megabytes."""

SAMPLE = 16
"""Number of texts that are compared to find out whether another version of a model makes the same vectors."""

PROBE_TEXT = "commonplace"
"""Text that is embedded to find out whether a provider works; nothing of the notes."""

FAILING_LONG = 60.0
"""Seconds of failure after which the fallback embeds all texts, even those with vectors of the first provider."""

MIN_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 300.0
"""Maximum seconds until a failed provider is tried again, whatever it says itself."""

CLAIMED_PAUSE_SECONDS = 10.0
"""Seconds between checks whether other instances have embedded the texts that they claimed."""

ProviderRole = Literal["primary", "fallback"]
_PROVIDER_ROLES: tuple[ProviderRole, ProviderRole] = ("primary", "fallback")
_Result = TypeVar("_Result")


class RunOnIndex(Protocol):
    """Runs work with the index in the thread that it belongs to."""

    def __call__(self, work: Callable[[Index], _Result]) -> Awaitable[_Result]: ...


@dataclass(frozen=True, slots=True)
class BackfillState:
    """The state of the embedding providers."""

    models: tuple[ModelId, ...]
    """Models of the provider and its fallback; empty if semantic search is off."""
    serving: ModelId | None
    """The model that makes vectors now: the provider's, its fallback's while that fails, or None."""
    reason: str
    """Why this provider was chosen, or why there is none."""
    problem: str
    """What is wrong with the provider, in one line; empty while it works."""
    next_try: str
    """When the provider is tried again, ISO 8601 in UTC; empty while it works."""
    fetching: "Fetching | None"
    """Progress of a local model's download; None if none is running."""


class EmbeddingBackfill:
    """Embeds texts of the index and queries. Belongs to one event loop."""

    def __init__(
        self, embedding: Embedding, *, embed: EmbeddingSettings, search: SearchSettings, jobs: RunningJobs
    ) -> None:
        """Make no request yet."""
        self._embedding = embedding
        self._embedder = embedding.embedder
        self._reason = embedding.choice.reason
        self._unsure = embedding.choice.unsure
        self._lacks_model = False
        self._queries = QueryCache()
        self._compared: set[ModelId] = set()
        self._settings = embed
        self._search = search
        self._jobs = jobs
        self._is_left_to_others = False
        self._wake_event = asyncio.Event()
        self._fill_lock = asyncio.Lock()

    def set_search_settings(self, search: SearchSettings) -> None:
        """Use these settings for all searches that start from now on."""
        self._search = search

    @property
    def enabled(self) -> bool:
        """Return whether there is a provider."""
        return self._embedder is not None and not self._lacks_model

    @property
    def models(self) -> tuple[ModelId, ...]:
        """Models whose vectors are wanted, the first provider's first; their dimensions may still be 0."""
        return self._embedder.models if self._embedder and not self._lacks_model else ()

    @property
    def state(self) -> BackfillState:
        """The current state, for status."""
        problem, next_try = self._embedding.error, ""
        serving: ModelId | None = None
        if self._embedder and not self._lacks_model:
            state = self._embedder.state
            well = (each.model for each in (state.primary, state.fallback) if each and each.ok)
            serving = next(well, None)
            failing = [each for each in (state.primary, state.fallback) if each and not each.ok]
            problem = join_fallback(*(each.error for each in failing)) or problem
            waits = [each.next_try for each in failing if each.next_try]
            next_try = min(waits).isoformat(timespec="seconds") if waits else ""
        return BackfillState(self.models, serving, self._reason, problem, next_try, self._embedding.fetching)

    async def close(self) -> None:
        """Close connections and models."""
        if self._embedding.embedder:
            await self._embedding.embedder.close()

    def wake(self) -> None:
        """Make `run_forever` look for texts without a vector at once."""
        self._wake_event.set()

    async def make_query(self, query: str, *, limit: int) -> tuple[VectorQuery | None, str]:
        """Return the query's vector, or None and the reason; "" if semantic search is off."""
        if not self._search.vector_weight or self._embedder is None or self._lacks_model:
            return None, ""
        before = self._embedder.models
        if known := self._cached_vector(query):
            return VectorQuery(*known, limit=limit, min_similarity=self._search.min_similarity), ""
        try:
            asked = await self._embedder.embed_query(query)
        except EmbeddingError as error:
            self._disable_if_unable(error)
            notice = end_sentence(Translatable("Searched by words alone: {reason}", reason=error.text))
            return None, notice if self.enabled else ""
        self._unsure = False
        self._queries.put(asked.model, query, asked.vector)
        # The fallback answered, which may need vectors; or the dimensions became known, and differ from those
        # stored.
        if asked.model != self.models[0] or asked.model not in before:
            self.wake()
        return VectorQuery(
            asked.model, asked.vector, limit=limit, min_similarity=self._search.min_similarity
        ), ""

    def _cached_vector(self, query: str) -> tuple[ModelId, Vector] | None:
        """Return the cached vector of a query, by the provider's model or that of the fallback in use."""
        models = dict.fromkeys(filter(None, (self.state.serving, *self.models[:1])))
        for model in models:
            if vector := self._queries.get(model, query):
                return model, vector
        return None

    def clear_queries(self) -> int:
        """Delete the vectors of all queries; return how many there were."""
        count = len(self._queries)
        self._queries.clear()
        return count

    async def delete_unneeded(self, on_index: RunOnIndex) -> int:
        """Delete vectors that no note needs, or of other models than the present ones; return how many.

        Deletes none while the models are unknown.
        """
        if any(not model.is_known for model in self.models):
            await self.probe()
        models = self.models
        is_known = bool(models) and all(model.is_known for model in models)
        if self._embedding.choice.provider != "none" and not is_known:
            return 0
        return await on_index(
            lambda index: index.evict_unused(
                limit=0, wanted_models=[index.resolve_dimensions(model) for model in models]
            )
        )

    async def delete_all(self, on_index: RunOnIndex) -> int:
        """Delete all vectors, even those that notes need, so that they are made again; return how many.

        Raises `EmbeddingError` if no provider works; then none is deleted.
        """
        if self._embedder is None:
            return 0
        await self._embedder.embed_query(PROBE_TEXT)
        async with self._fill_lock:
            return await on_index(lambda index: index.evict_unused(limit=0, wanted_models=()))

    async def probe(self) -> None:
        """Embed a test word, so that `state` shows whether a provider works."""
        if self._embedder is None:
            return
        try:
            await self._embedder.embed_query(PROBE_TEXT)
        except EmbeddingError as error:
            self._disable_if_unable(error)
        else:
            self._unsure = False
            if self._lacks_model:
                self._lacks_model, self._reason = False, self._embedding.choice.reason

    async def fill(self, on_index: RunOnIndex) -> bool:
        """Embed all texts, with the provider or else its fallback; return whether some are still missing.

        Raises `EmbeddingError` if both fail, and what the index raises. Finished vectors are kept.
        """
        if not self.enabled:  # existing vectors, which were paid for, are kept
            return False
        async with self._fill_lock:
            causes: list[EmbeddingError] = []
            for who in _PROVIDER_ROLES[: len(self.models)]:
                try:
                    await self._fill_with(who, on_index)
                except EmbeddingError as error:
                    causes.append(error)
                    continue
                finally:
                    self._jobs.end("embedding")
                if not self._is_failing_long():
                    break
            if causes and len(causes) == len(self.models):
                self._disable_if_unable(causes[0])
                if not self.enabled:
                    return False
                from memory.embeddings.embedder import NoProviderAnswered

                raise causes[0] if len(causes) == 1 else NoProviderAnswered(causes)
            await self._evict_unused(on_index)
            return bool(causes)

    async def run_forever(self, on_index: RunOnIndex) -> None:
        """Fill until cancelled, whenever `wake` is called, and when a failed provider may work again.

        Texts claimed by other instances are checked again, since those may die.
        """
        while self._embedder is not None:
            self._wake_event.clear()
            rest: float | None = None
            try:
                if self._lacks_model:
                    await self.probe()
                if await self.fill(on_index):
                    rest = self._seconds_until_retry()
                if self._lacks_model:
                    rest = self._seconds_until_retry()
                if rest is None and self._is_left_to_others:
                    rest = CLAIMED_PAUSE_SECONDS
            except EmbeddingError:
                rest = self._seconds_until_retry() or MIN_PAUSE_SECONDS
            except (IndexCorrupted, IndexUnavailable) as error:
                log.warning("could not compute the missing vectors: %s", error)
                rest = MAX_PAUSE_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._wake_event.wait()

    def _is_failing_long(self) -> bool:
        """Return whether queries go to the fallback for long enough that it needs vectors of the notes."""
        since = self._embedder.state.primary.since if self._embedder else None
        return since is not None and (datetime.now(UTC) - since).total_seconds() >= FAILING_LONG

    def _seconds_until_retry(self) -> float | None:
        """Return the seconds until the next try; None if all is well, or there is no such time."""
        state = self._embedder.state.primary if self._embedder else None
        if state is None or state.ok:
            return None
        next_try = state.next_try or datetime.now(UTC)
        return min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, (next_try - datetime.now(UTC)).total_seconds()))

    async def _adopt_earlier_version(self, who: ProviderRole, on_index: RunOnIndex) -> None:
        """Adopt the vectors of another version of the same model, if both make the same vectors.

        A new address may lead to the same model, or to another one with the same name: comparing a few texts
        avoids paying for all of them again.
        """
        assert self._embedder is not None
        model = self.models[who == "fallback"]
        if not model.is_known and (await on_index(lambda index: index.numbers())).chunks:
            model = await self._embedder.identify(who)
        if model in self._compared or not model.is_known:
            return
        for other in await on_index(lambda index: index.other_versions(model)):
            if model.dimensions not in (0, other.dimensions):
                continue
            kept = await on_index(partial(_sample_vectors, model=other))
            if not kept:
                continue
            made = await self._embedder.embed_sample([text.text for text, _ in kept], by=who)
            if are_same_vectors(made, [vector for _, vector in kept]):
                known = replace(model, dimensions=other.dimensions)
                await on_index(partial(_adopt_vectors, other=other, model=known))
                log.info("the vectors of an earlier %s still fit and are kept", other.model)
                break
        self._compared.add(self.models[who == "fallback"])

    async def _fill_with(self, who: ProviderRole, on_index: RunOnIndex) -> None:
        assert self._embedder is not None
        await self._adopt_earlier_version(who, on_index)
        tell = self._jobs.tell("embedding")
        done, before = 0, frozenset[bytes]()
        size = self._settings.batch_size
        whole_requests = max(1, MAX_TEXTS_PER_READ // size)
        while True:
            texts, missing = await on_index(
                partial(_list_unembedded, model=self.models[who == "fallback"], limit=whole_requests * size)
            )
            digests = frozenset(text.digest for text in texts)
            self._is_left_to_others = not texts and missing > 0
            if not texts:
                return
            if digests == before:
                log.warning("%d texts got no vector, for no known reason", len(texts))
                return
            before = digests
            tell(done, done + missing)
            keep = _BatchWriter(on_index, texts, tell, done, done + missing)
            await self._embedder.embed_documents([text.text for text in texts], on_done=keep, by=who)
            done = keep.done

    async def _evict_unused(self, on_index: RunOnIndex) -> None:
        models, most = self.models, self._settings.cache.max_entries

        def evict(index: Index) -> int:
            return index.evict_unused(
                limit=most, wanted_models=[index.resolve_dimensions(model) for model in models]
            )

        await on_index(evict)

    def _disable_if_unable(self, error: EmbeddingError) -> None:
        """Disable a chat provider that nobody chose by name, if the error says that it makes no embeddings.

        One that is unreachable or rejects the key may make some all the same; and one without an embedding
        model may get one.
        """
        told_so = isinstance(error, (ModelUnknown, RequestRefused, ResponseUnusable))
        if self._unsure and len(self.models) == 1 and isinstance(error, NoModelInstalled):
            self._lacks_model = True
            self._reason = explain_choice("none", error.text)
        elif self._unsure and told_so and len(self.models) == 1:
            self._unsure = False
            self._embedder = None
            self._reason = explain_choice(
                "none", Translatable("the chat provider has no embeddings ({error})", error=error)
            )


@dataclass(slots=True)
class _BatchWriter:
    """Writes each batch to the index as it arrives."""

    on_index: RunOnIndex
    texts: Sequence[UnembeddedText]
    tell: ReportProgress
    done: int
    total: int

    async def __call__(self, batch: "EmbeddedBatch") -> None:
        vectors = {self.texts[at].digest: vector for at, vector in batch.vectors.items()}
        refused = {self.texts[at].digest: why for at, why in batch.refused.items()}
        await self.on_index(lambda index: index.store_vectors(batch.model, vectors, refused))
        self.done += len(vectors) + len(refused)
        self.tell(self.done, self.total)


def _sample_vectors(index: Index, *, model: ModelId) -> list[tuple[UnembeddedText, Vector]]:
    return index.sample_vectors(model, limit=SAMPLE)


def _adopt_vectors(index: Index, *, other: ModelId, model: ModelId) -> None:
    index.adopt_vectors(other, model)


def _list_unembedded(index: Index, *, model: ModelId, limit: int) -> tuple[list[UnembeddedText], int]:
    """Return texts without a vector, and how many there are in total."""
    complete = index.resolve_dimensions(model)
    return index.list_unembedded(complete, limit=limit), index.count_vectors(complete).missing
