"""Exports as other assistants write them, with invented conversations."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MARCH = 1_772_500_000.0
"""A moment in March 2026, in seconds since 1970."""


def chatgpt_message(key: str, role: str, text: str, at: float | None, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
        **more,
    }


def chatgpt_conversation(
    key: str, said: Sequence[tuple[str, str]], *, title: str = "A talk", at: float = MARCH, **more: Any
) -> dict[str, Any]:
    """A tree with a root without a message, a hidden system message, and one branch; minutes apart."""
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    system = chatgpt_message(f"{key}-system", "system", "", None, **hidden)
    mapping: dict[str, Any] = {
        f"{key}-root": {"id": f"{key}-root", "message": None, "parent": None, "children": [f"{key}-system"]},
        f"{key}-system": {"id": f"{key}-system", "message": system, "parent": f"{key}-root", "children": []},
    }
    last = f"{key}-system"
    for number, (role, text) in enumerate(said):
        node = f"{key}-{number}"
        message = chatgpt_message(node, role, text, at + 60 * number)
        mapping[node] = {"id": node, "message": message, "parent": last, "children": []}
        mapping[last]["children"].append(node)
        last = node
    return {
        "title": title,
        "create_time": at,
        "update_time": at + 60 * len(said),
        "mapping": mapping,
        "moderation_results": [],
        "current_node": last,
        "plugin_ids": None,
        "conversation_id": key,
        "is_archived": False,
        "safe_urls": [],
        "id": key,
        **more,
    }


def claude_conversation(
    key: str, said: Sequence[tuple[str, str]], *, name: str = "A talk", day: str = "2026-03-03", **more: Any
) -> dict[str, Any]:
    messages = [
        {
            "uuid": f"{key}-{number}",
            "text": text,
            "content": [{"type": "text", "text": text, "citations": []}],
            "sender": sender,
            "created_at": f"{day}T10:{number:02}:00.123456Z",
            "updated_at": f"{day}T10:{number:02}:00.123456Z",
            "attachments": [],
            "files": [],
        }
        for number, (sender, text) in enumerate(said)
    ]
    return {
        "uuid": key,
        "name": name,
        "created_at": f"{day}T09:59:00.000000Z",
        "updated_at": f"{day}T11:00:00.000000Z",
        "account": {"uuid": "account-1"},
        "chat_messages": messages,
        **more,
    }


def talk(subject: str) -> list[tuple[str, str]]:
    return [("user", f"Where is the {subject}?"), ("assistant", f"The {subject} is in the attic.")]


def write_zip(file: Path, members: Mapping[str, object]) -> Path:
    """Write an archive; what is no bytes or text becomes JSON."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, bytes | str) else json.dumps(content))
    return file


def write_chatgpt_zip(file: Path, conversations: Sequence[object]) -> Path:
    """Write an export as OpenAI sends it."""
    return write_zip(
        file,
        {
            "chat.html": "<html><body>Everything once more</body></html>",
            "conversations.json": conversations,
            "message_feedback.json": [],
            "shared_conversations.json": [{"id": "s1", "conversation_id": "c1", "title": "Shared"}],
            "user.json": {"id": "user-1", "email": "anna@example.com", "chatgpt_plus_user": True},
            "file-abc-photo.png": b"\x89PNG\r\n\x1a\n",
        },
    )


def write_claude_zip(file: Path, conversations: Sequence[object]) -> Path:
    """Write an export as Anthropic sends it."""
    return write_zip(
        file,
        {
            "conversations.json": conversations,
            "projects.json": [{"uuid": "p1", "name": "House", "docs": []}],
            "users.json": [{"uuid": "account-1", "full_name": "Anna", "email_address": "anna@example.com"}],
            "memories.json": [{"conversations_memory": "Anna lives in Oslo.", "account_uuid": "account-1"}],
        },
    )
