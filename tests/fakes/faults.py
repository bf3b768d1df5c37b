"""Failures between a bot and a platform, on demand."""

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Generic, Literal, Self, TypeVar

from aiohttp import web

PROXY_PAGE = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n"

Kind = Literal["answer", "reset_before", "reset_after", "hang", "drip", "delay"]


@dataclass(frozen=True, slots=True)
class TransitFault:
    """One kind of failure; each platform adds its own refusals."""

    kind: Kind
    code: int = 0
    body: str | bytes = ""
    content_type: str = "application/json"
    seconds: float = 0.0
    done: bool = False
    """Whether the request takes effect nevertheless."""

    @classmethod
    def status(cls, code: int, body: str | bytes = PROXY_PAGE, content_type: str = "text/html") -> Self:
        """A proxy's error page, such as 500, 502, 503; the request has no effect."""
        return cls("answer", code, body, content_type)

    @classmethod
    def reset_before(cls) -> Self:
        """The connection is reset; the request has no effect."""
        return cls("reset_before")

    @classmethod
    def reset_after(cls) -> Self:
        """The request takes effect, but the connection is reset before the answer."""
        return cls("reset_after", done=True)

    @classmethod
    def hang(cls, *, done: bool = False) -> Self:
        """No answer, ever."""
        return cls("hang", done=done)

    @classmethod
    def drip(cls, seconds: float = 0.02) -> Self:
        """An endless body, one space every `seconds`; the request has no effect."""
        return cls("drip", seconds=seconds)

    @classmethod
    def delay(cls, seconds: float) -> Self:
        """The request takes effect; the answer is delayed."""
        return cls("delay", seconds=seconds, done=True)


FaultT = TypeVar("FaultT", bound=TransitFault)


@dataclass(slots=True)
class PlannedFault(Generic[FaultT]):
    """A fault that waits for its call."""

    call: str
    """Its name; `*` for any."""
    fault: FaultT
    times: int | None
    """Remaining uses; None for unlimited."""
    chat: int | None
    after: int
    """Number of matching calls to let through first."""

    def fits(self, call: str, chat: object) -> bool:
        """Return whether this call for a chat or channel fails; counts the calls that are let through."""
        if self.times == 0 or self.call not in ("*", call):
            return False
        if self.chat is not None and str(chat) != str(self.chat):
            return False
        if self.after:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


def reset(request: web.BaseRequest) -> web.Response:
    """Reset the connection instead of closing it."""
    if transport := request.transport:
        if (sock := transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


async def drip(request: web.BaseRequest, seconds: float) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    try:
        while True:
            await response.write(b" ")
            await asyncio.sleep(seconds)
    except ConnectionError:
        return response
