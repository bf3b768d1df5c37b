"""Pure: the text that a provider gets for a person's message."""

from collections.abc import Iterator

from bot.models.protocol import AttachedText, UserMessage
from bot.prompt import WEEKDAYS
from bot.sanitize import one_line

NAME_CHARS = 80
QUOTED_CHARS = 2000


def user_text(message: UserMessage) -> str:
    """Return everything about a message that is not an image, without what was recalled for it.

    It never changes for a stored message, since providers charge little for a prefix that they have cached.
    """
    text = message.text
    if message.documents or message.quoted or message.forwarded_from:
        text = "\n\n".join(part for part in _parts(message) if part.strip())
    if message.speaker and (name := _clean_name(message.speaker)):
        text = f"{name}: {text}"
    if message.said_on:
        text = f"[said on {WEEKDAYS[message.said_on.weekday()]}, {message.said_on.isoformat()}]\n{text}"
    return text


def shown_text(message: UserMessage) -> str:
    """Return `user_text` with what was recalled below it."""
    return "\n\n".join(filter(None, (user_text(message), message.recalled)))


def own_words(message: UserMessage) -> str:
    """Return what the person wrote and said aloud, without what they quoted or sent along."""
    spoken = [each.content for each in message.documents if each.spoken]
    return "\n\n".join(part for part in (message.text, *spoken) if part.strip()) if spoken else message.text


def _parts(message: UserMessage) -> Iterator[str]:
    if quoted := message.quoted:
        whose = "what you said" if quoted.mine else _clean_name(quoted.sender_name) or "somebody"
        words = quoted.text.strip()
        shown = words if len(words) <= QUOTED_CHARS else f"{words[:QUOTED_CHARS].rstrip()} …"
        lines = (f"> {line}".rstrip() for line in shown.splitlines())
        yield "\n".join([f"[In reply to {whose}:]", *lines])
    if message.forwarded_from:
        yield f"[Forwarded from {_clean_name(message.forwarded_from)}:]"
    yield message.text
    yield from map(_format_attached, message.documents)


def _format_attached(attached: AttachedText) -> str:
    if attached.spoken:
        return f"[In a {attached.heading}:]\n{attached.content}"
    heading = f"[Attached {attached.heading}]"
    mark = attached.mark
    return f"{heading}\n<<<{mark}\n{attached.content}\n{mark}>>>" if mark else heading


def _clean_name(name: str) -> str:
    """Return a name on one line, without square brackets, which would end the brackets around it."""
    return one_line(name.translate({ord("["): "(", ord("]"): ")"}), limit=NAME_CHARS)
