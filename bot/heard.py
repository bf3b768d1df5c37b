"""A message as the model reads it: who says it, what it replies to, whose words it passes on."""

from bot.messages import IncomingMessage
from bot.plain_text import one_line

NAME_CHARS = 80
QUOTED_CHARS = 2000


def said(message: IncomingMessage, *contents: str) -> str:
    """What was said, with what is around it; `contents`: what came along, each in words of its own."""
    parts = [*_quoted(message), *_forwarded(message), message.text, *contents]
    text = "\n\n".join(part for part in parts if part.strip())
    name = speaker(message)
    return f"{name}: {text}" if name else text


def speaker(message: IncomingMessage) -> str:
    """The name that stands before what is said; blank where one person talks alone."""
    return _name(message.sender_name) if message.in_room else ""


def _quoted(message: IncomingMessage) -> list[str]:
    quoted = message.quoted
    if quoted is None or not quoted.text.strip():
        return []
    whose = "what you said" if quoted.mine else _name(quoted.sender_name) or "somebody"
    words = quoted.text.strip()
    cut = words if len(words) <= QUOTED_CHARS else f"{words[:QUOTED_CHARS].rstrip()} …"
    lines = "\n".join(f"> {line}".rstrip() for line in cut.splitlines())
    return [f"[In reply to {whose}:]\n{lines}"]


def _forwarded(message: IncomingMessage) -> list[str]:
    return [f"[Forwarded from {_name(message.forwarded_from)}:]"] if message.forwarded_from else []


def _name(name: str) -> str:
    """On one line, with nothing that ends the brackets around it."""
    return one_line(name.translate({ord("["): "(", ord("]"): ")"}), limit=NAME_CHARS)
