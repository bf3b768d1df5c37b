"""The formats of conversations; one row each."""

from bot.imports.chatgpt import ChatGPT
from bot.imports.claude import Claude
from bot.imports.conversation import ConversationFormat
from bot.imports.json_items import JsonItem, KeepPart

CONVERSATION_FORMATS: tuple[ConversationFormat, ...] = (ChatGPT(), Claude())
NOTE_FORMATS = ("openclaw", "markdown")
FORMATS = ("auto", *(each.name for each in CONVERSATION_FORMATS), *NOTE_FORMATS)
"""The values of `--from`."""


def kept_parts() -> dict[str, KeepPart]:
    """Return what is kept of the parts of each format's large field, by the field."""
    return {each.large: each.keep_part for each in CONVERSATION_FORMATS}


def part_fields() -> dict[str, frozenset[str]]:
    """Return the fields by which the first part of each format's large field is recognised."""
    return {each.large: each.part_fields for each in CONVERSATION_FORMATS}


def find_format(item: JsonItem) -> ConversationFormat | None:
    """Return the format of a conversation by its fields; None if it is no conversation."""
    return next((each for each in CONVERSATION_FORMATS if each.large in item.parts), None)


def show_name(name: str) -> str:
    """Return a format's name as people write it."""
    shown = {each.name: each.shown for each in CONVERSATION_FORMATS}
    return shown.get(name, {"openclaw": "OpenClaw"}.get(name, "Markdown"))
