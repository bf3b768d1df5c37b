"""Embeds any number of texts with a provider and its fallback, and handles their failures."""

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from memory.embeddings.circuit_breaker import TRANSIENT_ERRORS, CircuitBreaker
from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingTimedOut,
    RequestRefused,
    RequestTooLarge,
    ResponseUnusable,
    ServiceFailed,
    join_fallback,
)
from memory.embeddings.liveness import wait_while_alive
from memory.embeddings.options import RequestLimits
from memory.embeddings.protocol import EmbeddingProvider, ModelId, PingableProvider, Vector
from memory.embeddings.provider_table import request_limits
from memory.translatable import Translatable

PROBE_TEXT = "A note."
"""Text that is sent to find out whether the texts or the provider cause a failure."""
TRIES, SILENT_TRIES = 3, 2
"""How often a batch may get a failure or a timeout before it is suspected of being the cause."""
BLANK_REASON = "only whitespace"
FALLBACK_AFTER_SECONDS = 8.0
"""After this long, a provider that does not answer is skipped if there is a fallback."""

ProviderSelection = Literal["anyone", "primary", "fallback"]

_ABOUT_TEXTS = (RequestRefused, RequestTooLarge)


class NoProviderAnswered(EmbeddingError):
    """Every provider was tried; `causes` holds the failure of each."""

    def __init__(self, causes: Sequence[EmbeddingError]) -> None:
        super().__init__(join_fallback(*(cause.text for cause in causes)))
        self.causes = tuple(causes)


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """The result of one request: vectors of one model by the index of their text, and texts refused with a reason."""

    model: ModelId
    vectors: dict[int, Vector]
    refused: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's vector; to be compared with vectors of the same model only."""

    model: ModelId
    vector: Vector


@dataclass(frozen=True, slots=True)
class ProviderState:
    """The state of a provider; `error` is one line, "" while it works."""

    model: ModelId
    ok: bool
    error: str = ""
    since: datetime | None = None
    next_try: datetime | None = None


@dataclass(frozen=True, slots=True)
class EmbedderState:
    """The state of both providers; texts are embedded while either works."""

    primary: ProviderState
    fallback: ProviderState | None = None

    @property
    def ok(self) -> bool:
        """Return whether the first provider works."""
        return self.primary.ok


@dataclass(slots=True)
class _ProviderSlot:
    provider: EmbeddingProvider
    limits: RequestLimits
    breaker: CircuitBreaker
    most_bytes: int
    """Maximum bytes per request; shrinks when the service rejects a request as too large."""
    has_fallback: bool
    """True if there is a fallback behind this provider."""
    has_answered: bool = False

    @property
    def query_seconds(self) -> float:
        """Return how many seconds a search waits for this provider."""
        seconds = self.limits.query_seconds
        return min(seconds, FALLBACK_AFTER_SECONDS) if self.has_fallback else seconds

    @property
    def model(self) -> ModelId:
        provider = self.provider
        return ModelId(provider.provider, provider.model, provider.dimensions, provider.version)


@dataclass(slots=True)
class _EmbeddingRun:
    """One call of `embed_documents`."""

    texts: Sequence[str]
    sizes: Sequence[int]
    on_done: Callable[[EmbeddedBatch], Awaitable[None]]
    undone: set[int]

    async def deliver(self, batch: EmbeddedBatch) -> None:
        """Deliver a batch, even if the run is cancelled just now: it has been paid for."""
        self.undone.difference_update(batch.vectors, batch.refused)
        task = asyncio.ensure_future(self.on_done(batch))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # mark as retrieved, since nobody wants the error after a cancellation
            raise


class Embedder:
    """A provider with its fallback. Belongs to one event loop; call `close` at the end."""

    def __init__(
        self,
        primary: EmbeddingProvider,
        fallback: EmbeddingProvider | None = None,
        *,
        batch_size: int = 100,
        limits: Callable[[str], RequestLimits] = request_limits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._batch_size = batch_size
        self._slots = [
            _ProviderSlot(
                provider,
                allowed := limits(provider.provider),
                CircuitBreaker(
                    provider.provider,
                    clock=clock,
                    sleep=sleep,
                    now=now,
                    jitter=jitter,
                    max_seconds=FALLBACK_AFTER_SECONDS if has_fallback else math.inf,
                ),
                allowed.bytes,
                has_fallback,
            )
            for provider, has_fallback in ((primary, fallback is not None), (fallback, False))
            if provider is not None
        ]

    @property
    def models(self) -> tuple[ModelId, ...]:
        """Models of the first provider and of its fallback, if any; `dimensions` may still be 0."""
        return tuple(slot.model for slot in self._slots)

    @property
    def state(self) -> EmbedderState:
        """The state of both providers, for status."""
        return EmbedderState(*map(_provider_state, self._slots))

    async def close(self) -> None:
        """Close connections and free memory."""
        for slot in self._slots:
            await slot.provider.close()

    async def embed_query(self, text: str) -> QueryVector:
        """Try each provider once, within `query_seconds`. Raises `EmbeddingError` with all causes."""
        causes: list[EmbeddingError] = []
        for slot in self._slots:
            try:
                return await _request_query(slot, text)
            except EmbeddingError as error:
                causes.append(error)
        raise _combine_errors(causes)

    async def identify(self, by: ProviderSelection) -> ModelId:
        """Return the model that makes the vectors, embedding a test text if the provider does not know it yet.

        Raises `EmbeddingError`.
        """
        slot = self._slots[by == "fallback"]
        if not slot.model.is_known:
            await self.embed_sample([PROBE_TEXT], by=by)
        return slot.model

    async def embed_sample(self, texts: Sequence[str], *, by: ProviderSelection) -> list[Vector]:
        """Embed a few texts by a single request to one provider. Raises `EmbeddingError`."""
        slot = self._slots[by == "fallback"]
        await _probe_service(slot)
        return await _request(slot, texts)

    async def embed_documents(
        self,
        texts: Sequence[str],
        *,
        on_done: Callable[[EmbeddedBatch], Awaitable[None]],
        by: ProviderSelection = "anyone",
    ) -> None:
        """Embed all texts; `on_done` gets each batch as it completes, in any order, and each text once.

        Texts that every provider refuses are reported by index. Raises `EmbeddingError` if the providers fail
        before all is done; what was delivered remains valid. Cancelling stops at once, except for a running
        `on_done`.
        """
        slots = {"anyone": self._slots, "primary": self._slots[:1], "fallback": self._slots[1:]}[by]
        run = _EmbeddingRun(
            texts, [len(text.encode("utf-8", "replace")) for text in texts], on_done, set(range(len(texts)))
        )
        blank = {index: BLANK_REASON for index, text in enumerate(texts) if not text.strip()}
        if blank:
            await run.deliver(EmbeddedBatch(slots[0].model, {}, blank))
        causes: list[EmbeddingError] = []
        for slot in slots:
            if run.undone:
                causes += await self._embed_all(slot, run)
        if run.undone:
            raise _combine_errors(causes)

    async def _embed_all(self, slot: _ProviderSlot, run: _EmbeddingRun) -> list[EmbeddingError]:
        """Embed what is missing as long as the provider works; return the errors that stopped it."""
        try:
            await _probe_service(slot)
        except EmbeddingError as error:
            return [error]
        batches = deque(self._batches(slot, run))
        deaths: list[EmbeddingError] = []

        async def work() -> None:
            while batches:
                try:
                    await _embed_batch(slot, run, batches.popleft())
                except EmbeddingError as error:
                    deaths.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(slot.limits.requests, len(batches))):
                    group.create_task(work())
        except BaseExceptionGroup as failures:  # `on_done` failed, or a bug
            raise failures.exceptions[0] from None
        return deaths[-1:]

    def _batches(self, slot: _ProviderSlot, run: _EmbeddingRun) -> Iterator[list[int]]:
        most_texts = min(self._batch_size, slot.limits.texts)
        batch: list[int] = []
        size = 0
        for index in sorted(run.undone):
            if batch and (len(batch) >= most_texts or size + run.sizes[index] > slot.most_bytes):
                yield batch
                batch, size = [], 0
            batch.append(index)
            size += run.sizes[index]
        if batch:
            yield batch


async def _embed_batch(
    slot: _ProviderSlot, run: _EmbeddingRun, batch: Sequence[int], *, suspected: bool = False
) -> None:
    """Embed and deliver a batch; if it fails because of its texts, find out which ones.

    With `suspected`, the provider is known to work, so one of these texts is the cause.
    """
    size = sum(run.sizes[index] for index in batch)
    if size > slot.most_bytes and len(batch) > 1:
        return await _embed_halves(slot, run, batch, suspected=suspected)
    tries = 0
    while True:
        try:
            vectors = await _request(slot, [run.texts[index] for index in batch])
        except EmbeddingError as error:
            tries += 1
            if not await _blame_texts(slot, error, tries=tries, alone=len(batch) == 1, suspected=suspected):
                continue
            if len(batch) == 1:
                return await run.deliver(EmbeddedBatch(slot.model, {}, {batch[0]: error.text}))
            if isinstance(error, RequestTooLarge):
                slot.most_bytes = min(slot.most_bytes, size // 2)
            else:
                suspected = True
            return await _embed_halves(slot, run, batch, suspected=suspected)
        return await run.deliver(EmbeddedBatch(slot.model, dict(zip(batch, vectors, strict=True))))


async def _embed_halves(
    slot: _ProviderSlot, run: _EmbeddingRun, batch: Sequence[int], *, suspected: bool
) -> None:
    middle = len(batch) // 2
    for half in (batch[:middle], batch[middle:]):
        await _embed_batch(slot, run, half, suspected=suspected)


async def _blame_texts(
    slot: _ProviderSlot, error: EmbeddingError, *, tries: int, alone: bool, suspected: bool
) -> bool:
    """Return whether the texts caused the error; False to try again. Raises the error if the provider did."""
    most_tries = 1 if suspected else SILENT_TRIES if isinstance(error, EmbeddingTimedOut) else TRIES
    match error:
        case RequestTooLarge() if not alone:
            return True
        case ResponseUnusable() if alone and tries < TRIES and not slot.breaker.is_hopeless:
            # A proxy may have garbled the response; blaming the text would prevent a vector forever.
            return False
        case RequestRefused() | ResponseUnusable() | RequestTooLarge():
            if suspected:
                return True
        case ServiceFailed() | EmbeddingTimedOut() if tries >= most_tries and not slot.breaker.is_hopeless:
            pass  # some services crash on a text instead of refusing it
        case _ if isinstance(error, TRANSIENT_ERRORS) and not slot.breaker.is_hopeless:
            return False
        case _:
            raise error
    try:
        await _request(slot, [PROBE_TEXT], about_texts=())
    except TRANSIENT_ERRORS:
        if slot.breaker.is_hopeless:
            raise
        return False
    return True


async def _probe_service(slot: _ProviderSlot) -> None:
    """Send one short text to a service that never answered, if there is a fallback.

    A full request may take a minute, so a dead service would be told from a slow one only then. Loading or
    downloading a model has its own limit.
    """
    seconds = slot.limits.query_seconds
    if not slot.has_fallback or slot.has_answered or seconds > FALLBACK_AFTER_SECONDS:
        return
    innocent = (*_ABOUT_TEXTS, ResponseUnusable)
    while not slot.has_answered:
        try:
            async with slot.breaker.attempt(patient=True, innocent=innocent):
                try:
                    async with asyncio.timeout(seconds):
                        await slot.provider.embed([PROBE_TEXT], purpose="document")
                except TimeoutError as error:
                    raise EmbeddingTimedOut(
                        "{provider} gave no answer within {seconds:g} s",
                        provider=slot.provider.provider,
                        seconds=seconds,
                    ) from error
        except innocent:
            pass  # it answers; the real texts will show more
        except TRANSIENT_ERRORS:
            if slot.breaker.is_hopeless:
                raise
            continue
        slot.has_answered = True


async def _request(
    slot: _ProviderSlot,
    texts: Sequence[str],
    *,
    about_texts: tuple[type[EmbeddingError], ...] = (*_ABOUT_TEXTS, ResponseUnusable),
) -> list[Vector]:
    async with slot.breaker.attempt(patient=True, innocent=about_texts):
        asking = slot.provider.embed(texts, purpose="document")
        if slot.has_fallback and isinstance(slot.provider, PingableProvider):
            asking = wait_while_alive(
                asking,
                slot.provider.ping,
                seconds=slot.limits.silent_seconds,
                name=slot.provider.provider,
            )
        vectors = await asking
    slot.has_answered = True
    return vectors


async def _request_query(slot: _ProviderSlot, text: str) -> QueryVector:
    seconds = slot.query_seconds
    deadline = asyncio.get_running_loop().time() + seconds
    late = Translatable(
        "{provider} gave no answer within {seconds:g} s", provider=slot.provider.provider, seconds=seconds
    )
    try:
        async with (
            asyncio.timeout_at(deadline) as waiting,
            slot.breaker.attempt(patient=False, innocent=(*_ABOUT_TEXTS, ResponseUnusable)),
        ):
            waiting.reschedule(None)
            try:
                async with asyncio.timeout_at(deadline):
                    [vector] = await slot.provider.embed([text], purpose="query")
            except TimeoutError as error:  # counts as a failure, unlike waiting for another caller's try
                raise EmbeddingTimedOut(late) from error
    except TimeoutError as error:
        raise EmbeddingTimedOut(late) from error
    slot.has_answered = True
    return QueryVector(slot.model, vector)


def _provider_state(slot: _ProviderSlot) -> ProviderState:
    breaker = slot.breaker
    return ProviderState(
        slot.model,
        breaker.error is None,
        breaker.error.text if breaker.error else "",
        breaker.since,
        breaker.next_try,
    )


def _combine_errors(causes: Sequence[EmbeddingError]) -> EmbeddingError:
    return causes[0] if len(causes) == 1 else NoProviderAnswered(causes)
