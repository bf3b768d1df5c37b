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
"""Maximum concurrent calls of one httpx client. Its pool scans all connections on each call: at 200
concurrent calls that cost more than everything else."""


class ConnectionPool:
    """The connections to one provider, shared by its models and keys and opened on first use."""

    def __init__(self, base_url: str, *, connect_seconds: float) -> None:
        self.address = BaseUrl(base_url)
        """Base URL of an OpenAI-compatible provider, shared by its models."""
        self._base_url = base_url
        self._connect_seconds = connect_seconds
        self._clients: list[httpx.AsyncClient] = []
        """Clients that accept new calls."""
        self._calls: Counter[httpx.AsyncClient] = Counter()
        """Running calls of each client, including retired clients."""
        self._closed = False

    @property
    def client(self) -> httpx.AsyncClient:
        """Return the client for the next call.

        Raises ValueError, httpx.InvalidURL, OSError or ImportError if the environment's proxy or certificates
        are unusable, and ValueError after `close`.
        """
        if self._closed:
            raise ValueError("the connection was closed")
        for client in self._clients:  # the first with room, so that the others become idle and are closed
            if self._calls[client] < CALLS_AT_ONCE:
                return client
        self._clients.append(self._open_client())
        return self._clients[-1]

    @asynccontextmanager
    async def in_use(self, client: httpx.AsyncClient) -> AsyncIterator[None]:
        """Count a running call. If it is abandoned over HTTP/2, the next call uses a new connection.

        httpx does not cancel the stream on the server, and keeps using a dead connection because its calls
        share one; a new connection avoids both.
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
        """Close all connections; pending calls fail."""
        self._closed = True
        for client in {*self._calls, *self._clients}:
            await client.aclose()

    def _open_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            verify=ssl_context_for(self._base_url),
            http2=self._may_be_shared,
            headers={
                # Answers arrive in small pieces that are needed at once; compression would delay them.
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "User-Agent": "commonplace",
            },
            # `Timeouts` bounds everything except connecting.
            timeout=httpx.Timeout(None, connect=self._connect_seconds),
            limits=httpx.Limits(max_connections=CALLS_AT_ONCE, keepalive_expiry=60.0),
        )

    @property
    def _may_be_shared(self) -> bool:
        return self._base_url.lower().startswith("https:")
