"""Pure: limits on what is accepted from a server's answer."""

from collections.abc import Iterator

MAX_TOOL_CALLS = 200
"""Maximum tool calls in one answer. The agent runs far fewer, but a derailed model writes them without end."""
MAX_TOKENS = 100_000_000
"""Maximum plausible token count of one answer: larger counts are ignored, and no database column holds them."""
MAX_NESTING = 100
"""Maximum nesting of lists and objects. JSON that can just be parsed at 900 levels cannot be encoded again
deeper in the call stack: the step would be stored, and every later turn would fail on it."""


def tokens(count: object) -> int:
    """Return a token count as a provider sent it; 0 if it is not a plausible count."""
    return count if type(count) is int and 0 < count <= MAX_TOKENS else 0


def is_nested_deeply(value: object) -> bool:
    """Return whether lists and objects are nested more than MAX_NESTING deep."""
    level = [value]
    for _ in range(MAX_NESTING):
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
