"""Pure: answers that are offered as buttons, made to fit on one."""

from collections.abc import Iterable
from dataclasses import replace

from bot.messages import Choice
from bot.sanitize import one_line

MAX_COMMAND_BYTES = 64
"""The longest line that comes back from a button."""
MAX_LABEL_CHARS = 40
"""Of a longer label the rest is not shown on a telephone."""


def buttons_for(choices: Iterable[Choice]) -> tuple[Choice, ...]:
    """Those whose line fits, with labels that do."""
    return tuple(
        replace(each, label=one_line(each.label, limit=MAX_LABEL_CHARS))
        for each in choices
        if fits_on_button(each.says)
    )


def fits_on_button(says: str) -> bool:
    """Whether a line can come back from a button as it is."""
    return "\n" not in says and len(says.encode("utf-8", "replace")) <= MAX_COMMAND_BYTES
