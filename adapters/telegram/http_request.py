"""The library's calls to the Bot API by aiohttp, which the service uses anyway and is cheaper than httpx."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import ceil
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from telegram.error import BadRequest, NetworkError, RetryAfter, TimedOut
from telegram.request import BaseRequest, RequestData
from yarl import URL

from adapters.response_body import BodyTooLarge, read_body
from bot.messages import WriteChunk
from memory.http_responses import parse_retry_after, ssl_context_for

CONNECT_SECONDS = 10.0
READ_SECONDS = 20.0
FILE_PIECE_BYTES = 1 << 18
MAX_JSON_BYTES = 2 << 20
"""Maximum bytes of a JSON answer: several times the longest message, and few enough to parse without delaying others.
The poller asks for fewer updates if there are more."""
KEEP_SECONDS = 60.0
"""Seconds that an unused connection stays open."""


class AnswerTooLarge(NetworkError):
    """An answer exceeds the size limit; `beginning` has its first bytes."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(f"answered with more than {MAX_JSON_BYTES >> 20} MB")
        self.beginning = beginning


class AiohttpRequest(BaseRequest):
    """A connection pool for polling or for all other calls, opened by the first call.

    It only limits connecting and the silence between two chunks; callers limit the whole call.
    """

    def __init__(self, base: str, *, connections: int, is_ours: Callable[[], bool] = lambda: True) -> None:
        """`base`: address of the Bot API; `connections`: maximum concurrent calls.

        `is_ours` returns whether this process holds the bot; otherwise no requests are sent.
        """
        self._is_ours = is_ours
        self._base = base
        self._proxy = find_proxy(base)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @property
    def read_timeout(self) -> float:
        """Maximum seconds of silence."""
        return READ_SECONDS

    async def initialize(self) -> None:
        """Do nothing."""

    async def shutdown(self) -> None:
        """Close all connections for good."""
        self._closed = True
        if self._session:
            await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = BaseRequest.DEFAULT_NONE,
        write_timeout: object = BaseRequest.DEFAULT_NONE,
        connect_timeout: object = BaseRequest.DEFAULT_NONE,
        pool_timeout: object = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """Return status and body. Raises NetworkError, including TimedOut; error texts never contain the token."""
        del write_timeout, connect_timeout, pool_timeout  # never set by our calls
        silence = read_timeout if isinstance(read_timeout, int | float) else READ_SECONDS
        with _translate_errors():
            async with self._open_session().request(
                method,
                url,
                data=_make_body(request_data) if request_data else None,
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=silence),
                proxy=self._proxy,
                allow_redirects=False,  # the URL contains the token
            ) as answer:
                return answer.status, await read_body(answer, limit=MAX_JSON_BYTES)

    async def download(self, url: str, write: WriteChunk) -> None:
        """Pass on a file in chunks.

        Raises BadRequest if it is gone, RetryAfter, NetworkError, and what `write` raises.
        """
        parts = urlsplit(url)
        with _translate_errors():
            async with self._open_session().get(
                URL(parts._replace(path=quote(parts.path, safe="/:")).geturl(), encoded=True),
                headers={"Accept-Encoding": "identity"},  # a compressed chunk could grow a thousandfold
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
                proxy=self._proxy,
                allow_redirects=False,
            ) as answer:
                if answer.status == 200:
                    async for piece in answer.content.iter_chunked(FILE_PIECE_BYTES):
                        await write(piece)
                elif answer.status == 429:
                    wait = parse_retry_after(answer.headers, now=datetime.now(UTC)) or 0.0
                    raise RetryAfter(ceil(wait))
                elif 400 <= answer.status < 500:
                    raise BadRequest(f"file not found: {answer.status}")
                else:
                    raise NetworkError(f"answered {answer.status}")

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise NetworkError("the connection was closed")
        if not self._is_ours():
            raise NetworkError("another instance has this bot now")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=ssl_context_for(self._base), limit=self._connections, keepalive_timeout=KEEP_SECONDS
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": self.USER_AGENT},
            )
        return self._session


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise NetworkError (or TimedOut) for connection errors, without the token in their texts."""
    try:
        yield
    except aiohttp.ClientResponseError as error:  # its text is the whole URL
        raise NetworkError(error.message or type(error).__name__) from None
    except (TimeoutError, aiohttp.ServerTimeoutError) as error:
        raise TimedOut from error
    except BodyTooLarge as error:
        raise AnswerTooLarge(error.beginning) from error
    except aiohttp.ClientError as error:
        raise NetworkError(str(error) or type(error).__name__) from error


def find_proxy(url: str) -> str | None:
    """Return the proxy for a URL from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; None for none."""
    address = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(address.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _make_body(data: RequestData) -> Any:
    fields = data.json_parameters
    if not data.contains_files:
        return fields or None
    form = aiohttp.FormData(fields, quote_fields=False)  # keep file names in any script
    for name, (file, content, kind) in data.multipart_data.items():
        form.add_field(name, content, filename=file, content_type=kind)
    return form
