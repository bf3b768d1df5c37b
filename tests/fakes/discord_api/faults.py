"""Failures between a bot and Discord, on demand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from tests.fakes.bot_api.faults import PROXY_PAGE, drip, reset
from tests.fakes.discord_api.refusals import Refusal, make_refusal

__all__ = ["Fault", "Planned", "Scope", "drip", "reset"]

Kind = Literal["answer", "reset_before", "reset_after", "hang", "drip", "delay"]
Scope = Literal["user", "shared", "global"]
BAN_PAGE = "error code: 1015"


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of failure."""

    kind: Kind
    code: int = 0
    body: str | bytes = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None
    seconds: float = 0.0
    done: bool = False
    """Whether the request takes effect nevertheless."""
    scope: Scope | None = None
    """Scope of a rate limit."""
    banned: bool = False
    """Whether Cloudflare sends it instead of Discord."""

    @classmethod
    def status(cls, code: int, body: str | bytes = PROXY_PAGE, content_type: str = "text/html") -> Self:
        """A proxy's error page, such as 500, 502, 503; the request has no effect."""
        return cls("answer", code, body, content_type)

    @classmethod
    def refuse(cls, code: int) -> Self:
        """An error with one of Discord's own codes, such as 50013."""
        refusal = make_refusal(code)
        return cls("answer", refusal.status, refusal=refusal)

    @classmethod
    def rate_limit(cls, seconds: float, scope: Scope = "user") -> Self:
        return cls("answer", 429, seconds=seconds, scope=scope)

    @classmethod
    def ban(cls) -> Self:
        """Cloudflare's 429 for too many invalid requests: no JSON, no `Via`."""
        return cls("answer", 429, BAN_PAGE, "text/plain", {"Retry-After": "600"}, banned=True)

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


@dataclass(slots=True)
class Planned:
    """A fault that waits for its call."""

    name: str
    fault: Fault
    times: int | None
    """Remaining uses; None for unlimited."""
    channel: int | None
    after: int
    """Number of matching calls to let through first."""

    def fits(self, name: str, ids: Mapping[str, Any]) -> bool:
        """Return whether this call fails; counts the calls that are let through."""
        if self.times == 0 or self.name not in ("*", name):
            return False
        if self.channel is not None and ids.get("channel") != self.channel:
            return False
        if self.after:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True
