"""What the memory holds: texts in any number, a provider and another one behind it, and failures survived."""

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
)
from memory.embeddings.liveness import wait_while_alive
from memory.embeddings.options import RequestLimits
from memory.embeddings.protocol import EmbeddingProvider, ModelId, PingableProvider, Vector
from memory.embeddings.provider_table import request_limits

PROBE_TEXT = "A note."
"""What is asked to learn whose fault a failure is: the texts' or the provider's."""
TRIES, SILENT_TRIES = 3, 2
"""How often a batch may meet a broken or silent service before it is suspected of being the cause."""
BLANK_REASON = "nothing but white space"
STEP_OVER_SECONDS = 8.0
"""After this long, a provider that does not answer is skipped if there is a fallback."""

ProviderSelection = Literal["anyone", "primary", "fallback"]

_ABOUT_TEXTS = (RequestRefused, RequestTooLarge)


class NoProviderAnswered(EmbeddingError):
    """Every provider was tried; `causes` holds the failure of each."""

    def __init__(self, causes: Sequence[EmbeddingError]) -> None:
        super().__init__("; fallback: ".join(str(cause) for cause in causes))
        self.causes = tuple(causes)


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """What one request brought: vectors of one model by the index of their text, and texts without one, and why."""

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
    """How a provider fares; `error` is one line, "" while it is well."""

    model: ModelId
    ok: bool
    error: str = ""
    since: datetime | None = None
    next_try: datetime | None = None


@dataclass(frozen=True, slots=True)
class EmbedderState:
    """How both fare; vectors come while one of them is well."""

    primary: ProviderState
    fallback: ProviderState | None = None

    @property
    def ok(self) -> bool:
        """Whether the first one answers."""
        return self.primary.ok


@dataclass(slots=True)
class _ProviderSlot:
    provider: EmbeddingProvider
    limits: RequestLimits
    recovery: CircuitBreaker
    most_bytes: int
    """What it is known to take at once; shrinks when it says that less would be better."""
    has_fallback: bool
    """Whether another provider stands behind it."""
    has_answered: bool = False

    @property
    def query_seconds(self) -> float:
        """How long a person who asks waits for it."""
        seconds = self.limits.query_seconds
        return min(seconds, STEP_OVER_SECONDS) if self.has_fallback else seconds

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
        """What was paid for is handed over, also when somebody wants to stop just now."""
        self.undone.difference_update(batch.vectors, batch.refused)
        task = asyncio.ensure_future(self.on_done(batch))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # seen: who stops does not want to hear of it any more
            raise


class Embedder:
    """A provider with its fallback. Belongs to one event loop; `close` it at the end."""

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
        self._lanes = [
            _ProviderSlot(
                provider,
                allowed := limits(provider.provider),
                CircuitBreaker(
                    provider.provider,
                    clock=clock,
                    sleep=sleep,
                    now=now,
                    jitter=jitter,
                    most_seconds=STEP_OVER_SECONDS if has_fallback else math.inf,
                ),
                allowed.bytes,
                has_fallback,
            )
            for provider, has_fallback in ((primary, fallback is not None), (fallback, False))
            if provider is not None
        ]

    @property
    def models(self) -> tuple[ModelId, ...]:
        """Of the first provider and of its fallback, if it has one; `dimensions` may still be 0."""
        return tuple(lane.model for lane in self._lanes)

    @property
    def state(self) -> EmbedderState:
        """For status."""
        return EmbedderState(*map(_provider_state, self._lanes))

    async def close(self) -> None:
        """Let go of connections and memory."""
        for lane in self._lanes:
            await lane.provider.close()

    async def embed_query(self, text: str) -> QueryVector:
        """Ask each provider once, for a short time: a person waits. Raises `EmbeddingError` with all causes."""
        causes: list[EmbeddingError] = []
        for lane in self._lanes:
            try:
                return await _request_query(lane, text)
            except EmbeddingError as error:
                causes.append(error)
        raise _combine_errors(causes)

    async def identify(self, by: ProviderSelection) -> ModelId:
        """Return which model makes the vectors; a provider that does not know that yet is asked for one.

        Raises `EmbeddingError`.
        """
        lane = self._lanes[by == "fallback"]
        if not lane.model.is_known:
            await self.embed_sample([PROBE_TEXT], by=by)
        return lane.model

    async def embed_sample(self, texts: Sequence[str], *, by: ProviderSelection) -> list[Vector]:
        """Ask one provider once for all of a few texts. Raises `EmbeddingError`."""
        lane = self._lanes[by == "fallback"]
        await _probe_service(lane)
        return await _request(lane, texts)

    async def embed_documents(
        self,
        texts: Sequence[str],
        *,
        on_done: Callable[[EmbeddedBatch], Awaitable[None]],
        by: ProviderSelection = "anyone",
    ) -> None:
        """Get a vector for every text; `on_done` has each batch as it comes, in any order, one text once.

        A text that no service takes is told by its index. Raises `EmbeddingError` when the providers
        fail before all is done: what was delivered is paid for and good. Cancelling stops at once, but
        for an `on_done` that is at work.
        """
        lanes = {"anyone": self._lanes, "primary": self._lanes[:1], "fallback": self._lanes[1:]}[by]
        run = _EmbeddingRun(
            texts, [len(text.encode("utf-8", "replace")) for text in texts], on_done, set(range(len(texts)))
        )
        blank = {index: BLANK_REASON for index, text in enumerate(texts) if not text.strip()}
        if blank:
            await run.deliver(EmbeddedBatch(lanes[0].model, {}, blank))
        causes: list[EmbeddingError] = []
        for lane in lanes:
            if run.undone:
                causes += await self._embed_all(lane, run)
        if run.undone:
            raise _combine_errors(causes)

    async def _embed_all(self, lane: _ProviderSlot, run: _EmbeddingRun) -> list[EmbeddingError]:
        """Do what is undone, as far as the provider lives; give back what it died of, if it did."""
        try:
            await _probe_service(lane)
        except EmbeddingError as error:
            return [error]
        batches = deque(self._batches(lane, run))
        deaths: list[EmbeddingError] = []

        async def work() -> None:
            while batches:
                try:
                    await _embed_batch(lane, run, batches.popleft())
                except EmbeddingError as error:
                    deaths.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(lane.limits.requests, len(batches))):
                    group.create_task(work())
        except BaseExceptionGroup as failures:  # `on_done` could not take it, or a bug
            raise failures.exceptions[0] from None
        return deaths[-1:]

    def _batches(self, lane: _ProviderSlot, run: _EmbeddingRun) -> Iterator[list[int]]:
        most_texts = min(self._batch_size, lane.limits.texts)
        batch: list[int] = []
        size = 0
        for index in sorted(run.undone):
            if batch and (len(batch) >= most_texts or size + run.sizes[index] > lane.most_bytes):
                yield batch
                batch, size = [], 0
            batch.append(index)
            size += run.sizes[index]
        if batch:
            yield batch


async def _embed_batch(
    lane: _ProviderSlot, run: _EmbeddingRun, batch: Sequence[int], *, suspected: bool = False
) -> None:
    """Get and deliver the vectors of a batch; where it is at fault, find the texts that are.

    `suspected`: it is known that the provider is well, and that one of these texts is not.
    """
    size = sum(run.sizes[index] for index in batch)
    if size > lane.most_bytes and len(batch) > 1:
        return await _embed_halves(lane, run, batch, suspected=suspected)
    tries = 0
    while True:
        try:
            vectors = await _request(lane, [run.texts[index] for index in batch])
        except EmbeddingError as error:
            tries += 1
            if not await _blame_texts(lane, error, tries=tries, alone=len(batch) == 1, suspected=suspected):
                continue
            if len(batch) == 1:
                return await run.deliver(EmbeddedBatch(lane.model, {}, {batch[0]: str(error)}))
            if isinstance(error, RequestTooLarge):
                lane.most_bytes = min(lane.most_bytes, size // 2)
            else:
                suspected = True
            return await _embed_halves(lane, run, batch, suspected=suspected)
        return await run.deliver(EmbeddedBatch(lane.model, dict(zip(batch, vectors, strict=True))))


async def _embed_halves(
    lane: _ProviderSlot, run: _EmbeddingRun, batch: Sequence[int], *, suspected: bool
) -> None:
    middle = len(batch) // 2
    for half in (batch[:middle], batch[middle:]):
        await _embed_batch(lane, run, half, suspected=suspected)


async def _blame_texts(
    lane: _ProviderSlot, error: EmbeddingError, *, tries: int, alone: bool, suspected: bool
) -> bool:
    """Tell them from a provider that may be asked again (False) and from one that may not (raises)."""
    most_tries = 1 if suspected else SILENT_TRIES if isinstance(error, EmbeddingTimedOut) else TRIES
    match error:
        case RequestTooLarge() if not alone:
            return True
        case ResponseUnusable() if alone and tries < TRIES and not lane.recovery.is_hopeless:
            # What stands between may have garbled it, and no vector would ever be asked for again.
            return False
        case RequestRefused() | ResponseUnusable() | RequestTooLarge():
            if suspected:
                return True
        case ServiceFailed() | EmbeddingTimedOut() if tries >= most_tries and not lane.recovery.is_hopeless:
            pass  # some services break on a text rather than refuse it
        case _ if isinstance(error, TRANSIENT_ERRORS) and not lane.recovery.is_hopeless:
            return False
        case _:
            raise error
    try:
        await _request(lane, [PROBE_TEXT], about_texts=())
    except TRANSIENT_ERRORS:
        if lane.recovery.is_hopeless:
            raise
        return False
    return True


async def _probe_service(lane: _ProviderSlot) -> None:
    """Ask a service that never answered for one short text, where another one can do its work.

    A full request may take a minute, so that a silent service would be told from a slow one only by then.
    What is loaded or fetched first has its own time.
    """
    seconds = lane.limits.query_seconds
    if not lane.has_fallback or lane.has_answered or seconds > STEP_OVER_SECONDS:
        return
    innocent = (*_ABOUT_TEXTS, ResponseUnusable)
    while not lane.has_answered:
        try:
            async with lane.recovery.attempt(patient=True, innocent=innocent):
                try:
                    async with asyncio.timeout(seconds):
                        await lane.provider.embed([PROBE_TEXT], purpose="document")
                except TimeoutError as error:
                    raise EmbeddingTimedOut(
                        f"{lane.provider.provider} gave no answer within {seconds:g} s"
                    ) from error
        except innocent:
            pass  # it answers; the texts will tell more
        except TRANSIENT_ERRORS:
            if lane.recovery.is_hopeless:
                raise
            continue
        lane.has_answered = True


async def _request(
    lane: _ProviderSlot,
    texts: Sequence[str],
    *,
    about_texts: tuple[type[EmbeddingError], ...] = (*_ABOUT_TEXTS, ResponseUnusable),
) -> list[Vector]:
    async with lane.recovery.attempt(patient=True, innocent=about_texts):
        asking = lane.provider.embed(texts, purpose="document")
        if lane.has_fallback and isinstance(lane.provider, PingableProvider):
            asking = wait_while_alive(
                asking,
                lane.provider.ping,
                seconds=lane.limits.silent_seconds,
                name=lane.provider.provider,
            )
        vectors = await asking
    lane.has_answered = True
    return vectors


async def _request_query(lane: _ProviderSlot, text: str) -> QueryVector:
    seconds = lane.query_seconds
    deadline = asyncio.get_running_loop().time() + seconds
    late = f"{lane.provider.provider} gave no answer within {seconds:g} s"
    try:
        async with (
            asyncio.timeout_at(deadline) as waiting,
            lane.recovery.attempt(patient=False, innocent=(*_ABOUT_TEXTS, ResponseUnusable)),
        ):
            waiting.reschedule(None)
            try:
                async with asyncio.timeout_at(deadline):
                    [vector] = await lane.provider.embed([text], purpose="query")
            except (
                TimeoutError
            ) as error:  # counts as a failure, which waiting for somebody else's try does not
                raise EmbeddingTimedOut(late) from error
    except TimeoutError as error:
        raise EmbeddingTimedOut(late) from error
    lane.has_answered = True
    return QueryVector(lane.model, vector)


def _provider_state(lane: _ProviderSlot) -> ProviderState:
    recovery = lane.recovery
    return ProviderState(
        lane.model, recovery.error is None, str(recovery.error or ""), recovery.since, recovery.next_try
    )


def _combine_errors(causes: Sequence[EmbeddingError]) -> EmbeddingError:
    return causes[0] if len(causes) == 1 else NoProviderAnswered(causes)
