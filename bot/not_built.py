"""Settings of parts that this version does not have: whoever sets one is told so before the start.

Each line goes when its part comes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.config import Settings


def not_built(settings: "Settings") -> Iterator[tuple[tuple[str, ...], str]]:
    """Each key that is set in vain, with what this version lacks."""
    if settings.index.url:
        yield ("index", "url"), "no index but its own file"
