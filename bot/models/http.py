"""What all HTTP providers share: one POST whose answer streams back within the timeouts, or a typed error."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from bot.models.answer_bounds import is_nested_deeply
from bot.models.answer_deadline import AnswerDeadline
from bot.models.connection_pool import ConnectionPool
from bot.models.dialect import AnswerReader, ChatDialect, ErrorEvent, kind_of_status
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from bot.models.options import ModelOptions
from bot.models.overflow import STATUSES, is_unexplained, overflow_window
from bot.models.protocol import Answer, ModelRequest, TextDelta
from bot.models.sse import MAX_EVENT_BYTES, EventStream, EventTooLarge
from memory.http_responses import (
    HttpFailure,
    explain_bad_key,
    find_error_message,
    iter_decompressed,
    one_line,
    parse_failure,
    parse_fields,
)
from memory.redaction import find_url_password

ANSWER_BYTES = 64 << 20
ERROR_BYTES = 1 << 16
MAX_EVENTS = 1_000_000
"""Maximum events of one answer: many times the tokens that any model writes."""
EVENTS_AT_ONCE = 500
"""Events read before other tasks get their turn."""
DRAIN_SECONDS = 0.2
"""Seconds that a server may take to close a finished answer before its connection is dropped."""
ERROR_SECONDS = 5.0
"""Seconds to wait for the body of an error; its status is already known."""
MAX_ADAPTATIONS = 5
"""Maximum times that one request is repeated in another form."""
_MAY_BE_OVERFLOW = (BadRequest, ContextTooLong, ServerFailed)
"""What an overflow looks like by its status and codes; errors in a stream often have neither."""


class HttpModel:
    """A `LanguageModel` that speaks one dialect."""

    def __init__(
        self,
        dialect: ChatDialect,
        connection: ConnectionPool,
        options: ModelOptions,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._dialect = dialect
        self._connection = connection
        self._limits = options.limits
        self._name = options.name
        self._how_to_get = options.how_to_get
        self._host = urlsplit(options.base_url).netloc.rpartition("@")[2]
        self._secrets = (options.key, find_url_password(options.base_url))
        self._bad_key = explain_bad_key(options.key)
        self._no_key = "" if options.key else f"has no API key: set {options.key_is_set_in}"
        if options.needs_key and not options.key:
            self._bad_key = self._no_key
        self._now = now

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        """Ask, and yield the answer as it comes. Raises ModelError if there is none."""
        if self._bad_key:
            raise self._error(BadKey, self._bad_key)
        clock = AnswerDeadline(self._limits)
        client = self._client()
        try:
            async with self._connection.in_use(client):
                response = await self._ask(client, request, clock)
                async with aclosing(self._read(response, clock)) as events:
                    async for event in events:
                        yield event
        finally:
            clock.stop()

    async def _read(
        self, response: httpx.Response, clock: AnswerDeadline
    ) -> AsyncGenerator[TextDelta | Answer, None]:
        """Yield the answer as it comes, then close the response."""
        reader = self._dialect.reader()
        try:
            self._check_readable(response)
            async with aclosing(iter_decompressed(response)) as pieces:
                if _kind(response) == "application/json":  # in one piece, although streaming was requested
                    body = await self._read_all(pieces, clock, max_bytes=MAX_EVENT_BYTES)
                    if len(body) > MAX_EVENT_BYTES:
                        raise EmptyAnswer(f"sent more than {MAX_EVENT_BYTES >> 20} MB in one piece")
                    clock.record_progress("answering")
                    for fields in _parse_objects(body):
                        text = reader.read_whole(fields)
                        if text:
                            yield TextDelta(text)
                else:
                    stream, events = EventStream(), 0
                    piece: bytes | None = b""
                    while piece is not None and not reader.ended:
                        piece = await self._next_or_end(pieces, clock, reader)
                        for event in stream.end() if piece is None else stream.feed(piece):
                            text = reader.read(event) if piece is not None else _text_of_rest(reader, event)
                            events += 1
                            if events > MAX_EVENTS:
                                raise EmptyAnswer("sent an endless answer")
                            if events % EVENTS_AT_ONCE == 0:  # compressed events arrive by the thousand
                                await asyncio.sleep(0)
                            clock.record_progress(reader.stage)
                            if text:
                                clock.pause()
                                yield TextDelta(text)
                                clock.resume()
                            if reader.ended:
                                await _drain(pieces)
                                break
                answer = reader.answer()
                if not all(isinstance(call.name, str) for call in answer.message.calls):
                    raise TypeError("a tool's name is not text")
                if answer.message.raw and is_nested_deeply(answer.message.raw.content):
                    raise ValueError("nested too deeply")
        except ErrorEvent as refusal:
            raise self._response_error(refusal.failure, in_stream=True) from refusal
        except ModelError as error:
            raise self._error(type(error), error.detail, error.retry_after) from error
        except EventTooLarge as error:
            raise self._error(
                EmptyAnswer, f"sent an event of more than {MAX_EVENT_BYTES >> 20} MB"
            ) from error
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise self._error(EmptyAnswer, "sent an answer that cannot be read") from error
        finally:
            await response.aclose()
        message = replace(answer.message, model=self._name)
        yield replace(answer, message=message, first_token_seconds=clock.first_token)

    def _check_readable(self, response: httpx.Response) -> None:
        if _kind(response) == "text/html":
            raise EmptyAnswer("answered with a web page: check the provider's base_url")

    # -- asking -------------------------------------------------------------------------------------------

    async def _ask(
        self, client: httpx.AsyncClient, request: ModelRequest, clock: AnswerDeadline
    ) -> httpx.Response:
        """Post the request; return the response once its headers report success."""
        for adaption in range(1 + MAX_ADAPTATIONS):
            content, url = self._encode_request(request), self._dialect.url
            response = await self._post(client, content, clock)
            if response.is_success:
                return response
            failure = await self._failure(response, clock)
            if adaption == MAX_ADAPTATIONS or failure.status not in (400, 404, 422):
                break
            # Another call may meanwhile have learnt the same from its own error.
            is_as_before = (self._encode_request(request), self._dialect.url) == (content, url)
            if is_as_before and not self._dialect.adapt(failure):
                break
        raise self._response_error(failure, redirect=response.is_redirect)

    def _encode_request(self, request: ModelRequest) -> bytes:
        return json.dumps(self._dialect.body(request), ensure_ascii=False).encode("utf-8", "replace")

    async def _failure(self, response: httpx.Response, clock: AnswerDeadline) -> HttpFailure:
        body = b""
        try:
            with suppress(ModelError, TimeoutError):  # the status is enough
                async with (
                    asyncio.timeout(ERROR_SECONDS),
                    aclosing(iter_decompressed(response)) as pieces,
                ):
                    body = await self._read_all(pieces, clock, max_bytes=ERROR_BYTES)
        finally:
            clock.stop()
            await response.aclose()
        return parse_failure(response.status_code, response.headers, body, now=self._now())

    def _client(self) -> httpx.AsyncClient:
        try:
            return self._connection.client
        except (ValueError, httpx.InvalidURL, OSError, ImportError) as error:
            raise self._error(Unreachable, f"cannot be called: {error}") from error

    async def _post(self, client: httpx.AsyncClient, content: bytes, clock: AnswerDeadline) -> httpx.Response:
        try:
            request = client.build_request(
                "POST", self._dialect.url, content=content, headers=self._dialect.headers
            )
            return await clock.wait_for(client.send(request, stream=True))
        except (TimeoutError, httpx.HTTPError, RuntimeError) as error:
            raise self._connection_error(error, clock, Unreachable) from error
        except (httpx.InvalidURL, ExceptionGroup) as error:  # a group: for a port out of range
            raise self._error(Unreachable, f"has an invalid URL: {self._host}") from error

    async def _next_or_end(
        self, pieces: AsyncGenerator[bytes, None], clock: AnswerDeadline, reader: AnswerReader
    ) -> bytes | None:
        """Return the next piece; None at the end, also if the connection is lost after a complete answer."""
        try:
            return await self._next(pieces, clock)
        except (CutOff, TimedOut):
            try:
                reader.answer()
            except ModelError:
                pass
            else:
                return None
            raise

    async def _next(self, pieces: AsyncGenerator[bytes, None], clock: AnswerDeadline) -> bytes | None:
        """Return the next piece of the body; None at its end."""
        try:
            piece = await clock.wait_for(anext(pieces, None))
        except (TimeoutError, httpx.HTTPError, httpx.StreamError, RuntimeError) as error:
            raise self._connection_error(error, clock, CutOff) from error
        clock.bytes_read += len(piece or b"")
        if clock.bytes_read > ANSWER_BYTES:
            raise self._error(EmptyAnswer, f"sent more than {ANSWER_BYTES >> 20} MB")
        return piece

    async def _read_all(
        self, pieces: AsyncGenerator[bytes, None], clock: AnswerDeadline, *, max_bytes: int = ANSWER_BYTES
    ) -> bytes:
        body = bytearray()
        while (piece := await self._next(pieces, clock)) is not None and len(body) <= max_bytes:
            body += piece
        return bytes(body)

    # -- errors -------------------------------------------------------------------------------------------

    def _connection_error(
        self, error: Exception, clock: AnswerDeadline, kind: type[ModelError]
    ) -> ModelError:
        """Return the error for a failed connection; `kind` for one that was lost."""
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                words = f"had no free connection to {self._host} within {self._limits.connect:g} s"
                return self._error(TimedOut, words)
            case TimeoutError() | httpx.TimeoutException():
                return self._error(TimedOut, clock.describe())
            case httpx.DecodingError():
                return self._error(EmptyAnswer, "sent an answer with an unsupported compression")
            case httpx.UnsupportedProtocol():
                return self._error(Unreachable, f"has an invalid URL: {error}")
        lost = (
            "stopped in the middle of its answer" if kind is CutOff else f"cannot be reached at {self._host}"
        )
        return self._error(kind, f"{lost}: {str(error) or type(error).__name__}")

    def _response_error(
        self, failure: HttpFailure, *, redirect: bool = False, in_stream: bool = False
    ) -> ModelError:
        kind = self._dialect.kind_of(failure) or kind_of_status(failure.status)
        window = _window_of(failure)
        # Many servers report an overflow only in a sentence; no other sentence is interpreted.
        counts = in_stream or failure.status in STATUSES
        if window is None and counts and issubclass(kind, _MAY_BE_OVERFLOW):
            named = overflow_window(failure)
            if named is not None:
                kind, window = ContextTooLong, named or None
        if kind is BadKey:  # their message repeats parts of the key
            reason = self._no_key or "check the provider's api_key"
        elif redirect:
            reason = "redirects elsewhere: check the provider's base_url"
        elif failure.status == 404 and not failure.fields:
            reason = f"there is nothing at {urlsplit(self._dialect.url).path}: check the provider's base_url"
        else:
            reason = find_error_message(failure.fields)
        words = f"answered {failure.status}" + (f" ({reason})" if reason else "")
        fix = self._how_to_get if kind is ModelNotFound and failure.fields else ""
        error = self._error(kind, words, failure.retry_after, fix=fix)
        if isinstance(error, ContextTooLong):
            error.window = window
        if isinstance(error, BadRequest):
            error.unexplained = counts and is_unexplained(failure)
        return error

    def _error(
        self, kind: type[ModelError], words: str, retry_after: float | None = None, *, fix: str = ""
    ) -> ModelError:
        told = one_line(words, secrets=self._secrets) + (f": {fix}" if fix else "")
        error = kind(told, model=self._name, retry_after=retry_after)
        error.fix = fix
        return error


def _window_of(failure: HttpFailure) -> int | None:
    """Return the window in tokens if an error states it as a number, as llama.cpp's server does."""
    match failure.fields.get("error"):
        case {"n_ctx": int(tokens)} if tokens > 0:
            return tokens
    return None


def _text_of_rest(reader: AnswerReader, event: bytes) -> str:
    """Return the text of an event left without its end. `answer` reports an answer that is cut off."""
    try:
        return reader.read(event)
    except ValueError:
        return ""


def _kind(response: httpx.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _parse_objects(body: bytes) -> list[Mapping[str, Any]]:
    """Parse an answer that came whole: one object, or Gemini's list if `alt=sse` was lost on the way."""
    if not body.lstrip().startswith(b"["):
        return [parse_fields(body)]
    try:
        return [found for found in json.loads(body) if isinstance(found, dict)]
    except (ValueError, RecursionError):
        return []


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read the rest, which is only the end marker, so that the connection can be reused."""
    with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass
