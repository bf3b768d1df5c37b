"""Check that the library for MCP is installed."""

from importlib.util import find_spec

from memory.installation import how_to_add


class LibraryMissing(Exception):
    """The library for MCP is not installed; the text says how to install it."""


def is_installed() -> bool:
    """Return whether the library is there; does not import it."""
    return find_spec("mcp") is not None and find_spec("mcp_types") is not None


def check_library() -> None:
    """Raise `LibraryMissing` if the library is not installed."""
    if not is_installed():
        raise LibraryMissing(f"the library for MCP is not installed: run {how_to_add('mcp')}")
