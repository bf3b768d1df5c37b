"""Parse a bot's request: JSON or multipart in one form."""

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

from tests.fakes.discord_api.refusals import Refusal, make_refusal

MAX_BYTES = 25 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a request, or one that a person attaches."""

    name: str
    media_type: str
    data: bytes = field(repr=False)
    size: int | None = None
    """Size as reported by Discord, if it differs from the actual one."""


@dataclass(slots=True)
class Body:
    """`given` is the JSON, `files` the other parts by their number."""

    given: Any = None
    files: dict[int, Upload] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        return self.given if isinstance(self.given, dict) else {}


async def read_body(request: web.BaseRequest) -> Body:
    if request.content_length is not None and request.content_length > MAX_BYTES:
        raise make_refusal(40005)
    if request.content_type == "multipart/form-data":
        # By default aiohttp accepts at most a megabyte.
        return await _parts(request.clone(client_max_size=MAX_BYTES))
    raw = await request.content.read()
    if not raw.strip():
        return Body({})
    if request.content_type != "application/json":
        told = "Expected \"Content-Type\" header to be one of {'application/json'}."
        raise Refusal(
            400, "Invalid Form Body", 50035, {"_errors": [{"code": "CONTENT_TYPE_INVALID", "message": told}]}
        )
    return Body(_json(raw))


async def _parts(request: web.BaseRequest) -> Body:
    body = Body({})
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or not part.name:
            continue
        data = bytes(await part.read(decode=False))
        if part.name == "payload_json":
            body.given = _json(data)
        elif part.name.startswith("files["):
            kind = part.headers.get("Content-Type", "application/octet-stream")
            body.files[int(part.name[6:-1])] = Upload(part.filename or "unknown", kind, data)
    return body


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, UnicodeDecodeError):
        raise make_refusal(50109) from None
