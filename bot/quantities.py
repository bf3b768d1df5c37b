"""Format sizes for people in a chat, in their language."""

from bot import phrases
from bot.language.current import current_language
from bot.language.text import write_number
from memory.quantities import format_size


def size_in_words(count: float) -> str:
    """Return a size in bytes such as `312 bytes`, `1.2 MB` or `35 MB`."""
    number, _, unit = format_size(count).partition(" ")
    size = write_number(number, current_language())
    return phrases.SIZE_IN_BYTES.format(size=size) if unit == "bytes" else f"{size} {unit}"
