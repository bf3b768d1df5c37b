"""Makes answers fit on buttons."""

from collections.abc import Iterable
from dataclasses import replace

from bot.messages import Choice
from bot.sanitize import one_line

MAX_COMMAND_BYTES = 64
"""The longest command that a button can send back."""
MAX_LABEL_CHARS = 40
"""Telephones cut off longer labels."""


def buttons_for(choices: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return the choices whose command fits on a button, with shortened labels."""
    return tuple(
        replace(each, label=one_line(each.label, limit=MAX_LABEL_CHARS))
        for each in choices
        if fits_on_button(each.says)
    )


def fits_on_button(says: str) -> bool:
    """Return whether a button can send this line back unchanged."""
    return "\n" not in says and len(says.encode("utf-8", "replace")) <= MAX_COMMAND_BYTES
