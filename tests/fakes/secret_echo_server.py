"""A server that rejects every request and echoes its secrets, each time in another form."""

import asyncio
import html
import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from binascii import Error
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, Self
from urllib.parse import quote, quote_plus, unquote

FORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "as it is": str,
    "in an address": lambda secret: quote(secret, safe=""),
    "in a form": quote_plus,
    "in an address, twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "in JSON": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "in JSON within JSON": lambda secret: json.dumps(json.dumps(secret))[3:-3],
    "in Python": repr,
    "in HTML": html.escape,
    "in escapes": lambda secret: "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in secret),
    "in Base64": lambda secret: b64encode(secret.encode()).decode(),
    "in a Basic header": lambda secret: b64encode(f"me:{secret}".encode()).decode(),
    "in Base64 for addresses": lambda secret: (
        urlsafe_b64encode(f"{{{secret}}}".encode()).decode().rstrip("=")
    ),
    "in colours": lambda secret: f"\x1b[1m{secret[:5]}\x1b[0m{secret[5:]}",
}
STATUSES: Final = (400, 404, 500, 429, 403, 502, 302, 401, 200, 422)
_CREDENTIALS = re.compile(
    r"(?i)^(?:(?:proxy-)?authorization|x-[\w-]*(?:key|token|secret)[\w-]*):\s*(?:(\w+)\s+)?(.+)$"
)
_BOT = re.compile(r"/bot([^/\s?]+)/")


class SecretEchoServer:
    """Start with `async with`."""

    def __init__(self, statuses: Sequence[int] = STATUSES) -> None:
        self.address = ""
        """`127.0.0.1:port`."""
        self.heard: Counter[str] = Counter()
        """Each received secret and how often it came."""
        self.asked: list[str] = []
        """Method and path of each request."""
        self._statuses = statuses
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            if length := re.search(r"(?im)^content-length:\s*(\d+)", head):
                await reader.readexactly(int(length[1]))
            writer.write(self._refusal(head))
            await writer.drain()
        writer.close()

    def _refusal(self, head: str) -> bytes:
        """Return a response with the secrets in its reason, its headers, and every error text."""
        self.asked.append(" ".join(head.split(" ", 2)[:2]))
        secrets = list(dict.fromkeys(find_secrets(head)))
        self.heard.update(secrets)
        number = len(self.asked)
        shapes = list(FORMS.values())
        said = [shapes[(number + shift) % len(shapes)](secret) for secret in secrets for shift in range(2)]
        words = " ".join(said) or "nothing"
        status = self._statuses[number % len(self._statuses)]
        error = {
            "message": f"{words} is refused",
            "type": words,
            "code": words,
            "status": words,
            "param": words,
        }
        body = json.dumps(
            {
                "ok": False,
                "error_code": status,
                "description": f"{words} is refused",
                "error": error,
                "message": f"{words} is refused",
                "detail": words,
                "code": 0,
            }
        ).encode()
        kind = "application/json"
        if number % 5 == 0:
            body, kind = f"<html><body>{words}</body></html>".encode(), "text/html"
        elif status == 200 and number % 2:
            body, kind = b"data: " + body + b"\n\n", "text/event-stream"
        reason = " ".join(each for each in said if each.isascii() and each.isprintable())[:200]
        lines = [
            f"HTTP/1.1 {status} {reason}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            f"Location: http://{self.address}/{quote(words)}",
            "Retry-After: 0",
            f"X-Request-Id: {quote(words)}",
            "Connection: close",
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def find_secrets(head: str) -> Iterator[str]:
    """Yield the credentials in a request's head: keys, tokens, passwords."""
    first, *lines = head.split("\r\n")
    if token := _BOT.search(unquote(first)):
        yield token[1]
    for line in lines:
        if found := _CREDENTIALS.match(line):
            if (found[1] or "").lower() == "basic":
                with suppress(Error):
                    yield unquote(b64decode(found[2]).decode("utf-8", "replace").partition(":")[2])
            else:
                yield found[2]
