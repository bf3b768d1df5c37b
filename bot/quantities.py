"""Format sizes and durations for people, in their language."""

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


def rough_duration_in_words(seconds: float) -> str:
    """Return a rounded duration: `45 s`, `12 min`, `3 h`, `5 days`."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 59.5:
        return phrases.SECONDS.format(seconds=round(seconds))
    if minutes < 60:
        return phrases.ROUGH_MINUTES.format(minutes=minutes)
    if hours < 48:
        return phrases.ROUGH_HOURS.format(hours=hours)
    return phrases.ROUGH_DAYS.format(days=round(seconds / 86_400))
