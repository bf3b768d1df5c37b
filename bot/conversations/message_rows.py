"""Messages as stored rows: a kind never changes its meaning; a changed format gets a new kind.

A message of a person has `documents` since it is stored in parts; before, all of it stood in its `text`. It has
`edited` once its sender has edited it: a later entry has the new wording.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bot.conversations.inline_text import split_inline_text
from bot.messages import Quoted
from bot.models.protocol import (
    AssistantMessage,
    AttachedText,
    Image,
    Message,
    RawStep,
    ToolCall,
    ToolResult,
    UserMessage,
)
from memory.surrogates import replace_surrogates


def encode_message(message: Message, *, by: str = "") -> tuple[str, str]:
    """Return a message's kind and payload; `by`: `channel:id` of the speaker."""
    match message:
        case UserMessage():
            return "user", dump_json({**_encode_user_message(message), **({"by": by} if by else {})})
        case AssistantMessage(text, calls, model, raw, says):
            told = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
            step: dict[str, Any] = {"raw": {"kind": raw.kind, "content": raw.content}} if raw else {}
            if says:
                step["says"] = list(says)
            return "assistant", dump_json({"text": text, "calls": told, "model": model, **step})
        case ToolResult(call_id, name, content, failed):
            return "result", dump_json(
                {"call_id": call_id, "name": name, "content": content, "failed": failed}
            )


def decode_message(kind: str, fields: Mapping[str, Any]) -> Message:
    """Return a stored message. Raises ValueError, LookupError or TypeError if it is damaged."""
    match kind:
        case "user":
            return _decode_user_message(fields)
        case "assistant":
            calls = (ToolCall(call["id"], call["name"], call["arguments"]) for call in fields["calls"])
            raw = RawStep(**fields["raw"]) if "raw" in fields else None
            says = tuple(map(str, fields.get("says", ())))
            return AssistantMessage(fields["text"], tuple(calls), fields["model"], raw, says)
        case "result":
            return ToolResult(fields["call_id"], fields["name"], fields["content"], fields["failed"])
    raise LookupError(kind)


def dump_json(fields: Mapping[str, Any]) -> str:
    """Return a payload without lone surrogates, from a model or a terminal: no database or provider takes them."""
    return replace_surrogates(json.dumps(fields, ensure_ascii=False))


def _encode_user_message(message: UserMessage) -> dict[str, Any]:
    images = [{"type": each.media_type, "data": b64encode(each.data).decode()} for each in message.images]
    optional = {
        "images": images,
        "speaker": message.speaker,
        "quoted": asdict(message.quoted) if message.quoted else None,
        "forwarded_from": message.forwarded_from,
    }
    return {
        "text": message.text,
        "documents": [asdict(each) for each in message.documents],
        **{name: value for name, value in optional.items() if value},
    }


def _decode_user_message(fields: Mapping[str, Any]) -> UserMessage:
    text = fields["text"]
    images = tuple(Image(each["type"], b64decode(each["data"])) for each in fields.get("images", ()))
    if "documents" not in fields:
        return split_inline_text(text, images, fields.get("speaker", ""))
    return UserMessage(
        text,
        images,
        speaker=fields.get("speaker", ""),
        quoted=Quoted(**fields["quoted"]) if "quoted" in fields else None,
        forwarded_from=fields.get("forwarded_from", ""),
        documents=tuple(AttachedText(**each) for each in fields["documents"]),
    )
