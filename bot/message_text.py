"""Renders a message as the model reads it: with the sender, the message it replies to, and a forward's author."""

from bot.messages import IncomingMessage
from bot.sanitize import one_line

NAME_CHARS = 80
QUOTED_CHARS = 2000


def render_message(message: IncomingMessage, *contents: str) -> str:
    """Return a message's text with its context; `contents`: its attachments, each as text."""
    parts = [*_render_quote(message), *_render_forward(message), message.text, *contents]
    text = "\n\n".join(part for part in parts if part.strip())
    name = speaker_name(message)
    return f"{name}: {text}" if name else text


def speaker_name(message: IncomingMessage) -> str:
    """Return the name to put before what is said; "" in a private chat."""
    return _clean_name(message.sender_name) if message.in_room else ""


def _render_quote(message: IncomingMessage) -> list[str]:
    quoted = message.quoted
    if quoted is None or not quoted.text.strip():
        return []
    whose = "what you said" if quoted.mine else _clean_name(quoted.sender_name) or "somebody"
    words = quoted.text.strip()
    cut = words if len(words) <= QUOTED_CHARS else f"{words[:QUOTED_CHARS].rstrip()} …"
    lines = "\n".join(f"> {line}".rstrip() for line in cut.splitlines())
    return [f"[In reply to {whose}:]\n{lines}"]


def _render_forward(message: IncomingMessage) -> list[str]:
    return [f"[Forwarded from {_clean_name(message.forwarded_from)}:]"] if message.forwarded_from else []


def _clean_name(name: str) -> str:
    """Return a name on one line, without square brackets, which would end the brackets around it."""
    return one_line(name.translate({ord("["): "(", ord("]"): ")"}), limit=NAME_CHARS)
