"""What can go wrong on the way to any service."""

import asyncio
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingTimedOut,
    EmbeddingUnreachable,
    KeyRejected,
    LimitReached,
    ModelUnknown,
    RequestRefused,
    RequestTooLarge,
    ResponseUnusable,
    ServiceFailed,
)
from memory.embeddings.http import HttpProvider
from memory.embeddings.openai import OpenAIEmbeddingDialect
from memory.http_responses import MESSAGE_CHARS, one_line, parse_retry_after
from tests.fakes.embedding_server import (
    KEY,
    EmbeddingServer,
    Reply,
    cuts,
    drips,
    drops,
    fails,
    floods,
    hangs,
    limited,
    not_a_number,
    proxy_error,
    redirect,
    says,
    too_few,
    wrong_dimensions,
    zeros,
)
from tests.fakes.table_test import table_test

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def open_provider(base_url: str, *, seconds: float = 10.0, key: str = KEY) -> HttpProvider:
    dialect = OpenAIEmbeddingDialect("openai", base_url, "text-embedding-3-small", key, 0, {})
    return HttpProvider(dialect, dimensions=1536, key=key, seconds=seconds, now=lambda: NOW)


@pytest.fixture
async def provider(server: EmbeddingServer) -> AsyncIterator[HttpProvider]:
    opened = open_provider(server.base_url("openai"))
    yield opened
    await opened.close()


async def failure_of(provider: HttpProvider) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        await provider.embed(["a", "b"], purpose="document")
    return caught.value


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (fails(400, "no"), RequestRefused, "openai answered 400 (no)"),
        (fails(401, "no"), KeyRejected, "openai answered 401"),
        (fails(403, "no"), KeyRejected, "openai answered 403"),
        (fails(404, "no"), ModelUnknown, "openai answered 404 (no)"),
        (fails(408), EmbeddingTimedOut, "openai answered 408"),
        (fails(413), RequestTooLarge, "openai answered 413"),
        (fails(422), RequestRefused, "openai answered 422"),
        (fails(429), LimitReached, "openai answered 429"),
        (fails(431), RequestTooLarge, "openai answered 431"),
        (fails(500), ServiceFailed, "openai answered 500"),
        (fails(529), ServiceFailed, "openai answered 529"),
        (proxy_error(503), ServiceFailed, "openai answered 503"),
        (proxy_error(521), ServiceFailed, "openai answered 521"),
        (
            redirect("http://127.0.0.1:9/"),
            RequestRefused,
            "redirects elsewhere: check memory.embedding.base_url",
        ),
        (cuts(), EmbeddingUnreachable, "openai cannot be reached at 127.0.0.1:"),
        (drops(), EmbeddingUnreachable, "openai cannot be reached at 127.0.0.1:"),
        (says("<html>"), ResponseUnusable, "openai sent something that is not JSON"),
        (says(b"\xff\xfe\x00"), ResponseUnusable, "openai sent something that is not JSON"),
        (says("[" * 20_000), ResponseUnusable, "openai sent something that is not JSON"),
        (
            says("[" + "[]," * 300_000 + "[]]"),
            ResponseUnusable,
            "openai sent more values than the vectors can have",
        ),
        (wrong_dimensions(7), ResponseUnusable, "openai sent vectors of 7 numbers instead of 1536"),
        (too_few(), ResponseUnusable, "openai sent 1 vectors for 2 texts"),
        (not_a_number(), ResponseUnusable, "openai sent a vector with NaN"),
        (not_a_number(float("inf")), ResponseUnusable, "openai sent a vector with NaN or infinity"),
        (zeros(), ResponseUnusable, "openai sent a vector of zeros"),
        (floods(), ResponseUnusable, "openai sent more than 1 MB"),
    ],
)
async def test_each_failure_has_its_type(
    reply: Reply, kind: type[EmbeddingError], words: str, server: EmbeddingServer, provider: HttpProvider
) -> None:
    server.always(reply)

    error = await failure_of(provider)

    assert type(error) is kind
    assert words in str(error)
    server.always(None)
    assert len(await provider.embed(["a"], purpose="query")) == 1  # and the next request works


async def test_a_missing_server_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        provider = open_provider(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        assert type(await failure_of(provider)) is EmbeddingUnreachable
    await provider.close()


async def test_a_host_that_does_not_exist_is_unreachable() -> None:
    provider = open_provider("http://nowhere.invalid/v1")

    assert "cannot be reached at nowhere.invalid" in str(await failure_of(provider))
    await provider.close()


async def test_tls_to_a_plain_server_is_unreachable(server: EmbeddingServer) -> None:
    provider = open_provider(server.base_url("openai").replace("http", "https"))

    assert type(await failure_of(provider)) is EmbeddingUnreachable
    await provider.close()


async def test_a_silent_server_times_out(server: EmbeddingServer) -> None:
    server.always(hangs())
    provider = open_provider(server.base_url("openai"), seconds=0.1)

    error = await failure_of(provider)

    assert (type(error), str(error)) == (EmbeddingTimedOut, "openai gave no answer within 0.1 s")
    await provider.close()


async def test_a_slowly_dripping_response_times_out(server: EmbeddingServer) -> None:
    server.always(drips(0.02))
    provider = open_provider(server.base_url("openai"), seconds=0.2)

    assert type(await failure_of(provider)) is EmbeddingTimedOut
    await provider.close()


async def test_cancelling_ends_a_request(server: EmbeddingServer, provider: HttpProvider) -> None:
    server.always(hangs())
    task = asyncio.create_task(provider.embed(["a"], purpose="query"))
    await server.wait_for_requests()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("20", 20),
        ("1.5", 1.5),
        ("Sat, 21 Nov 2026 09:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 08:00:00 GMT", 0),
        ("-5", 0),
        ("1e99", 86_400),
        ("nan", 86_400),
        ("soon", None),
        ("", None),
    ],
)
async def test_retry_after_in_seconds_and_as_a_date(
    value: str, seconds: float | None, server: EmbeddingServer, provider: HttpProvider
) -> None:
    server.always(limited(value))

    error = await failure_of(provider)

    assert isinstance(error, LimitReached)
    assert error.retry_after == seconds


def test_retry_after_in_milliseconds() -> None:
    assert parse_retry_after({"retry-after-ms": "250", "retry-after": "1"}, now=NOW) == 0.25


async def test_an_overloaded_service_may_send_a_retry_delay(
    server: EmbeddingServer, provider: HttpProvider
) -> None:
    server.always(fails(503, headers={"Retry-After": "3"}))

    error = await failure_of(provider)

    assert isinstance(error, ServiceFailed)
    assert error.retry_after == 3


async def test_no_error_shows_the_key(server: EmbeddingServer, provider: HttpProvider) -> None:
    for status in (400, 404, 429, 500):
        server.always(fails(status, f"bad request with {KEY}\nAuthorization: Bearer {KEY}"))
        error = await failure_of(provider)
        assert KEY not in str(error)
        assert "\n" not in str(error)


async def test_a_password_in_the_address_is_not_shown(server: EmbeddingServer) -> None:
    provider = open_provider("http://user:secret-word@127.0.0.1:9/v1")

    assert "secret-word" not in str(await failure_of(provider))
    await provider.close()


@table_test(
    ("text", "line"),
    [
        ("one\n\ttwo\x00 three", "one two three"),
        ("key sk-proj-abc*****4567 is wrong", "key *** is wrong"),
        ("https://host/path?key=AIzaSyD-1234567890&x=1", "https://host/path?***&x=1"),
        ("Bearer abcdef", "***"),
        ("parameters of a page pack", "parameters of a page pack"),
        ("my secret word", "my *** word"),
    ],
)
def test_foreign_messages_are_made_safe_to_show(text: str, line: str) -> None:
    assert one_line(text, secrets=("secret", "")) == line


def test_foreign_messages_are_shortened() -> None:
    assert len(one_line("word " * 1000)) == MESSAGE_CHARS


async def test_lone_surrogates_do_not_break_a_request(
    server: EmbeddingServer, provider: HttpProvider
) -> None:
    await provider.embed(["half \ud83d a face"], purpose="document")

    assert server.requests[0].texts == ("half ? a face",)
