"""The connections to one provider."""

from asyncio import CancelledError
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from bot.models.base_url import BaseUrl
from bot.models.errors import TimedOut
from memory.http_responses import ssl_context_for

CALLS_AT_ONCE = 16
"""Calls that one httpx client makes at once. Its pool looks at all connections for each of its calls: with 200 calls at
once in one client that took longer than all else that they cost."""


class ConnectionPool:
    """The connections to one provider, which all its models and keys share; made when first needed."""

    def __init__(self, base_url: str, *, connect_seconds: float) -> None:
        self.address = BaseUrl(base_url)
        """Of an OpenAI-like provider: as all its models use it."""
        self._base_url = base_url
        self._connect_seconds = connect_seconds
        self._clients: list[httpx.AsyncClient] = []
        """Those that may be asked."""
        self._calls: Counter[httpx.AsyncClient] = Counter()
        """How many calls each client is at, also one that is not asked any more."""
        self._closed = False

    @property
    def client(self) -> httpx.AsyncClient:
        """Who makes the next call.

        Raises ValueError, httpx.InvalidURL, OSError or ImportError where the environment has a proxy or certificates
        of no use, and ValueError once it is closed.
        """
        if self._closed:
            raise ValueError("the connection was closed")
        for client in self._clients:  # the first with room, so that the others come to rest, and go
            if self._calls[client] < CALLS_AT_ONCE:
                return client
        self._clients.append(self._open_client())
        return self._clients[-1]

    @asynccontextmanager
    async def in_use(self, client: httpx.AsyncClient) -> AsyncIterator[None]:
        """While a call is made. Where it is left early over HTTP/2, the next is made over a new connection.

        httpx tells no server there that an answer is not wanted any more, and goes on to use a connection that is
        dead, for its calls share one: a closed one ends both.
        """
        self._calls[client] += 1
        try:
            yield
        except (TimedOut, CancelledError, GeneratorExit):
            if self._may_be_shared and client in self._clients:
                self._clients.remove(client)
            raise
        finally:
            self._calls[client] -= 1
            if not self._calls[client]:
                del self._calls[client]
                if client in self._clients[1:]:
                    self._clients.remove(client)
                if client not in self._clients:
                    await client.aclose()

    async def close(self) -> None:
        """Close what is open; who still waits for an answer is told so."""
        self._closed = True
        for client in {*self._calls, *self._clients}:
            await client.aclose()

    def _open_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            verify=ssl_context_for(self._base_url),
            http2=self._may_be_shared,
            headers={
                # An answer comes in small pieces, each at once: packing would only hold them back.
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "User-Agent": "commonplace",
            },
            # All but the connecting is watched by `Limits`, whatever it is that hangs.
            timeout=httpx.Timeout(None, connect=self._connect_seconds),
            limits=httpx.Limits(max_connections=CALLS_AT_ONCE, keepalive_expiry=60.0),
        )

    @property
    def _may_be_shared(self) -> bool:
        return self._base_url.lower().startswith("https:")
