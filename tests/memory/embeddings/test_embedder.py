"""Many texts, a provider that fails in every way, and its fallback."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from memory.embeddings import embedder as embedder_module
from memory.embeddings.circuit_breaker import MAX_WAITED_FAILURES
from memory.embeddings.embedder import (
    FALLBACK_AFTER_SECONDS,
    PROBE_TEXT,
    EmbeddedBatch,
    Embedder,
    NoProviderAnswered,
    ProviderSelection,
)
from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingOutOfCredit,
    EmbeddingTimedOut,
    EmbeddingUnreachable,
    KeyRejected,
    LimitReached,
    ModelUnknown,
    RequestRefused,
    ResponseUnusable,
    ServiceFailed,
)
from memory.embeddings.liveness import wait_while_alive
from memory.embeddings.ollama_server import open_ollama
from memory.embeddings.options import ProviderOptions
from memory.embeddings.protocol import EmbeddingProvider, ModelId
from memory.embeddings.provider_table import error_fixes, request_limits
from tests.fakes.clock import START, FakeClock
from tests.fakes.embedding_server import (
    EmbeddingRequest,
    EmbeddingServer,
    Reply,
    cuts,
    drops,
    fails,
    hangs,
    limited,
    proxy_error,
    says,
    waits_for,
    wrong_dimensions,
)
from tests.fakes.table_test import table_test

Open = Callable[..., EmbeddingProvider]
SMALL = ("openai", "text-embedding-3-small", 1536)


def named(model: ModelId) -> tuple[str, str, int]:
    """Return all but the version, which depends on the server's address."""
    return model.provider, model.model, model.dimensions


class Delivered:
    """Collects the delivered batches."""

    def __init__(self) -> None:
        self.batches: list[EmbeddedBatch] = []

    async def __call__(self, batch: EmbeddedBatch) -> None:
        self.batches.append(batch)

    @property
    def done(self) -> list[int]:
        return sorted(index for batch in self.batches for index in batch.vectors)

    @property
    def refused(self) -> dict[int, str]:
        return {index: reason for batch in self.batches for index, reason in batch.refused.items()}

    @property
    def models(self) -> set[ModelId]:
        return {batch.model for batch in self.batches if batch.vectors}


def texts(count: int) -> list[str]:
    return [f"note {number}" for number in range(count)]


@pytest.fixture
def delivered() -> Delivered:
    return Delivered()


@pytest.fixture
def make(open_at: Open, time: FakeClock) -> Callable[..., Embedder]:
    """Create embedders for the fake server, whose waits pass at once."""

    def made(
        primary: str | EmbeddingProvider = "openai",
        fallback: str = "",
        *,
        batch_size: int = 10,
        query_seconds: float = 10,
        jitter: float = 0.0,
        **limits: Any,
    ) -> Embedder:
        return Embedder(
            open_at(primary) if isinstance(primary, str) else primary,
            open_at(fallback) if fallback else None,
            batch_size=batch_size,
            limits=lambda name: replace(request_limits(name), query_seconds=query_seconds, **limits),
            clock=time.clock,
            sleep=time.sleep,
            now=time.now,
            jitter=lambda: jitter,
        )

    return made


Make = Callable[..., Embedder]


# Batches


@pytest.mark.thorough
async def test_batches_are_full(make: Make, server: EmbeddingServer, delivered: Delivered) -> None:
    embedder = make(batch_size=100)
    await embedder.embed_documents(texts(450), on_done=delivered)

    assert sorted(len(asked.texts) for asked in server.requests) == [50, 100, 100, 100, 100]
    assert delivered.done == list(range(450))
    assert {named(model) for model in delivered.models} == {SMALL}


async def test_each_text_gets_its_own_vector(make: Make, delivered: Delivered) -> None:
    embedder = make(batch_size=3)
    await embedder.embed_documents(texts(20), on_done=delivered)

    [vector] = [v for batch in delivered.batches for i, v in batch.vectors.items() if i == 13]
    assert (await embedder.embed_query("note 13")).vector == vector


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "most"), [("gemini", 100), ("zhipu", 64), ("voyage", 1000)])
async def test_a_services_own_limit_is_respected(
    name: str, most: int, make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    await make(name, batch_size=5000).embed_documents(texts(most + 1), on_done=delivered)

    assert sorted(len(asked.texts) for asked in server.requests) == [1, most]


async def test_batches_keep_to_the_services_tokens(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    long = ["word " * 2000] * 50  # 10 KB, about 2,000 tokens each
    await make("voyage", batch_size=100).embed_documents(long, on_done=delivered)

    assert len(delivered.done) == 50
    assert [len(asked.texts) for asked in server.requests] == [36, 14]


async def test_no_more_than_four_requests_at_once(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.delay = 0.01
    await make(batch_size=1).embed_documents(texts(30), on_done=delivered)

    assert server.most_at_once == 4


async def test_blank_texts_are_not_sent(make: Make, server: EmbeddingServer, delivered: Delivered) -> None:
    await make().embed_documents(["a", " \n", "", "b"], on_done=delivered)

    assert server.requests[0].texts == ("a", "b")
    assert delivered.done == [0, 3]
    assert delivered.refused.keys() == {1, 2}


async def test_without_texts_no_request_is_made(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    await make().embed_documents([], on_done=delivered)

    assert (server.requests, delivered.batches) == ([], [])


# Failures that pass


@pytest.mark.parametrize("reply", [fails(500), proxy_error(503), fails(429), cuts(), drops(), fails(408)])
async def test_transient_errors_are_retried(
    reply: object, make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.enqueue(reply, reply)  # type: ignore[arg-type]
    embedder = make()
    await embedder.embed_documents(texts(10), on_done=delivered)

    assert delivered.done == list(range(10))
    assert time.slept == [1, 2]
    assert embedder.state.ok


async def test_retry_after_overrides_the_default_delay(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.enqueue(limited("33"))
    await make().embed_documents(texts(3), on_done=delivered)

    assert time.slept == [33]
    assert len(delivered.done) == 3


async def test_an_answer_to_an_earlier_request_does_not_lift_a_limit(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    go_on = asyncio.Event()
    server.enqueue(waits_for(go_on), limited("33"))
    time.frozen = True
    embedder = make(requests=2)
    documents = asyncio.create_task(embedder.embed_documents(texts(20), on_done=delivered))
    await server.wait_for_requests(2)
    while embedder.state.ok:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    go_on.set()
    while not delivered.batches:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    assert not embedder.state.ok
    assert len(server.requests) == 2
    time.frozen = False
    await documents

    assert time.slept == [33]
    assert delivered.done == list(range(20))


async def test_jitter_only_lengthens(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.enqueue(limited("20"), fails(500))
    await make(jitter=1.0).embed_documents(texts(3), on_done=delivered)

    assert time.slept == [25, 2.5]


async def test_nobody_waits_for_an_hour(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.always(limited("3600"))
    embedder = make()

    with pytest.raises(LimitReached):
        await embedder.embed_documents(texts(3), on_done=delivered)

    assert time.slept == []
    assert embedder.state.primary.next_try == START + timedelta(hours=1)


async def test_during_an_outage_only_one_caller_tries(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.always(drops())
    embedder = make(batch_size=1)

    with pytest.raises(EmbeddingUnreachable):
        await embedder.embed_documents(texts(40), on_done=delivered)

    assert len(server.requests) == 4 + MAX_WAITED_FAILURES - 1
    assert time.seconds == 1 + 2 + 4 + 8 + 16
    assert delivered.batches == []
    assert all(len(asked.texts) == 1 for asked in server.requests)


async def test_finished_batches_are_kept_when_a_later_one_fails(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    embedder = make(requests=1)
    await embedder.embed_documents(["first"], on_done=Delivered())
    server.enqueue(*[_answers] * 3)
    server.always(fails(401))

    with pytest.raises(KeyRejected):
        await embedder.embed_documents(texts(100), on_done=delivered)

    assert delivered.done == list(range(30))
    assert len(server.requests) == 1 + 3 + 1


async def _answers(*_: object) -> None:
    return None


async def test_a_provider_recovers_by_itself(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.always(fails(500))
    embedder = make()
    with pytest.raises(ServiceFailed):
        await embedder.embed_documents(texts(20), on_done=delivered)
    server.always(None)
    asked = len(server.requests)

    with pytest.raises(ServiceFailed):  # the breaker is open: no request is made
        await embedder.embed_documents(texts(20), on_done=delivered)
    assert len(server.requests) == asked

    time.seconds += 300
    await embedder.embed_documents(texts(20), on_done=delivered)
    assert delivered.done == list(range(20))
    assert embedder.state.ok


# Texts at fault


async def test_one_bad_text_does_not_lose_its_neighbours(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.refused_texts.add("note 37 ")
    all_texts = [f"note {number} " for number in range(100)]
    embedder = make(batch_size=100)
    await embedder.embed_documents(["warm up"], on_done=Delivered())
    await embedder.embed_documents(all_texts, on_done=delivered)

    assert delivered.done == [number for number in range(100) if number != 37]
    assert delivered.refused == {37: "openai answered 400 (a text that is not taken)"}
    assert len(server.requests) <= 1 + 1 + 2 * 7 + 1
    assert embedder.state.ok
    assert time.slept == []


async def test_a_text_that_gives_nan_does_not_lose_its_neighbours(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.nan_texts.add("note 3")
    await make("gemini").embed_documents(texts(10), on_done=delivered)

    assert delivered.done == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert "NaN" in delivered.refused[3]


async def test_a_text_that_breaks_the_service_does_not_lose_its_neighbours(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.breaking_texts.add("note 0")
    embedder = make("gemini", batch_size=100)
    await embedder.embed_documents([f"note {number} ." for number in range(9)], on_done=delivered)

    assert delivered.done == list(range(1, 9))
    assert delivered.refused == {0: "gemini answered 500 (something with status 500)"}
    assert embedder.state.ok


async def test_a_garbled_response_is_retried(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.enqueue(says("<html>a proxy's page</html>"), says("<html>"))
    await make("gemini").embed_documents(["the only note"], on_done=delivered)

    assert (delivered.done, delivered.refused) == ([0], {})


async def test_a_text_whose_response_is_always_unreadable_is_given_up_alone(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    async def unreadable(request: web.Request, asked: EmbeddingRequest) -> web.StreamResponse | None:
        return await says("<html>")(request, asked) if "note 0" in asked.texts else None

    server.always(unreadable)
    await make("gemini", batch_size=100).embed_documents(texts(4), on_done=delivered)

    assert delivered.done == [1, 2, 3]
    assert delivered.refused == {0: "gemini sent something that is not JSON"}
    assert sum(asked.texts == ("note 0",) for asked in server.requests) == 3


async def test_a_setting_that_is_refused_is_not_blamed_on_the_texts(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.always(fails(400, "dimensions: not one of 256, 512"))
    embedder = make("gemini", batch_size=100)

    with pytest.raises(RequestRefused, match="dimensions"):
        await embedder.embed_documents(texts(1000), on_done=delivered)

    assert len(server.requests) <= 2 * 4
    assert server.requests[-1].texts == (PROBE_TEXT,)
    assert delivered.batches == []
    assert not embedder.state.ok


async def test_vectors_of_another_length_are_not_blamed_on_the_texts(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.always(wrong_dimensions(7))
    embedder = make("gemini", batch_size=100)

    with pytest.raises(ResponseUnusable, match="vectors of 7 numbers instead of 768"):
        await embedder.embed_documents(texts(100), on_done=delivered)

    assert len(server.requests) == 2
    assert "check memory.embedding.model" in embedder.state.primary.error


async def test_a_request_that_is_too_large_is_split_and_the_limit_remembered(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.most_bytes = 20_000
    long = [f"{number} " + "word " * 100 for number in range(100)]  # 50 KB
    embedder = make(batch_size=100, requests=1)
    await embedder.embed_documents(long, on_done=delivered)
    assert delivered.done == list(range(100))
    first = len(server.requests)
    await embedder.embed_documents(long, on_done=delivered)

    assert len(server.requests) - first == 5  # none of them failed


async def test_a_single_text_that_is_too_large_is_reported(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.most_bytes = 1000
    await make().embed_documents(["a", "b" * 2000, "c"], on_done=delivered)

    assert delivered.done == [0, 2]
    assert "413" in delivered.refused[1]


async def test_a_server_that_rejects_every_size_is_not_tried_for_each_text(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.most_bytes = 1
    with pytest.raises(EmbeddingError, match="413"):
        await make(batch_size=100).embed_documents(texts(400), on_done=delivered)

    assert len(server.requests) < 50


async def test_a_refused_connection_is_never_split(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.enqueue(drops(), drops(), drops(), drops())
    await make(batch_size=50).embed_documents(texts(50), on_done=delivered)

    assert [len(asked.texts) for asked in server.requests] == [50] * 5


# Stopping


async def test_cancelling_ends_a_wait_at_once(
    server: EmbeddingServer, open_at: Open, delivered: Delivered
) -> None:
    server.always(limited("60"))
    embedder = Embedder(open_at("openai"))
    task = asyncio.create_task(embedder.embed_documents(texts(10), on_done=delivered))
    await server.wait_for_requests()
    await asyncio.sleep(0.02)
    task.cancel()

    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cancelling_loses_no_batch_that_is_being_delivered(make: Make, server: EmbeddingServer) -> None:
    began = asyncio.Event()
    kept: list[int] = []

    async def store_slowly(batch: EmbeddedBatch) -> None:
        began.set()
        await asyncio.sleep(0.05)
        kept.extend(batch.vectors)

    task = asyncio.create_task(make(requests=1).embed_documents(texts(30), on_done=store_slowly))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert kept == list(range(10))
    assert len(server.requests) == 1


async def test_when_vectors_cannot_be_stored_nobody_asks_for_more(
    make: Make, server: EmbeddingServer
) -> None:
    async def full(_: EmbeddedBatch) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await make(requests=1).embed_documents(texts(100), on_done=full)

    assert len(server.requests) == 1


async def test_a_cancelled_probe_is_taken_over(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    embedder = make(batch_size=100)
    server.enqueue(fails(500), hangs())
    first = asyncio.create_task(embedder.embed_documents(texts(1), on_done=delivered))
    await server.wait_for_requests(2)
    second = asyncio.create_task(embedder.embed_documents(texts(2), on_done=delivered))
    await asyncio.sleep(0.02)
    assert len(server.requests) == 2
    first.cancel()
    await second

    assert delivered.done == [0, 1]


# Queries


async def test_a_query_vector_has_its_model(make: Make, server: EmbeddingServer) -> None:
    found = await make("gemini").embed_query("where is the cat?")

    assert named(found.model) == ("gemini", "gemini-embedding-001", 768)
    assert len(found.vector) == 768 * 4
    assert server.requests[0].purpose == "RETRIEVAL_QUERY"


async def test_a_query_is_tried_once(make: Make, server: EmbeddingServer, time: FakeClock) -> None:
    server.always(fails(500))

    with pytest.raises(ServiceFailed):
        await make("gemini").embed_query("a")

    assert (len(server.requests), time.slept) == (1, [])


async def test_a_query_times_out_quickly(make: Make, server: EmbeddingServer) -> None:
    server.always(hangs())
    embedder = make("gemini", query_seconds=0.05)

    async with asyncio.timeout(8):
        with pytest.raises(EmbeddingTimedOut, match=r"gemini gave no answer within 0\.05 s"):
            await embedder.embed_query("a")

    assert not embedder.state.ok


async def test_the_fallback_answers_and_says_so(make: Make, server: EmbeddingServer) -> None:
    server.enqueue(fails(500))
    found = await make("gemini", "ollama").embed_query("a")

    assert named(found.model) == ("ollama", "nomic-embed-text", 768)


async def test_when_both_fail_both_causes_are_reported(make: Make, server: EmbeddingServer) -> None:
    server.enqueue(fails(401), fails(500))

    with pytest.raises(NoProviderAnswered) as caught:
        await make("gemini", "ollama").embed_query("a")

    assert [type(cause) for cause in caught.value.causes] == [KeyRejected, ServiceFailed]
    assert "gemini answered 400" in str(caught.value)
    assert "; fallback: ollama answered 500" in str(caught.value)


async def test_while_the_breaker_is_open_a_query_goes_to_the_fallback_at_once(
    make: Make, server: EmbeddingServer, time: FakeClock
) -> None:
    embedder = make("gemini", "ollama")
    server.enqueue(limited("60"))
    await embedder.embed_query("a")
    await embedder.embed_query("b")
    assert [asked.provider for asked in server.requests] == ["gemini", "ollama", "ollama"]

    time.seconds += 60
    await embedder.embed_query("c")
    assert server.requests[-1].provider == "gemini"
    assert embedder.state.ok


async def test_queries_share_one_probe(make: Make, server: EmbeddingServer, time: FakeClock) -> None:
    embedder = make("gemini", query_seconds=5)
    server.enqueue(fails(500))
    with pytest.raises(ServiceFailed):
        await embedder.embed_query("a")
    time.seconds += 1
    go_on = asyncio.Event()
    server.enqueue(waits_for(go_on))
    queries = [asyncio.create_task(embedder.embed_query(f"query {number}")) for number in range(5)]
    await server.wait_for_requests(2)
    await asyncio.sleep(0.02)
    assert len(server.requests) == 2
    go_on.set()

    assert len(await asyncio.gather(*queries)) == 5


async def test_a_query_does_not_wait_long_for_the_probe_of_others(
    make: Make, server: EmbeddingServer, time: FakeClock, delivered: Delivered
) -> None:
    embedder = make("gemini", query_seconds=0.05)
    server.enqueue(fails(500), hangs())
    documents = asyncio.create_task(embedder.embed_documents(texts(3), on_done=delivered))
    await server.wait_for_requests(2)

    with pytest.raises(EmbeddingTimedOut):
        await embedder.embed_query("a")

    assert len(server.requests) == 2
    assert "500" in embedder.state.primary.error
    documents.cancel()


async def test_a_query_that_is_refused_is_not_the_providers_fault(
    make: Make, server: EmbeddingServer
) -> None:
    server.refused_texts.add("bad")
    embedder = make("gemini")
    with pytest.raises(RequestRefused):
        await embedder.embed_query("bad")

    assert embedder.state.ok


# The fallback for documents


async def test_documents_go_to_the_fallback_when_the_provider_is_down(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.enqueue(_answers, fails(401))
    embedder = make("gemini", "ollama", requests=1)
    await embedder.embed_documents(texts(30), on_done=delivered)

    assert delivered.done == list(range(30))
    assert [batch.model.provider for batch in delivered.batches] == ["gemini", "ollama", "ollama"]
    assert all(len({len(vector) for vector in batch.vectors.values()}) == 1 for batch in delivered.batches)


async def test_documents_stay_with_the_first_provider_on_request(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.always(fails(401))

    with pytest.raises(KeyRejected):
        await make("gemini", "ollama").embed_documents(texts(3), on_done=delivered, by="primary")

    assert {asked.provider for asked in server.requests} == {"gemini"}


def _only(provider: str, reply: Reply) -> Reply:
    async def answer_or_not(request: web.Request, asked: EmbeddingRequest) -> web.StreamResponse | None:
        return await reply(request, asked) if asked.provider == provider else None

    return answer_or_not


@pytest.mark.parametrize(("query_seconds", "by"), [(5, "anyone"), (5, "primary"), (30, "anyone")])
@pytest.mark.parametrize("trouble", [fails(503), drops(), fails(500), cuts()])
async def test_a_provider_that_is_down_is_skipped_within_ten_seconds(
    make: Make,
    server: EmbeddingServer,
    delivered: Delivered,
    time: FakeClock,
    trouble: Reply,
    query_seconds: float,
    by: ProviderSelection,
) -> None:
    server.always(_only("gemini", trouble))
    embedder = make("gemini", "ollama", jitter=1.0, query_seconds=query_seconds)
    with contextlib.suppress(EmbeddingUnreachable, ServiceFailed):
        await embedder.embed_documents(texts(30), on_done=delivered, by=by)
        assert delivered.done == list(range(30))

    assert {batch.model.provider for batch in delivered.batches} == ({"ollama"} if by == "anyone" else set())
    assert time.seconds <= FALLBACK_AFTER_SECONDS
    assert len([asked for asked in server.requests if asked.provider == "gemini"]) >= 3, (
        "a moment is waited for"
    )


async def test_a_provider_that_fails_after_answering_is_skipped_as_soon(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.enqueue(_answers, _answers)
    server.always(_only("gemini", fails(503)))
    await make("gemini", "ollama", requests=1, query_seconds=5).embed_documents(texts(30), on_done=delivered)

    assert [batch.model.provider for batch in delivered.batches] == ["gemini", "ollama", "ollama"]
    assert time.seconds <= FALLBACK_AFTER_SECONDS


@pytest.mark.thorough
async def test_a_silent_provider_is_skipped_without_waiting_for_a_full_request(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.always(_only("gemini", hangs()))
    async with asyncio.timeout(10):
        await make("gemini", "ollama", query_seconds=0.3).embed_documents(texts(30), on_done=delivered)

    assert {batch.model.provider for batch in delivered.batches} == {"ollama"}


@pytest.mark.thorough
@pytest.mark.parametrize("has_answered", [False, True])
async def test_an_ollama_that_never_answers_is_skipped(
    make: Make, server: EmbeddingServer, delivered: Delivered, has_answered: bool
) -> None:
    """A batch may take minutes on a slow processor, so the server is pinged meanwhile."""
    async with EmbeddingServer() as silent:
        ollama = ProviderOptions(
            "ollama",
            model="nomic-embed-text",
            base_url=silent.base_url("ollama"),
            fixes=error_fixes("ollama"),
        )
        embedder = make(open_ollama(ollama), "gemini", query_seconds=15, silent_seconds=0.5)
        if has_answered:
            await embedder.embed_documents(["a"], on_done=delivered)
            delivered.batches.clear()
        silent.is_silent = True
        async with asyncio.timeout(10):
            await embedder.embed_documents(texts(30), on_done=delivered)
        assert delivered.done == list(range(30))
        assert {batch.model.provider for batch in delivered.batches} == {"gemini"}
        assert embedder.state.primary.error == "ollama does not answer: no response within 0.5 s"
        await embedder.close()


async def test_a_slow_ollama_that_answers_pings_is_waited_for(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    held = asyncio.Event()
    server.always(_only("ollama", waits_for(held)))
    embedder = make("ollama", "gemini", query_seconds=15, silent_seconds=0.1)
    filling = asyncio.create_task(embedder.embed_documents(texts(30), on_done=delivered))
    async with asyncio.timeout(10):
        while server.pings < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert delivered.batches == []
    held.set()
    await filling
    assert {batch.model.provider for batch in delivered.batches} == {"ollama"}


async def test_an_ollama_without_a_fallback_is_not_pinged(
    make: Make, server: EmbeddingServer, delivered: Delivered
) -> None:
    server.delay = 0.1
    await make("ollama", query_seconds=15, silent_seconds=0.05).embed_documents(texts(1), on_done=delivered)
    assert (delivered.done, server.pings) == ([0], 0)


@pytest.mark.thorough
@table_test("trouble", [ModelUnknown, ResponseUnusable, ServiceFailed, KeyRejected])
async def test_any_answer_to_a_ping_counts(trouble: type[EmbeddingError]) -> None:
    async def ping() -> None:
        raise trouble("no such thing")

    assert await wait_while_alive(asyncio.sleep(0.1, "done"), ping, seconds=0.01, name="x") == "done"


async def test_a_server_that_became_unreachable_is_given_up() -> None:
    async def ping() -> None:
        raise EmbeddingUnreachable("gone")

    with pytest.raises(EmbeddingUnreachable):
        await wait_while_alive(asyncio.sleep(60), ping, seconds=0.01, name="x")


async def test_a_slow_provider_does_not_delay_a_query_s_fallback(
    make: Make, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder_module, "FALLBACK_AFTER_SECONDS", 0.3)
    server.always(_only("gemini", hangs()))
    async with asyncio.timeout(10):
        found = await make("gemini", "ollama", query_seconds=30).embed_query("a")

    assert found.model.provider == "ollama"


async def test_a_provider_without_a_fallback_is_waited_for_as_before(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.enqueue(fails(503), fails(503), fails(503), fails(503))
    await make("gemini").embed_documents(texts(3), on_done=delivered)

    assert delivered.done == [0, 1, 2]
    assert time.seconds == 15


# Status


async def test_state_shows_the_error_its_start_and_the_next_try(
    make: Make, server: EmbeddingServer, time: FakeClock
) -> None:
    embedder = make("gemini", "ollama")
    assert embedder.state.primary.ok
    assert (embedder.state.primary.since, embedder.state.primary.next_try) == (None, None)
    time.seconds = 10
    server.enqueue(fails(429, "quota\nexceeded"))
    await embedder.embed_query("a")
    time.seconds = 12

    state = embedder.state.primary
    assert named(state.model) == ("gemini", "gemini-embedding-001", 768)
    assert (state.ok, state.error) == (False, "gemini answered 429 (quota exceeded)")
    assert state.since == START + timedelta(seconds=10)
    assert state.next_try == START + timedelta(seconds=17.5)
    assert embedder.state.fallback
    assert embedder.state.fallback.ok


async def test_an_account_without_credit_is_not_retried_all_the_time(
    make: Make, server: EmbeddingServer, delivered: Delivered, time: FakeClock
) -> None:
    server.always(fails(429, code="insufficient_quota"))
    embedder = make(batch_size=1)
    with pytest.raises(EmbeddingOutOfCredit):
        await embedder.embed_documents(texts(50), on_done=delivered)

    assert len(server.requests) == 4
    assert time.slept == []


async def test_one_failure_and_one_recovery_are_one_line_each_in_the_log(
    make: Make, server: EmbeddingServer, delivered: Delivered, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="memory")
    server.enqueue(fails(500), fails(500), fails(500))
    await make(batch_size=1).embed_documents(texts(10), on_done=delivered)

    assert [record.getMessage() for record in caplog.records if record.name.startswith("memory")] == [
        "embedding: openai answered 500 (something with status 500)",
        "embedding: openai works again",
    ]
