"""Pure: how much of an answer is taken from a server that says whatever it likes."""

from collections.abc import Iterator

MOST_CALLS = 200
"""Tool calls of one answer. The agent runs far fewer; a model that has lost its way writes them without end."""
MOST_TOKENS = 100_000_000
"""That one answer can have cost: a larger count is no count, and no database takes it."""
MOST_LEVELS = 100
"""Of lists and objects in each other. What can just be read at 900 cannot be written again later, deeper in the
program: the step would be in the conversation, and each further turn would fail on it."""


def tokens(count: object) -> int:
    """Return a count of tokens as a provider sent it; 0 where it is none."""
    return count if type(count) is int and 0 < count <= MOST_TOKENS else 0


def is_nested_deeply(value: object) -> bool:
    """Return whether lists and objects stand in each other beyond MOST_LEVELS."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    yield from (each for each in value if isinstance(each, dict | list))
