"""Failures between a bot and Discord, on demand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from tests.fakes.discord_api.refusals import Refusal, make_refusal
from tests.fakes.faults import TransitFault

Scope = Literal["user", "shared", "global"]
BAN_PAGE = "error code: 1015"


@dataclass(frozen=True, slots=True)
class Fault(TransitFault):
    """One kind of failure."""

    headers: Mapping[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None
    scope: Scope | None = None
    """Scope of a rate limit."""
    banned: bool = False
    """Whether Cloudflare sends it instead of Discord."""

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
        headers = {"Retry-After": "600"}
        return cls("answer", 429, BAN_PAGE, "text/plain", headers=headers, banned=True)
