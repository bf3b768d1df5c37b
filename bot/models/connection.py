"""The connections to one provider."""

import httpx

from memory.http_answers import certificates

CONNECTIONS = 64


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
