"""What all HTTP services share: one POST, limited in time and size, and failures as typed errors."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingOutOfCredit,
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
from memory.embeddings.protocol import Purpose, Vector
from memory.embeddings.unit_vectors import BYTES_PER_NUMBER, to_unit_vectors
from memory.http_responses import (
    HttpFailure,
    explain_bad_key,
    find_error_message,
    one_line,
    parse_failure,
    read_bounded,
    ssl_context_for,
)
from memory.redaction import find_url_password
from memory.translatable import Translatable

CONNECT_SECONDS = 6.0
CONNECTIONS = 8
RESPONSE_BYTES = 1 << 20
RESPONSE_BYTES_PER_TEXT = 1 << 18  # 8,192 numbers as text
ERROR_BYTES = 1 << 16
VALUES_PER_TEXT = 1 << 14
"""Maximum JSON values per text: twice the longest known vectors.

A body of nothing but brackets takes twenty times as long to parse as one of numbers, and blocks the event
loop.
"""

_STATUS: Mapping[int, type[EmbeddingError]] = {
    401: KeyRejected,
    402: EmbeddingOutOfCredit,
    403: KeyRejected,
    404: ModelUnknown,
    408: EmbeddingTimedOut,
    413: RequestTooLarge,
    429: LimitReached,
    431: RequestTooLarge,
}


class EmbeddingDialect(Protocol):
    """A service's API: URL, request, response and errors."""

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        ...

    @property
    def model(self) -> str:
        """The service's own name of the model."""
        ...

    @property
    def url(self) -> str:
        """The URL that texts are posted to."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of each request. The key belongs here, never in the URL."""
        ...

    @property
    def offers_base64(self) -> bool:
        """Return whether the service can send vectors as base64, which saves nine tenths of the CPU time."""
        ...

    @property
    def fixes(self) -> Mapping[type[EmbeddingError], str]:
        """What a person can do about an error, if the service has its own way."""
        ...

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """Return the request's JSON body."""
        ...

    def items(self, answer: object) -> Sequence[object]:
        """Return the vectors in the order of the texts. May raise LookupError or TypeError."""
        ...

    def kind_of(self, failure: HttpFailure) -> type[EmbeddingError] | None:
        """Return the error for the service's own error code; None to go by the HTTP status."""
        ...


class HttpProvider:
    """An `EmbeddingProvider` for one dialect; remembers whether the server supports base64."""

    def __init__(
        self,
        dialect: EmbeddingDialect,
        *,
        dimensions: int,
        key: str,
        version: str | None = "",
        needs_key: bool = False,
        seconds: float = 60.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        address = urlsplit(dialect.url)
        self._dialect = dialect
        self._dimensions = dimensions
        self._version = version
        self._host = address.netloc.rpartition("@")[2]
        self._secrets = (key, find_url_password(dialect.url))
        self._bad_key = explain_bad_key(key) or (
            Translatable("has no API key") if needs_key and not key else ""
        )
        self._seconds = seconds
        self._now = now
        self._base64: bool | None = None if dialect.offers_base64 else False
        self._closed = False
        self._requests: set[asyncio.Task[bytes]] = set()
        self._client = httpx.AsyncClient(
            verify=ssl_context_for(dialect.url),
            headers={
                # Compression pays for text; for packed floats it costs more CPU than it saves.
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "User-Agent": "commonplace",
                **({} if self._bad_key else dialect.headers),
            },
            timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds), pool=None),
            limits=httpx.Limits(max_connections=CONNECTIONS),
        )

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return self._dialect.provider

    @property
    def model(self) -> str:
        """The service's own name of the model."""
        return self._dialect.model

    @property
    def version(self) -> str | None:
        """What its vectors depend on besides the model's name."""
        return self._version

    @property
    def dimensions(self) -> int:
        """Length of its vectors; 0 while it is unknown."""
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Embed all texts by one request, or by two while it is unknown whether the server supports base64.

        Raises `EmbeddingError`.
        """
        if self._bad_key:
            raise self._make_error(KeyRejected, self._bad_key)
        if self._base64 is not None:
            return await self._request_vectors(texts, purpose, base64=self._base64)
        try:
            vectors = await self._request_vectors(texts, purpose, base64=True)
            self._base64 = True
        except (RequestRefused, ResponseUnusable):
            vectors = await self._request_vectors(texts, purpose, base64=False)
            self._base64 = False
        return vectors

    async def close(self) -> None:
        """Close the connections; pending requests raise an error."""
        self._closed = True
        # First, since the client would leave a connection open that is just being made.
        for request in self._requests:
            request.cancel()
        if self._requests:
            await asyncio.wait(self._requests)
        await self._client.aclose()

    async def _request_vectors(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> list[Vector]:
        request = self._dialect.body(texts, purpose, base64=base64)
        content = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        most_bytes = RESPONSE_BYTES + len(texts) * RESPONSE_BYTES_PER_TEXT
        most_values = (1 + len(texts)) * VALUES_PER_TEXT
        answer = await self._request_json(
            "POST", self._dialect.url, content, max_bytes=most_bytes, max_values=most_values
        )
        try:
            items = self._dialect.items(answer)
        except (LookupError, TypeError, AttributeError) as error:
            raise self._make_error(
                ResponseUnusable, Translatable("sent JSON without vectors in it")
            ) from error
        try:
            vectors = to_unit_vectors(items, count=len(texts), dimensions=self._dimensions)
        except ResponseUnusable as error:
            raise self._make_error(ResponseUnusable, Translatable("sent {what}", what=error)) from error
        self._dimensions = len(vectors[0]) // BYTES_PER_NUMBER
        return vectors

    async def _get_json(self, url: str) -> object:
        """Return the JSON at another URL of the server. Raises `EmbeddingError`."""
        return await self._request_json("GET", url, b"", max_bytes=RESPONSE_BYTES)

    async def _request_json(
        self, method: str, url: str, content: bytes, *, max_bytes: int, max_values: int = 1 << 17
    ) -> object:
        if self._closed:
            raise self._make_error(EmbeddingUnreachable, Translatable("was closed"))
        request = asyncio.create_task(self._request_bytes(method, url, content, max_bytes))
        self._requests.add(request)
        try:
            body = await request
        except asyncio.CancelledError as error:
            me = asyncio.current_task()
            if not self._closed or (me and me.cancelling()):
                raise
            raise self._make_error(EmbeddingUnreachable, Translatable("was closed")) from error
        finally:
            self._requests.discard(request)
        if len(body) > max_bytes:
            raise self._make_error(
                ResponseUnusable, Translatable("sent more than {most} MB", most=max_bytes >> 20)
            )
        if sum(map(body.count, (b",", b"[", b"{"))) > max_values:
            raise self._make_error(
                ResponseUnusable, Translatable("sent more values than the vectors can have")
            )
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._make_error(
                ResponseUnusable, Translatable("sent something that is not JSON")
            ) from error

    async def _request_bytes(self, method: str, url: str, content: bytes, max_bytes: int) -> bytes:
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._client.stream(method, url, content=content) as response,
            ):
                if not response.is_success:
                    raise self._make_refusal(response, await read_bounded(response, ERROR_BYTES))
                return await read_bounded(response, max_bytes)
        except httpx.DecodingError as error:
            raise self._make_error(
                ResponseUnusable, Translatable("sent an answer with an unsupported compression")
            ) from error
        except (httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise self._make_error(
                EmbeddingUnreachable,
                Translatable("cannot be reached at {host}: no connection in time", host=self._host),
            ) from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise self._make_error(
                EmbeddingTimedOut, Translatable("gave no answer within {seconds:g} s", seconds=self._seconds)
            ) from error
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise self._make_error(
                EmbeddingUnreachable,
                Translatable(
                    "cannot be reached at {host}: {error}",
                    host=self._host,
                    error=self._one_line(str(error) or type(error).__name__),
                ),
            ) from error

    def _make_refusal(self, response: httpx.Response, body: bytes) -> EmbeddingError:
        failure = parse_failure(response.status_code, response.headers, body, now=self._now())
        kind = self._dialect.kind_of(failure) or error_for_status(failure.status)
        if kind is KeyRejected:  # the service's message repeats parts of the key
            said = ""
        elif response.is_redirect:
            said = Translatable("redirects elsewhere: check memory.embedding.base_url")
        else:
            said = self._one_line(find_error_message(failure.fields))
        if said:
            words = Translatable("answered {status} ({said})", status=failure.status, said=said)
        else:
            words = Translatable("answered {status}", status=failure.status)
        if kind is ModelUnknown and not failure.fields:  # the URL is wrong, not the model
            return ModelUnknown(
                "{provider} {failure}: there is nothing at {path}: check memory.embedding.base_url",
                provider=self.provider,
                failure=words,
                path=self._one_line(response.url.path),
            )
        return self._make_error(kind, words, retry_after=failure.retry_after)

    def _one_line(self, foreign: str) -> str:
        return one_line(foreign, secrets=self._secrets)

    def _make_error(
        self,
        kind: type[EmbeddingError],
        words: str,
        *,
        retry_after: float | None = None,
    ) -> EmbeddingError:
        fix = self._dialect.fixes.get(kind, "")
        text = Translatable("{provider} {failure}", provider=self.provider, failure=words)
        if fix:
            text = Translatable("{problem}: {fix}", problem=text, fix=fix)
        if issubclass(kind, LimitReached | ServiceFailed):
            return kind(text, retry_after=retry_after)
        return kind(text)


def error_for_status(status: int) -> type[EmbeddingError]:
    """Return the error for an HTTP status alone."""
    return _STATUS.get(status) or (ServiceFailed if status >= 500 else RequestRefused)
