"""Sends quick, free requests to services over HTTP, and notes what their clocks say."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from memory.http_responses import (
    HttpFailure,
    one_line,
    parse_failure,
    parse_fields,
    read_bounded,
    ssl_context_for,
    strip_invisible,
)
from memory.redaction import remove_secrets

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 8.0
MAX_ANSWER_BYTES = 8 << 20
MAX_HEAD_BYTES = 1 << 17
"""Larger answers are lists of models, whose text is never shown and needs no redaction."""


class ProbeFailed(Exception):
    """No answer; the message says why in a few words, and may hold a secret from the URL."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """An answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Secrets to redact from the answer."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def document(self) -> object:
        """The JSON document without secrets; None if the body is not JSON."""
        try:
            found = json.loads(self.body)
            return _redact_document(found, self.secrets) if len(self.body) <= MAX_HEAD_BYTES else found
        except (ValueError, RecursionError):
            return None

    @property
    def fields(self) -> Mapping[str, object]:
        """The JSON object; empty if the body is not one."""
        found = self.document
        return found if isinstance(found, dict) else {}

    @property
    def failure(self) -> HttpFailure:
        """The error as our clients see it."""
        failure = parse_failure(self.status, self.headers, self.body, now=datetime.now(UTC))
        return replace(failure, fields=parse_fields(json.dumps(self.document).encode()))


@dataclass(frozen=True, slots=True)
class ServerClock:
    """The clock of another machine."""

    host: str
    ahead: float
    """Seconds by which our clock is ahead of it."""


class HttpProbe:
    """Sends requests and notes the Date of the answers; an async context manager."""

    def __init__(self, *, seconds: float = ANSWER_SECONDS, secrets: Sequence[str] = ()) -> None:
        """`secrets` are redacted from answers before these are cut short, so that none is cut in two."""
        self.clocks: list[ServerClock] = []
        self._seconds = seconds
        self._secrets = tuple(secrets)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def get(
        self, url: str, headers: Mapping[str, str] | None = None, *, by_proxy: bool = True
    ) -> ProbeAnswer:
        """Send a GET request without following redirects. Raises ProbeFailed.

        `by_proxy`: whether to use the proxy that the environment names, as our clients do.
        """
        host = urlsplit(url).netloc.rpartition("@")[2]
        try:
            client = await self._stack.enter_async_context(
                httpx.AsyncClient(
                    verify=ssl_context_for(url),
                    trust_env=by_proxy,
                    timeout=httpx.Timeout(self._seconds, connect=CONNECT_SECONDS),
                    headers={
                        # httpx would offer every compression that an installed library can read; we read fewer.
                        "Accept-Encoding": "identity",
                        "User-Agent": "commonplace",
                        "Accept": "application/json",
                    },
                )
            )
            async with (
                asyncio.timeout(self._seconds),
                client.stream("GET", url, headers=dict(headers or {})) as response,
            ):
                self._note_clock(host, response.headers.get("date", ""))
                body = await read_bounded(response, MAX_ANSWER_BYTES)
                return ProbeAnswer(response.status_code, response.headers, body, self._secrets)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ProbeFailed(f"{host} did not answer within {self._seconds:g} s") from error
        except httpx.DecodingError as error:
            raise ProbeFailed(f"{host} sent an answer that cannot be read") from error
        except (httpx.HTTPError, httpx.InvalidURL, ExceptionGroup, ValueError, OSError, ImportError) as error:
            # Also for an invalid proxy or certificate file in the environment.
            said = one_line(str(error), secrets=self._secrets) or type(error).__name__
            raise ProbeFailed(f"{host} cannot be reached: {said}") from error

    def _note_clock(self, host: str, date: str) -> None:
        try:
            theirs = parsedate_to_datetime(date)
        except (ValueError, TypeError, OverflowError):
            return
        theirs = theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC)
        self.clocks.append(ServerClock(host, (datetime.now(UTC) - theirs).total_seconds()))


def _redact_document(document: Any, secrets: tuple[str, ...]) -> Any:
    match document:
        case str():
            return remove_secrets(strip_invisible(document), secrets)
        case dict():
            return {key: _redact_document(value, secrets) for key, value in document.items()}
        case list():
            return [_redact_document(value, secrets) for value in document]
    return document
