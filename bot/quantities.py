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
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return phrases.DURATION_SECONDS.format(seconds=rest)
    if minutes < 60:
        return phrases.DURATION_MINUTES_SECONDS.format(minutes=minutes, seconds=rest)
    return phrases.DURATION_HOURS_MINUTES.format(hours=minutes // 60, minutes=minutes % 60)


def rough_duration_in_words(seconds: float) -> str:
    """Return a rounded duration: `45 s`, `12 min`, `3 h`, `5 days`."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 59.5:
        return phrases.DURATION_SECONDS.format(seconds=round(seconds))
    if minutes < 60:
        return phrases.DURATION_MINUTES.format(minutes=minutes)
    if hours < 48:
        return phrases.DURATION_HOURS.format(hours=hours)
    return phrases.DURATION_DAYS.format(days=round(seconds / 86_400))
