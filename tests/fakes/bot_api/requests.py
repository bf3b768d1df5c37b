"""Parse a bot's request: query, form, multipart and JSON in one form."""

import json
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web

from tests.fakes.bot_api.media import Upload

Parameters = dict[str, Any]

JSON_FIELDS = {
    "allowed_updates", "caption_entities", "commands", "entities", "link_preview_options", "reaction",
    "reply_markup", "reply_parameters", "scope",
}  # fmt: skip
NUMBERS = {
    "chat_id", "draft_id", "limit", "max_connections", "message_id", "message_thread_id", "offset",
    "reply_to_message_id", "timeout", "user_id",
}  # fmt: skip
FLAGS = {
    "allow_sending_without_reply",
    "disable_notification",
    "drop_pending_updates",
    "is_big",
    "show_alert",
}


async def read_parameters(request: web.BaseRequest) -> Parameters:
    """Return the parameters with numbers, flags and nested JSON parsed; what cannot be parsed stays text."""
    given: Parameters = dict(request.query)
    kind = request.content_type
    if kind == "application/json":
        body = await request.content.read()
        read = json.loads(body) if body.strip() else {}
        given |= read if isinstance(read, dict) else {}
    elif kind == "application/x-www-form-urlencoded":
        given |= dict(parse_qsl((await request.content.read()).decode(), keep_blank_values=True))
    elif kind == "multipart/form-data":
        given |= await _parts(request)
    return {name: _read(name, value) for name, value in given.items() if value is not None}


async def _parts(request: web.BaseRequest) -> Parameters:
    given: Parameters = {}
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or not part.name:
            continue
        data = bytes(await part.read(decode=False))
        if part.filename is None:
            given[part.name] = data.decode()
        else:
            kind = part.headers.get("Content-Type", "application/octet-stream")
            given[part.name] = Upload(part.filename, kind, data)
    return given


def _read(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in JSON_FIELDS and value:
        try:
            return json.loads(value)
        except ValueError:
            return value
    if name in NUMBERS:
        try:
            return int(value)
        except ValueError:
            return value
    if name in FLAGS:
        return value.lower() in ("true", "yes", "1")
    return value
