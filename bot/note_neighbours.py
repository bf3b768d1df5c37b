"""Describe the notes that are linked with search results, in a line."""

from collections.abc import Sequence

from bot import phrases
from bot.visible_names import escape_path
from memory.search import Neighbour


def describe_neighbours(neighbours: Sequence[Neighbour]) -> str:
    """Return a line that names notes one step along links from the results, each with its link."""
    return phrases.NEIGHBOURS.format(notes=phrases.COMMA.join(map(_describe, neighbours)))


def _describe(neighbour: Neighbour) -> str:
    path, hit = escape_path(neighbour.path), escape_path(neighbour.hit)
    if neighbour.direction == "to":
        return phrases.NEIGHBOUR_OF.format(path=path, place=f"{hit}:{neighbour.line}")
    return phrases.NEIGHBOUR_TO.format(place=f"{path}:{neighbour.line}", hit=hit)
