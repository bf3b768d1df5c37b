"""What a chat would show of messages, and whether Telegram would take them."""

import re

from adapters.markdown.layout import FileMessage
from adapters.telegram.markdown.messages import FORMAT, Entity, TextMessage

QUOTES = ("blockquote", "expandable_blockquote")
STYLES = ("bold", "italic", "underline", "strikethrough", "spoiler")


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def covered(message: TextMessage, entity: Entity) -> str:
    """The text that an entity covers; raises where it would cut a surrogate pair."""
    data = message.text.encode("utf-16-le")
    return data[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def the_message(markdown: str, limit: int = 4096) -> TextMessage:
    (message,) = FORMAT.render(markdown, limit=limit)
    assert isinstance(message, TextMessage)
    return message


def text_of(markdown: str) -> str:
    return the_message(markdown).text


def entities_of(markdown: str) -> list[tuple[str, str]]:
    """Kind and covered text of each entity."""
    message = the_message(markdown)
    return [(entity.type, covered(message, entity)) for entity in message.entities]


def texts(messages: list[TextMessage | FileMessage]) -> list[str]:
    return [message.text if isinstance(message, TextMessage) else message.content for message in messages]


def assert_sendable(messages: list[TextMessage | FileMessage], limit: int = 4096) -> None:
    """As the Bot API documents it: within the limit, not blank, at most 100 entities, nested as they may be."""
    for message in messages:
        if isinstance(message, FileMessage):
            assert re.fullmatch(r"code(-\d+)?\.[a-z0-9]+", message.name)
            continue
        assert units(message.text) <= limit
        assert message.text.strip()
        assert len(message.entities) <= 100
        for entity in message.entities:
            assert entity.length > 0
            assert 0 <= entity.offset <= units(message.text) - entity.length
            assert covered(message, entity).strip()
            assert not entity.url or entity.url.startswith(("http://", "https://"))
        for number, one in enumerate(message.entities):
            for other in message.entities[number + 1 :]:
                assert _get_along(one, other), (one, other, message)


def _get_along(one: Entity, other: Entity) -> bool:
    first, second = sorted((one, other), key=lambda entity: (entity.offset, -entity.length))
    if first.offset + first.length <= second.offset:
        return True
    kinds = {first.type, second.type}
    within = second.offset + second.length <= first.offset + first.length
    if not within or first.type == second.type or kinds <= set(QUOTES):
        return False
    if kinds & {"code", "pre"}:
        return bool(kinds & set(QUOTES))
    return bool(kinds & {*STYLES, *QUOTES})
