"""The lines that leave the terminal instead of being sent."""

LEAVING = ("exit", "quit", "/exit", "/quit")


def wants_to_leave(line: str) -> bool:
    """Return whether a line is nothing but a word that leaves the terminal."""
    return line.strip().lower() in LEAVING
