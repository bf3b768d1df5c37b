"""Failures between a bot and Telegram, on demand."""

from dataclasses import dataclass
from typing import Self

from tests.fakes.bot_api.refusals import Refusal, too_many
from tests.fakes.faults import TransitFault


@dataclass(frozen=True, slots=True)
class Fault(TransitFault):
    """One kind of failure."""

    refusal: Refusal | None = None

    @classmethod
    def refuse(cls, code: int, description: str) -> Self:
        """An error in the Bot API's format, such as `refuse(400, "Bad Request: chat not found")`."""
        return cls("answer", code, refusal=Refusal(code, description))

    @classmethod
    def retry_after(cls, seconds: int) -> Self:
        return cls("answer", 429, refusal=too_many(seconds))
