"""Errors of Discord's API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WORDS = {
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    20012: (403, "You are not authorized to perform this action on this application"),
    30010: (403, "Maximum number of reactions reached (20)"),
    30015: (400, "Maximum number of attachments in a message reached (10)"),
    30032: (400, "Maximum number of application commands reached (100)."),
    30034: (400, "Maximum number of daily application command creates has been reached (200)"),
    40005: (413, "Request entity too large"),
    40058: (400, "Cannot send a message in a forum channel"),
    40067: (400, "A tag is required to create a forum post in this channel"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50033: (400, "Invalid Recipient(s)"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    50159: (400, "Voice messages do not support additional content."),
    50160: (400, "Voice messages must have a single audio attachment."),
    50161: (400, "Voice messages must have supporting metadata."),
    50162: (400, "Voice messages cannot be edited."),
    50278: (403, "Cannot send messages to this user due to having no mutual guilds"),
    160002: (400, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (400, "Thread is locked"),
}
"""Status and text of Discord's own codes."""


@dataclass
class Refusal(Exception):
    """An error response."""

    status: int
    message: str
    code: int = 0
    errors: dict[str, Any] = field(default_factory=dict)
    """Errors of an invalid form body, by field."""

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"message": self.message, "code": self.code}
        return {**told, "errors": self.errors} if self.errors else told

    @property
    def reasons(self) -> list[str]:
        """Return the error codes of the form, such as `content: BASE_TYPE_MAX_LENGTH`."""
        return list(_reasons(self.errors, ""))


def make_refusal(code: int) -> Refusal:
    status, words = WORDS[code]
    return Refusal(status, words, code)


UNAUTHORIZED = Refusal(401, "401: Unauthorized")
NOT_FOUND = Refusal(404, "404: Not Found")
NOT_ALLOWED = Refusal(405, "405: Method Not Allowed")


class Form:
    """Collects the errors of a body, which are reported together."""

    def __init__(self) -> None:
        self.errors: dict[str, Any] = {}

    def wrong(self, path: str, code: str, message: str) -> None:
        """Add an error; `path`: names joined by dots, such as `options.0.name`."""
        here = self.errors
        for name in filter(None, path.split(".")):
            here = here.setdefault(name, {})
        here.setdefault("_errors", []).append({"code": code, "message": message})

    def at_most(self, path: str, value: str | list[Any], limit: int) -> None:
        if len(value) > limit:
            self.wrong(path, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")

    def between(self, path: str, value: str | list[Any], minimum: int, limit: int) -> None:
        if not minimum <= len(value) <= limit:
            self.wrong(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {minimum} and {limit} in length.")

    def done(self) -> None:
        """Raise Refusal if there are errors."""
        if self.errors:
            raise Refusal(400, "Invalid Form Body", 50035, self.errors)


def wrong(path: str, code: str, message: str) -> Refusal:
    """Return a refusal with one error."""
    form = Form()
    form.wrong(path, code, message)
    return Refusal(400, "Invalid Form Body", 50035, form.errors)


def _reasons(errors: Mapping[str, Any], path: str) -> list[str]:
    told: list[str] = []
    for name, below in errors.items():
        if name == "_errors":
            told += [f"{path}: {one['code']}" if path else one["code"] for one in below]
        else:
            told += _reasons(below, f"{path}.{name}" if path else name)
    return told
