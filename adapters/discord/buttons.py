"""Choices as buttons below a message; a button's custom id returns as text when pressed."""

from collections.abc import Iterable

from discord import ButtonStyle
from discord.ui import Button, View

from bot.messages import Choice
from bot.sanitize import one_line

MAX_BUTTONS = 25
"""Discord shows at most five rows of five below a message."""
LABEL_CHARS = 80
SAYS_CHARS = 100


def make_buttons(choices: Iterable[Choice]) -> View | None:
    """Return buttons for the choices, or None if there are none; needs a running event loop.

    The library does not track them: a press arrives as an interaction, whichever process offered the buttons.
    """
    view = View(timeout=None)
    said: set[str] = set()
    for choice in choices:
        if len(said) == MAX_BUTTONS:
            break
        # Discord rejects a message with duplicate custom ids.
        if choice.says in said or not choice.label.strip() or not 0 < len(choice.says) <= SAYS_CHARS:
            continue
        said.add(choice.says)
        label = one_line(choice.label, limit=LABEL_CHARS)
        view.add_item(Button(style=ButtonStyle.secondary, label=label, custom_id=choice.says))
    view.stop()
    return view if said else None
