"""What all providers over HTTP have in common: one POST whose answer streams back, in time, or a typed error."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit

import httpx

from bot.models.errors import (
    BadKey,
    BadRequest,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from bot.models.limits import Limits
from bot.models.options import ModelOptions
from bot.models.protocol import Answer, ModelRequest, TextDelta
from bot.models.sse import MOST_BYTES, EventStream, EventTooLarge
from memory.http_answers import (
    Failure,
    certificates,
    failure_of,
    fields_of,
    message_of,
    one_line,
    what_is_wrong_with,
)
from memory.redaction import secret_of_address

ANSWER_BYTES = 64 << 20
ERROR_BYTES = 1 << 16
CONNECTIONS = 64
DRAIN_SECONDS = 0.2
"""How long a server that has said all may take to end its answer; longer costs its connection."""

_STATUS: Mapping[int, type[ModelError]] = {
    401: BadKey,
    402: OutOfCredit,
    403: BadKey,
    404: ModelNotFound,
    408: TimedOut,
    413: ContextTooLong,
    429: RateLimited,
    499: ServerFailed,
    529: Overloaded,
}

Stage = Literal["waiting", "thinking", "answering"]


class Refusal(Exception):
    """An error that came as an event, in the middle of an answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.status)
        self.failure = failure


class Reader(Protocol):
    """Puts one answer together. May raise `Refusal`, `ModelError`, and LookupError, TypeError, ValueError at will."""

    @property
    def stage(self) -> Stage:
        """`thinking` after the first token of any kind, `answering` after the first of text or of a call."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the provider has said that nothing more comes; what follows is not read."""
        ...

    def read(self, event: bytes) -> str:
        """Take in the data of one event; give the text in it that is to be shown."""
        ...

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        """Take in an answer that came in one piece, from a server that does not stream."""
        ...

    def answer(self) -> Answer:
        """Give all of it; raise CutOff where the provider has not said that it is whole, EmptyAnswer for nothing."""
        ...


class Dialect(Protocol):
    """What is a provider's own: where it is asked, how, and what its answers and errors look like."""

    @property
    def url(self) -> str:
        """Where requests are posted to."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What goes with each request; the key is here, never in the URL."""
        ...

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        """The request as the provider takes it."""
        ...

    def reader(self) -> Reader:
        """Begin to read an answer."""
        ...

    def kind_of(self, failure: Failure) -> type[ModelError] | None:
        """What the provider's own error type or code means; None leaves it to the status."""
        ...

    def adapt(self, failure: Failure) -> bool:
        """Learn from a refusal: whether the same request is worth asking again in another form, now and in future."""
        ...


class Connection:
    """The connections to one provider, which all its models and keys share; made when first needed."""

    def __init__(self, base_url: str, *, connect_seconds: float) -> None:
        self._base_url = base_url
        self._connect_seconds = connect_seconds
        self._client: httpx.AsyncClient | None = None
        self._closed = False

    @property
    def client(self) -> httpx.AsyncClient:
        """What asks.

        Raises ValueError, httpx.InvalidURL, OSError or ImportError where the environment has a proxy or certificates
        of no use, and ValueError once it is closed.
        """
        if self._closed:
            raise ValueError("the connection was closed")
        if self._client is None:
            self._client = httpx.AsyncClient(
                verify=certificates(self._base_url),
                http2=self._base_url.lower().startswith("https:"),
                headers={
                    # An answer comes in small pieces, each at once: packing would only hold them back.
                    "Accept-Encoding": "identity",
                    "Content-Type": "application/json",
                    "User-Agent": "commonplace",
                },
                # All but the connecting is watched by `Limits`, whatever it is that hangs.
                timeout=httpx.Timeout(None, connect=self._connect_seconds),
                limits=httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=60.0),
            )
        return self._client

    async def close(self) -> None:
        """Close what is open; who still waits for an answer is told so."""
        self._closed = True
        if self._client is not None:
            await self._client.aclose()


class HttpModel:
    """A `LanguageModel` that speaks one dialect."""

    def __init__(
        self,
        dialect: Dialect,
        connection: Connection,
        options: ModelOptions,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._dialect = dialect
        self._connection = connection
        self._limits = options.limits
        self._name = options.name
        self._host = urlsplit(options.base_url).netloc.rpartition("@")[2]
        self._secrets = (options.key, secret_of_address(options.base_url))
        self._bad_key = what_is_wrong_with(options.key) or (
            "has no key" if options.needs_key and not options.key else ""
        )
        self._now = now

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        """Ask, and give the answer as it comes; raise ModelError where there is none."""
        if self._bad_key:
            raise self._error(BadKey, self._bad_key)
        clock = Clock(self._limits)
        response = await self._ask(request, clock)
        reader = self._dialect.reader()
        try:
            async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as pieces:
                if _is_whole(response):
                    body = await self._whole(pieces, clock)
                    clock.saw("answering")
                    for fields in _objects_of(body):
                        text = reader.read_whole(fields)
                        if text:
                            yield TextDelta(text)
                else:
                    stream = EventStream()
                    more = True
                    while more and not reader.ended:
                        piece = await self._next(pieces, clock)
                        more = piece is not None
                        for event in stream.end() if piece is None else stream.feed(piece):
                            text = reader.read(event)
                            clock.saw(reader.stage)
                            if text:
                                with clock.stopped():
                                    yield TextDelta(text)
                            if reader.ended:
                                break
                    if more:
                        await _drain(pieces)
                answer = reader.answer()
        except Refusal as refusal:
            raise self._refused(refusal.failure) from refusal
        except ModelError as error:
            raise self._error(type(error), error.detail) from error
        except EventTooLarge as error:
            raise self._error(EmptyAnswer, f"sent an event of more than {MOST_BYTES >> 20} MB") from error
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise self._error(EmptyAnswer, "sent an answer that cannot be read") from error
        finally:
            await response.aclose()
        message = replace(answer.message, model=self._name)
        yield replace(answer, message=message, first_token_seconds=clock.first_token)

    # -- asking -------------------------------------------------------------------------------------------

    async def _ask(self, request: ModelRequest, clock: "Clock") -> httpx.Response:
        """Post the request; give the response once its head is there and says that all is well."""
        while True:
            response = await self._post(request, clock)
            if response.is_success:
                return response
            try:
                async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as pieces:
                    body = await self._whole(pieces, clock, most_bytes=ERROR_BYTES)
            except ModelError:  # the status says enough
                body = b""
            finally:
                await response.aclose()
            failure = failure_of(response.status_code, response.headers, body, now=self._now())
            if not self._dialect.adapt(failure):
                raise self._refused(failure, redirect=response.is_redirect)

    async def _post(self, request: ModelRequest, clock: "Clock") -> httpx.Response:
        content = json.dumps(self._dialect.body(request), ensure_ascii=False).encode("utf-8", "replace")
        try:
            client = self._connection.client
        except (ValueError, httpx.InvalidURL, OSError, ImportError) as error:
            raise self._error(Unreachable, f"cannot be asked: {error}") from error
        try:
            async with asyncio.timeout_at(clock.deadline()):
                return await client.send(
                    client.build_request(
                        "POST", self._dialect.url, content=content, headers=self._dialect.headers
                    ),
                    stream=True,
                )
        except (TimeoutError, httpx.HTTPError, RuntimeError) as error:
            raise self._broken(error, clock, Unreachable) from error
        except (httpx.InvalidURL, ExceptionGroup) as error:  # a group: of a port beyond all ports
            raise self._error(Unreachable, f"has an address that is none: {self._host}") from error

    async def _next(self, pieces: AsyncGenerator[bytes, None], clock: "Clock") -> bytes | None:
        """The next piece of the body; None at its end."""
        try:
            async with asyncio.timeout_at(clock.deadline()):
                piece = await anext(pieces, None)
        except (TimeoutError, httpx.HTTPError, httpx.StreamError, RuntimeError) as error:
            raise self._broken(error, clock, CutOff) from error
        clock.bytes_read += len(piece or b"")
        if clock.bytes_read > ANSWER_BYTES:
            raise self._error(EmptyAnswer, f"sent more than {ANSWER_BYTES >> 20} MB")
        return piece

    async def _whole(
        self, pieces: AsyncGenerator[bytes, None], clock: "Clock", *, most_bytes: int = ANSWER_BYTES
    ) -> bytes:
        body = bytearray()
        while (piece := await self._next(pieces, clock)) is not None and len(body) <= most_bytes:
            body += piece
        return bytes(body)

    # -- errors -------------------------------------------------------------------------------------------

    def _broken(self, error: Exception, clock: "Clock", kind: type[ModelError]) -> ModelError:
        """What the connection did, as a type; `kind` for one that is lost."""
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                words = f"had no connection for us at {self._host} within {self._limits.connect:g} s"
                return self._error(TimedOut, words)
            case TimeoutError() | httpx.TimeoutException():
                return self._error(TimedOut, clock.in_words())
            case httpx.DecodingError():
                return self._error(EmptyAnswer, "sent an answer packed in a way that cannot be read")
            case httpx.UnsupportedProtocol():
                return self._error(Unreachable, f"has an address that is none: {error}")
        lost = (
            "broke off in the middle of its answer"
            if kind is CutOff
            else f"cannot be reached at {self._host}"
        )
        return self._error(kind, f"{lost}: {error or type(error).__name__}")

    def _refused(self, failure: Failure, *, redirect: bool = False) -> ModelError:
        kind = self._dialect.kind_of(failure) or kind_of_status(failure.status)
        if kind is BadKey:  # what they say repeats parts of the key
            said = ""
        elif redirect:
            said = "sent us elsewhere: check the provider's base_url"
        else:
            said = message_of(failure.fields)
        words = f"answered {failure.status}" + (f" ({said})" if said else "")
        return self._error(kind, words, retry_after=failure.retry_after)

    def _error(self, kind: type[ModelError], words: str, *, retry_after: float | None = None) -> ModelError:
        return kind(one_line(words, secrets=self._secrets), model=self._name, retry_after=retry_after)


class Clock:
    """How long the call in hand may still take."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()
        self._last = self._start
        self._stage: Stage = "waiting"
        self.first_token = 0.0
        """Seconds from the start; 0 while there is none."""
        self.bytes_read = 0

    def saw(self, stage: Stage) -> None:
        """Something came; the answer is at this stage now."""
        if stage == "waiting":  # a ping is no sign of an answer
            return
        self._last = self._loop.time()
        self.first_token = self.first_token or self._last - self._start
        self._stage = stage

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While whoever reads the answer takes their time: that is not the model's."""
        stopped = self._loop.time()
        try:
            yield
        finally:
            away = self._loop.time() - stopped
            self._start += away
            self._last += away

    def deadline(self) -> float:
        """Until when something more has to come, on the loop's clock."""
        limits = self._limits
        if self._stage == "waiting":
            return self._start + min(limits.first_token, limits.begin)
        whole = limits.begin if self._stage == "thinking" else limits.total
        return min(self._last + limits.idle, self._start + whole)

    def in_words(self) -> str:
        """What to say when the deadline has passed."""
        limits = self._limits
        if self._stage == "waiting":
            return f"gave no sign of an answer within {min(limits.first_token, limits.begin):g} s"
        whole = limits.begin if self._stage == "thinking" else limits.total
        if self._last + limits.idle <= self._start + whole:
            return f"fell silent for {limits.idle:g} s in the middle of its answer"
        if self._stage == "thinking":
            return f"had not begun its answer after {limits.begin:g} s"
        return f"had not ended its answer after {limits.total:g} s"


def kind_of_status(status: int) -> type[ModelError]:
    """What an HTTP status alone says."""
    return _STATUS.get(status) or (ServerFailed if status >= 500 else BadRequest)


def _is_whole(response: httpx.Response) -> bool:
    """Whether the server has put its answer in one piece though it was asked to stream."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "application/json"


def _objects_of(body: bytes) -> list[Mapping[str, Any]]:
    """An answer that came whole: one object, or a list of Gemini's where its `alt=sse` was lost on the way."""
    if not body.lstrip().startswith(b"["):
        return [fields_of(body)]
    try:
        return [found for found in json.loads(body) if isinstance(found, dict)]
    except (ValueError, RecursionError):
        return []


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read what is left, which is nothing but the end: so the connection can serve the next call."""
    with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass
