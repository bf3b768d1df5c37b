"""Choices as buttons below a message; what one says is its custom id, and comes back when it is pressed."""

from collections.abc import Iterable

from discord import ButtonStyle
from discord.ui import Button, View

from bot.messages import Choice
from bot.sanitize import one_line

MOST_BUTTONS = 25
"""Five rows of five are all that Discord shows below a message."""
LABEL_CHARS = 80
SAYS_CHARS = 100


def make_buttons(choices: Iterable[Choice]) -> View | None:
    """The buttons for these choices; None where there is none. To be called within a running loop.

    The library keeps no track of them: a press comes as an interaction, by whatever process it was offered.
    """
    view = View(timeout=None)
    said: set[str] = set()
    for choice in choices:
        if len(said) == MOST_BUTTONS:
            break
        # Discord refuses the whole message where two say the same.
        if choice.says in said or not choice.label.strip() or not 0 < len(choice.says) <= SAYS_CHARS:
            continue
        said.add(choice.says)
        label = one_line(choice.label, limit=LABEL_CHARS)
        view.add_item(Button(style=ButtonStyle.secondary, label=label, custom_id=choice.says))
    view.stop()
    return view if said else None
