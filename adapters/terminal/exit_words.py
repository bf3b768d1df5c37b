"""Words that leave the terminal instead of being sent."""

EXIT_WORDS = ("exit", "quit", "/exit", "/quit")


def is_exit(line: str) -> bool:
    """Return whether a line is only a word that leaves the terminal."""
    return line.strip().lower() in EXIT_WORDS
