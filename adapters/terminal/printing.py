"""Print one reply to standard output, for `chat -m`."""

import sys

from bot.sanitize import strip_controls


def print_reply(text: str) -> None:
    """Print a reply: rendered on a terminal, unchanged elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console

        from adapters.terminal.rendering import show

        show(Console(highlight=False), text)
    else:
        sys.stdout.write(strip_controls(text).rstrip("\n") + "\n")
        sys.stdout.flush()
