"""Format sizes and durations for people in a chat, in their language."""

from bot import phrases
from bot.language.current import current_language
from bot.language.text import write_number
from memory.quantities import format_size


def size_in_words(count: float) -> str:
    """Return a size in bytes such as `312 bytes`, `1.2 MB` or `35 MB`."""
    number, _, unit = format_size(count).partition(" ")
    size = write_number(number, current_language())
    return phrases.SIZE_IN_BYTES.format(size=size) if unit == "bytes" else f"{size} {unit}"


def duration_in_words(seconds: float) -> str:
    """Return a duration such as `45 s`, `12 min 5 s` or `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return phrases.SECONDS.format(seconds=whole)
    if whole < 3600:
        return phrases.MINUTES.format(minutes=whole // 60, seconds=whole % 60)
    return phrases.HOURS.format(hours=whole // 3600, minutes=whole % 3600 // 60)
