"""Claude's export: conversations.json, a list of conversations with their messages in order.

A message has `content`, blocks of text, thoughts, tool calls and results; older exports have only `text`, in which a
placeholder stands for everything but text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bot.imports.conversation import (
    ImportedConversation,
    ImportedFile,
    ImportedMessage,
    make_title,
    parse_moment,
    shorten,
    text_of,
)
from bot.imports.json_items import JsonItem

_ROLES: Mapping[str, Literal["user", "assistant"]] = {
    "human": "user",
    "user": "user",
    "assistant": "assistant",
}
_PLACEHOLDER = re.compile(r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?")
_BLANK_LINES = re.compile(r"\n{3,}")


class Claude:
    """Reads conversations of Claude."""

    name = "claude"
    shown = "Claude"
    large = "chat_messages"
    part_fields = frozenset({"sender", "content", "text"})

    def keep_part(self, key: str, part: Any) -> tuple[Any, int] | None:
        """Return a message, if anything was said in it."""
        role = _ROLES.get(text_of(part.get("sender"))) if isinstance(part, dict) else None
        if role is None:
            return None
        text, files = _read_text(part), tuple(_read_files(part))
        if not (text or files):
            return None
        message = ImportedMessage(
            text_of(part.get("uuid")), role, text, parse_moment(part.get("created_at")), files
        )
        return message, len(text) + sum(len(each.text) for each in files) + 100

    def read(self, item: JsonItem) -> ImportedConversation:
        """Return the messages in the order of the export."""
        fields = item.fields
        return ImportedConversation(
            id=text_of(fields.get("uuid")),
            title=make_title(fields.get("name")),
            at=parse_moment(fields.get("created_at")),
            messages=list(item.parts.get(self.large, {}).values()),
        )


def _read_text(message: Mapping[str, Any]) -> str:
    blocks = message.get("content")
    texts = [
        text_of(block.get("text")).strip()
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    said = "\n\n".join(filter(None, texts)) or text_of(message.get("text"))
    if "not supported on your current device" in said:
        said = _BLANK_LINES.sub("\n\n", _PLACEHOLDER.sub("", said))
    return shorten(said.strip())


def _read_files(message: Mapping[str, Any]) -> Iterator[ImportedFile]:
    seen = set[str]()
    for field in ("attachments", "files"):
        values = message.get(field)
        for each in values[:20] if isinstance(values, list) else ():
            if isinstance(each, dict):
                name = make_title(each.get("file_name")) or "pasted text"
                text = shorten(text_of(each.get("extracted_content")).strip())
                if text or name not in seen | {"pasted text"}:
                    seen.add(name)
                    yield ImportedFile(name, text)
