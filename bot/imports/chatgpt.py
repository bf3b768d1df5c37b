"""ChatGPT's export: conversations.json, or conversations-000.json and so on, each a list of trees of messages.

A conversation is a tree, since people edit their messages and ask for other answers; `current_node` is the end of the
branch that was shown last. Only what was shown is read: no hidden messages, thoughts, tool calls or results.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

_ROLES: Mapping[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}
_REFERENCE = re.compile(r"\ue200([^\ue200\ue201]*)\ue201")
_OLD_REFERENCE = re.compile(r"【\d+(?::\d+)?†[^】]{0,200}】")
_PICTURE = "picture"


@dataclass(frozen=True, slots=True)
class _Node:
    parent: str
    message: ImportedMessage | None
    at: float


class ChatGPT:
    """Reads conversations of ChatGPT."""

    name = "chatgpt"
    shown = "ChatGPT"
    large = "mapping"
    part_fields = frozenset({"message", "parent", "children"})

    def keep_part(self, key: str, part: Any) -> tuple[Any, int] | None:
        """Return a node of the tree with its message, if that was shown."""
        if not isinstance(part, dict):
            return None
        message = _read_message(key, part.get("message"))
        node = _Node(text_of(part.get("parent")), message, (message and message.at) or 0.0)
        return node, len(message.text) + 100 if message else 100

    def read(self, item: JsonItem) -> ImportedConversation:
        """Return the branch that was shown last."""
        nodes: Mapping[str, _Node] = item.parts.get(self.large, {})
        fields = item.fields
        messages = _messages_up_to(nodes, text_of(fields.get("current_node")))
        if not messages:  # the branch's end is missing, or the branch is a circle
            messages = _messages_up_to(nodes, _find_latest_leaf(nodes))
        return ImportedConversation(
            id=text_of(fields.get("conversation_id")) or text_of(fields.get("id")),
            title=make_title(fields.get("title")),
            at=parse_moment(fields.get("create_time")),
            messages=messages,
        )


def _messages_up_to(nodes: Mapping[str, _Node], end: str) -> list[ImportedMessage]:
    messages, seen = list[ImportedMessage](), set[str]()
    while (node := nodes.get(end)) and end not in seen:
        seen.add(end)
        if node.message:
            messages.append(node.message)
        end = node.parent
    messages.reverse()
    return messages


def _find_latest_leaf(nodes: Mapping[str, _Node]) -> str:
    """Return the id of the latest message that nothing follows; of the last message if all are followed."""
    parents = {node.parent for node in nodes.values()}
    said = [key for key, node in nodes.items() if node.message]
    leaves = [key for key in said if key not in parents] or said[-1:]
    return max(leaves, key=lambda key: nodes[key].at, default="")


def _read_message(key: str, message: Any) -> ImportedMessage | None:
    if not isinstance(message, dict):
        return None
    author, content, metadata = (_map_of(message.get(name)) for name in ("author", "content", "metadata"))
    role = _ROLES.get(text_of(author.get("role")))
    if (
        role is None
        or message.get("weight") == 0
        or message.get("recipient") not in (None, "", "all")
        or message.get("channel") not in (None, "", "final")
        or metadata.get("is_visually_hidden_from_conversation")
        or metadata.get("is_user_system_message")
    ):
        return None
    text, pictures = _read_content(content)
    files = (*_read_attachments(metadata), *(ImportedFile(_PICTURE) for _ in range(min(pictures, 10))))
    if not (text or files):
        return None
    return ImportedMessage(key, role, text, parse_moment(message.get("create_time")), files)


def _read_content(content: Mapping[str, Any]) -> tuple[str, int]:
    """Return what a message says, and how many pictures it shows."""
    kind = content.get("content_type", "text")
    if kind == "code":  # addressed to a person, since calls are left out before
        return shorten(text_of(content.get("text")).strip()), 0
    parts = content.get("parts")
    if kind not in ("text", "multimodal_text") or not isinstance(parts, list):
        return "", 0
    texts, pictures = list[str](), 0
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            pictures += part.get("content_type") == "image_asset_pointer"
            texts.append(text_of(part.get("text")))  # what was spoken, among others
    said = "\n\n".join(text.strip() for text in texts if text.strip())
    said = _OLD_REFERENCE.sub("", _REFERENCE.sub(lambda found: _name_of(found[1]), said))
    return shorten(said.strip()), pictures


def _name_of(reference: str) -> str:
    """Return the name in a reference to a person or place; other references have nothing to read."""
    kind, _, said = reference.partition("\ue202")
    if kind != "entity":
        return ""
    try:
        names = json.loads(said)
    except (ValueError, RecursionError):
        return ""
    return names[1] if isinstance(names, list) and len(names) > 1 and isinstance(names[1], str) else ""


def _read_attachments(metadata: Mapping[str, Any]) -> Iterator[ImportedFile]:
    attachments = metadata.get("attachments")
    for each in attachments[:20] if isinstance(attachments, list) else ():
        name = make_title(_map_of(each).get("name"))
        if name and not text_of(_map_of(each).get("mime_type")).startswith("image/"):
            yield ImportedFile(name)


def _map_of(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
