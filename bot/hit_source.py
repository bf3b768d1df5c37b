"""Whose words a search result is, for people."""

from typing import TYPE_CHECKING

from bot import phrases
from memory.attribution import find_says

if TYPE_CHECKING:
    from memory.search import SearchHit


def describe_says(hit: "SearchHit") -> str:
    """Return a line that names whose words a hit is; "" for its writer's own, and if its text says so itself."""
    hidden = set(hit.says).difference(find_says(hit.snippet))
    return phrases.SAYS_WHO.format(names=phrases.COMMA.join(hit.says)) if hidden else ""
