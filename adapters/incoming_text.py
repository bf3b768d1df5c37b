"""What is alike in the texts that platforms bring; no I/O."""

from collections.abc import Callable, Sequence

from bot.sanitize import one_line
from memory.surrogates import replace_surrogates

_BLANK = " \t\n\r,:;\N{NO-BREAK SPACE}"
"""What may stand between a mention of the bot and the text."""


def clean_line(text: str | None) -> str:
    """Return a name or title in one line; "" for None."""
    return one_line(replace_surrogates(text or ""))


def trim_mentions(
    part: Callable[[int, int], str], end: int, mentions: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return the bounds of a text without mentions at its ends; all of it if nothing else is left.

    `part` returns the text between two offsets, `end` is the last one; a character of `_BLANK` takes one.
    """
    first, last = 0, end
    for start, stop in mentions:
        if not part(first, start).strip(_BLANK):
            first = stop
    for start, stop in reversed(mentions):
        if start >= first and not part(stop, last).strip(_BLANK):
            last = start
    text = part(first, last)
    if not text.strip(_BLANK):
        return 0, end
    if first:
        first += len(text) - len(text.lstrip(_BLANK))
    if last < end:
        last -= len(text) - len(text.rstrip(_BLANK))
    return first, last
