"""Errors of the Bot API."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Refusal(Exception):
    """An answer with `ok: false`."""

    status: int
    description: str
    retry_after: int = 0
    """Seconds."""
    migrate_to: int = 0
    """The chat that replaces the requested one."""

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": False, "error_code": self.status, "description": self.description}
        if self.retry_after:
            answer["parameters"] = {"retry_after": self.retry_after}
        if self.migrate_to:
            answer["parameters"] = {"migrate_to_chat_id": self.migrate_to}
        return answer


NOT_FOUND = Refusal(404, "Not Found")


def bad_request(what: str) -> Refusal:
    """Return error 400 with the server's wording."""
    return Refusal(400, f"Bad Request: {what}")


def forbidden(what: str) -> Refusal:
    return Refusal(403, f"Forbidden: {what}")


def too_many(seconds: int) -> Refusal:
    return Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
