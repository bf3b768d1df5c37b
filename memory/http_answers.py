"""What services over HTTP have in common, whatever they are asked for: certificates, refusals, how long to wait."""

import json
import re
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import cast

import httpx

from memory.redaction import HIDDEN, without_secrets

MESSAGE_LETTERS = 200
LONGEST_RETRY_AFTER = 86_400.0

_KEYS = re.compile(
    r"\b(?:sk|pa|pk|gsk|xai)-[\w*.-]{8,}|\bgsk_\w{8,}|\bAIza[\w-]{8,}"
    r"|(?i:\b(?:bearer|basic)\s+[^\s'\"]+|\bkey=[^&\s]+)"
)
_DELAY = re.compile(r"(\d{1,5}(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that is no success; `fields` is its JSON object, empty where there is none."""

    status: int
    fields: Mapping[str, object] = field(default_factory=dict)
    retry_after: float | None = None


def failure_of(status: int, headers: Mapping[str, str], body: bytes, *, now: datetime) -> Failure:
    """Read a refusal; the wait that it asks for may stand in a header or in Google's JSON."""
    fields = fields_of(body)
    retry_after = seconds_to_wait(headers, now=now)
    return Failure(status, fields, google_retry_delay(fields) if retry_after is None else retry_after)


def fields_of(body: bytes) -> Mapping[str, object]:
    """The JSON object in a body; empty where there is none, such as in a proxy's HTML."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(found, list) and found:  # Google wraps errors of some gateways in a list
        found = found[0]
    return found if isinstance(found, dict) else {}


def seconds_to_wait(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Read Retry-After, in seconds or as a date, and `retry-after-ms`; None where there is none or it is odd."""
    value = headers.get("retry-after-ms")
    scale = 0.001
    if value is None:
        value, scale = headers.get("retry-after"), 1.0
    if value is None:
        return None
    try:
        seconds = float(value) * scale
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds()
    # `min` and `max` in this order also turn NaN into a number.
    return max(0.0, min(LONGEST_RETRY_AFTER, seconds))


def google_retry_delay(fields: Mapping[str, object]) -> float | None:
    """`error.details[].retryDelay`, such as "7.5s": Google has no Retry-After."""
    match fields.get("error"):
        case {"details": list(details)}:
            delays = [detail.get("retryDelay") for detail in details if isinstance(detail, dict)]
            return next((float(found[1]) for found in map(_DELAY.fullmatch, map(str, delays)) if found), None)
    return None


def message_of(fields: Mapping[str, object]) -> str:
    """What an error says for people, in any of the usual places; "" where it says nothing."""
    error = fields.get("error")
    said = error.get("message") if isinstance(error, Mapping) else error
    for candidate in (said, fields.get("detail"), fields.get("message")):
        if isinstance(candidate, str) and candidate.strip():
            return candidate
    return ""


def one_line(text: str, *, secrets: Sequence[str] = ()) -> str:
    """Make what others wrote fit for log and status: no secrets, one line, not long."""
    text = " ".join(_KEYS.sub(HIDDEN, without_secrets(text, secrets)).split())
    text = "".join(letter for letter in text if letter.isprintable())
    return text if len(text) <= MESSAGE_LETTERS else text[: MESSAGE_LETTERS - 1] + "…"


def what_is_wrong_with(key: str) -> str:
    """Say why this key cannot go into a header; nothing where it can."""
    if key.isascii() and key.isprintable() and " " not in key:
        return ""
    return "has a key with something in it that cannot be part of one"


async def read_bounded(response: httpx.Response, most_bytes: int) -> bytes:
    """Read the body, but hardly more than `most_bytes` of it."""
    body = bytearray()
    async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > most_bytes:
                break
    return bytes(body)


def certificates(url: str) -> ssl.SSLContext:
    """Whom to trust at this address; made once for all clients, since reading the certificates costs 50 ms of CPU."""
    return _all_certificates() if url.lower().startswith("https:") else _no_certificates()


@cache
def _all_certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@cache
def _no_certificates() -> ssl.SSLContext:
    # For a server without encryption: trusts nobody, should it ever be asked to.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
