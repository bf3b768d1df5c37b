"""Pure: answers that are offered as buttons, made to fit on one."""

from collections.abc import Iterable
from dataclasses import replace

from bot.messages import Choice
from bot.plain_text import one_line

SAYS_BYTES = 64
"""The longest line that comes back from a button."""
LABEL_CHARS = 40
"""Of a longer label the rest is not shown on a telephone."""


def offered(choices: Iterable[Choice]) -> tuple[Choice, ...]:
    """Those whose line fits, with labels that do."""
    return tuple(
        replace(each, label=one_line(each.label, limit=LABEL_CHARS)) for each in choices if fits(each.says)
    )


def fits(says: str) -> bool:
    """Whether a line can come back from a button as it is."""
    return "\n" not in says and len(says.encode("utf-8", "replace")) <= SAYS_BYTES
