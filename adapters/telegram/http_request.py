"""The library's calls to the Bot API, made by aiohttp: the service has that anyway, and it costs less than httpx."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from telegram.error import BadRequest, NetworkError, RetryAfter, TimedOut
from telegram.request import BaseRequest, RequestData
from yarl import URL

from bot.messages import WriteChunk
from memory.http_responses import parse_retry_after, ssl_context_for

if TYPE_CHECKING:
    from telegram._utils.types import ODVInput

CONNECT_SECONDS = 10.0
READ_SECONDS = 20.0
FILE_PIECE_BYTES = 1 << 18
LARGEST_ANSWER = 2 << 20
"""Bytes of JSON: several times the longest message there is, and as much as can be read without keeping everybody else
waiting. Whoever asks for updates asks for fewer where they are more."""
BEGINNING_BYTES = 512
KEEP_SECONDS = 60.0
"""For which a connection that nobody uses stays open."""


class AnswerTooLarge(NetworkError):
    """An answer has more bytes than are read; it begins with `beginning`."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(f"answered with more than {LARGEST_ANSWER >> 20} MB")
        self.beginning = beginning


class AiohttpRequest(BaseRequest):
    """Connections of one kind: for polling, or for all else. Opened by the first call.

    Only connecting and the silence between two pieces of an answer are limited here: who calls limits the whole.
    """

    def __init__(self, base: str, *, connections: int, is_ours: Callable[[], bool] = lambda: True) -> None:
        """`base` is the address of the Bot API, `connections` how many calls are made at once.

        `is_ours`: whether the bot is this process's just now; where it is not, nothing is asked of Telegram.
        """
        self._is_ours = is_ours
        self._base = base
        self._proxy = find_proxy(base)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @property
    def read_timeout(self) -> float:
        """Seconds of silence."""
        return READ_SECONDS

    async def initialize(self) -> None:
        """Nothing is to be done."""

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
        read_timeout: "ODVInput[float]" = BaseRequest.DEFAULT_NONE,
        write_timeout: "ODVInput[float]" = BaseRequest.DEFAULT_NONE,
        connect_timeout: "ODVInput[float]" = BaseRequest.DEFAULT_NONE,
        pool_timeout: "ODVInput[float]" = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """Give an answer's status and body. Raises NetworkError, TimedOut among them; none has the token in it."""
        del write_timeout, connect_timeout, pool_timeout  # nobody asks for any
        silence = read_timeout if isinstance(read_timeout, int | float) else READ_SECONDS
        with _translate_errors():
            async with self._open_session().request(
                method,
                url,
                data=_make_body(request_data) if request_data else None,
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=silence),
                proxy=self._proxy,
                allow_redirects=False,  # an address with the token in it goes nowhere else
            ) as answer:
                body = bytearray()
                async for piece in answer.content.iter_chunked(FILE_PIECE_BYTES):
                    body += piece
                    if len(body) > LARGEST_ANSWER:
                        raise AnswerTooLarge(bytes(body[:BEGINNING_BYTES]))
                return answer.status, bytes(body)

    async def download(self, url: str, write: WriteChunk) -> None:
        """Hand on a file piece by piece.

        Raises BadRequest where it is gone, RetryAfter, NetworkError, and what `write` raises.
        """
        parts = urlsplit(url)
        with _translate_errors():
            async with self._open_session().get(
                URL(parts._replace(path=quote(parts.path, safe="/:")).geturl(), encoded=True),
                headers={"Accept-Encoding": "identity"},  # packed, a piece could be a thousand times as large
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
    """Raise NetworkError, TimedOut among them, for what goes wrong on the way; none has the token in it."""
    try:
        yield
    except aiohttp.ClientResponseError as error:  # its own words are the whole address
        raise NetworkError(error.message or type(error).__name__) from None
    except (TimeoutError, aiohttp.ServerTimeoutError) as error:
        raise TimedOut from error
    except aiohttp.ClientError as error:
        raise NetworkError(str(error) or type(error).__name__) from error


def find_proxy(url: str) -> str | None:
    """Who stands in between by the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY."""
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
    form = aiohttp.FormData(fields, quote_fields=False)  # names of files in any script, as they are
    for name, (file, content, kind) in data.multipart_data.items():
        form.add_field(name, content, filename=file, content_type=kind)
    return form
