"""Pure: convert a conversation to Gemini's format."""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.models.gemini_reader import KIND
from bot.models.protocol import AssistantMessage, Image, Message, ToolCall, ToolResult, UserMessage
from bot.models.user_text import user_text

NO_SIGNATURE = "skip_thought_signature_validator"
"""Signature that Google documents for calls that another model made."""

_PICTURES = frozenset({"image/jpeg", "image/png", "image/webp"})
_INVALID_NAME_CHARACTERS = re.compile(r"[^\w.:-]", re.ASCII)
MAX_NAME_CHARS = 64


def contents_of(messages: Iterable[Message], *, model: str, with_ids: bool) -> list[Mapping[str, Any]]:
    """Return `contents`: all results of a step in one user turn, and what `model` wrote unchanged."""
    contents: list[Mapping[str, Any]] = []
    before: Message | None = None
    for message in messages:
        parts = _parts_of(message, model, with_ids=with_ids)
        # Merge consecutive model turns: otherwise a call in the second would not follow a user turn.
        if before and type(message) is type(before) and not isinstance(message, UserMessage):
            contents[-1]["parts"].extend(parts)
        else:
            role = "model" if isinstance(message, AssistantMessage) else "user"
            contents.append({"role": role, "parts": parts})
        before = message
    return contents


def _parts_of(message: Message, model: str, *, with_ids: bool) -> list[Mapping[str, Any]]:
    match message:
        case UserMessage(images=images):
            text = user_text(message)
            pictures = [_image_part(image) for image in images]
            # Gemini rejects an empty part.
            said = [*pictures, {"text": text or " "}] if text or not pictures else pictures
            return [*said, {"text": message.recalled}] if message.recalled else said
        case AssistantMessage():
            parts = _own_parts(message, model) or _build_parts(message)
            return _add_signatures(parts if with_ids else [_without_id(part) for part in parts])
        case ToolResult():
            result = {"name": _clean_name(message.name), "response": _response_part(message)}
            return [{"functionResponse": {"id": message.call_id, **result} if with_ids else result}]


def _image_part(image: Image) -> Mapping[str, Any]:
    if image.media_type not in _PICTURES:  # a GIF would have the whole request rejected
        return {"text": f"[a picture of a kind that you cannot see: {image.media_type}]"}
    data = base64.b64encode(image.data).decode("ascii")
    return {"inlineData": {"mimeType": image.media_type, "data": data}}


def _own_parts(message: AssistantMessage, model: str) -> Sequence[Mapping[str, Any]]:
    """Return the original parts if `model` wrote them."""
    if message.raw and message.raw.kind == KIND and message.model == model:
        parts: Sequence[Mapping[str, Any]] = message.raw.content["parts"]
        return parts
    return ()


def _build_parts(message: AssistantMessage) -> Sequence[Mapping[str, Any]]:
    text_parts = [{"text": message.text}] if message.text else []
    return [*text_parts, *map(_call_part, message.calls)]


def _call_part(call: ToolCall) -> Mapping[str, Any]:
    return {
        "functionCall": {
            "id": call.id,
            "name": _clean_name(call.name),
            "args": _parse_object(call.arguments) or {},
        }
    }


def _add_signatures(parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Add the signature that Gemini 3 and later require on a step's first call; older models ignore it."""
    signed = list(parts)
    first = next((place for place, part in enumerate(signed) if "functionCall" in part), None)
    if first is not None and not signed[first].get("thoughtSignature"):
        signed[first] = {**signed[first], "thoughtSignature": NO_SIGNATURE}
    return signed


def _without_id(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if "functionCall" not in part:
        return part
    call = {key: value for key, value in part["functionCall"].items() if key != "id"}
    return {**part, "functionCall": call}


def _response_part(result: ToolResult) -> Mapping[str, Any]:
    """Return a result as an object; the API names the wrapper for other values "output" or "error"."""
    found = _parse_object(result.content)
    if result.failed and (found is None or "error" not in found):
        return {"error": result.content}
    return {"output": result.content} if found is None else found


def _clean_name(name: str) -> str:
    """Return a valid tool name: an invented one from another model would have the whole request rejected."""
    return _INVALID_NAME_CHARACTERS.sub("_", name)[:MAX_NAME_CHARS] or "_"


def _parse_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in `text`; None for anything else, and for numbers that JSON lacks."""
    try:
        found = json.loads(text)
        json.dumps(found, allow_nan=False)  # NaN and 1e999 parse, but would break the whole request
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
