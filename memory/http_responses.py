"""Helpers for every HTTP service: certificates, response bodies, error responses and retry delays."""

import json
import os
import re
import ssl
import zlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import cast

import httpx

from memory.redaction import REDACTED, find_proxy_passwords, redact, remove_secrets
from memory.translatable import Translatable

MESSAGE_CHARS = 200
READ_CHARS = 8000
MAX_RETRY_AFTER_SECONDS = 86_400.0
TEXT_BYTES = 4096
"""Bytes kept of an error response that is not JSON."""
PIECE_BYTES = 1 << 16
"""Bytes read before decompressing; compressed data may expand a thousandfold."""

_KEYS = re.compile(
    r"\b(?:sk|pa|pk|gsk|xai)-[\w*.-]{8,}|\bgsk_\w{8,}|\bAIza[\w-]{8,}"
    r"|(?i:\b(?:bearer|basic)\s+[^\s'\"]+|\bkey=[^&\s]+)"
)
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]P_^X]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
"""Terminal control sequences: CSI, OSC and the like, and the short ones."""
_PACKINGS = {"": 0, "identity": 0, "gzip": 31, "x-gzip": 31, "deflate": 15}
"""zlib's window bits for each encoding; 0 if it is not compressed."""
_DELAY = re.compile(r"(\d{1,5}(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """An error response; `fields` is its JSON object, empty if there is none."""

    status: int
    fields: Mapping[str, object] = field(default_factory=dict)
    retry_after: float | None = None
    text: str = ""
    """The beginning of a body that is not a JSON object."""


def parse_failure(status: int, headers: Mapping[str, str], body: bytes, *, now: datetime) -> HttpFailure:
    """Parse an error response; the retry delay is in a header or in Google's JSON."""
    fields = parse_fields(body)
    retry_after = parse_retry_after(headers, now=now)
    if retry_after is None:
        retry_after = parse_google_retry_delay(fields)
    return HttpFailure(
        status, fields, retry_after, "" if fields else body[:TEXT_BYTES].decode("utf-8", "replace")
    )


def parse_fields(body: bytes) -> Mapping[str, object]:
    """Return the JSON object in a body; empty if there is none, such as in a proxy's HTML."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(found, list) and found:  # some Google gateways wrap errors in a list
        found = found[0]
    return found if isinstance(found, dict) else {}


def parse_retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return the seconds in Retry-After (also as a date) or `retry-after-ms`; None if missing or invalid."""
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
    # In this order, `min` and `max` also turn NaN into a number.
    return max(0.0, min(MAX_RETRY_AFTER_SECONDS, seconds))


def parse_google_retry_delay(fields: Mapping[str, object]) -> float | None:
    """Return the seconds in `error.details[].retryDelay`, such as "7.5s": Google sends no Retry-After."""
    match fields.get("error"):
        case {"details": list(details)}:
            delays = [detail.get("retryDelay") for detail in details if isinstance(detail, dict)]
            return next((float(found[1]) for found in map(_DELAY.fullmatch, map(str, delays)) if found), None)
    return None


def find_error_message(fields: Mapping[str, object]) -> str:
    """Return an error's message from any of the usual fields; "" if there is none."""
    error = fields.get("error")
    said = error.get("message") if isinstance(error, Mapping) else error
    for candidate in (said, fields.get("detail"), fields.get("message")):
        if isinstance(candidate, str) and candidate.strip():
            return candidate
    return ""


def one_line(text: str, *, secrets: Sequence[str] = ()) -> str:
    """Make foreign text fit for log, status and state.db: no secrets, one line, limited length.

    Secrets are removed before the text is cut, since half a secret would not be recognized.
    """
    secrets = (*secrets, *find_proxy_passwords(os.environ))
    text = redact(remove_secrets(strip_invisible(_truncate_for_secrets(text)), secrets))
    text = " ".join(_KEYS.sub(REDACTED, text).split())
    return text if len(text) <= MESSAGE_CHARS else text[: MESSAGE_CHARS - 1] + "…"


def _truncate_for_secrets(text: str) -> str:
    """Return more of a text than is ever shown, up to a space; searching 64 KB for secrets takes most of a second."""
    return text if len(text) <= READ_CHARS else text[:READ_CHARS].rpartition(" ")[0] or text[:READ_CHARS]


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters, which could hide a secret from the search for it."""
    text = _SEQUENCES.sub("", text)
    return "".join(letter for letter in text if letter.isprintable() or letter.isspace())


def explain_bad_key(key: str) -> str:
    """Return why this key cannot be sent in a header; "" if it can."""
    if key.isascii() and key.isprintable() and " " not in key:
        return ""
    return Translatable("has an API key with invalid characters")


async def read_bounded(response: httpx.Response, max_bytes: int) -> bytes:
    """Read the body, but hardly more than `max_bytes` of it."""
    body = bytearray()
    async with aclosing(iter_decompressed(response)) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > max_bytes:
                break
    return bytes(body)


async def iter_decompressed(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Yield the body in small pieces, so that the caller can stop in time. Raises httpx.DecodingError.

    We do not accept compression, but httpx decompresses everything at once: 800 bytes, compressed twice,
    became 400 MB.
    """
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in _PACKINGS:
        raise httpx.DecodingError(f"compressed as {packing[:20]!r}", request=response.request)
    unpacking = zlib.decompressobj(_PACKINGS[packing]) if _PACKINGS[packing] else None
    async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_raw())) as pieces:
        async for piece in pieces:
            if unpacking is None:
                yield piece
                continue
            left, found = piece, bytes(PIECE_BYTES)
            while left or len(found) == PIECE_BYTES:
                try:
                    found = unpacking.decompress(left, PIECE_BYTES)
                except zlib.error as error:
                    raise httpx.DecodingError(str(error), request=response.request) from error
                left = unpacking.unconsumed_tail
                if found:
                    yield found


def ssl_context_for(url: str) -> ssl.SSLContext:
    """Return the TLS context for a URL, shared by all clients, since reading certificates takes 50 ms of CPU."""
    return _default_ssl_context() if url.lower().startswith("https:") else _empty_ssl_context()


@cache
def _default_ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@cache
def _empty_ssl_context() -> ssl.SSLContext:
    # For a server without encryption: it trusts nobody, should it ever be used.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
