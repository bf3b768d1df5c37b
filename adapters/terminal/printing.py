"""One reply on standard output, for `chat -m`."""

import sys

from bot.sanitize import strip_controls


def print_reply(text: str) -> None:
    """Print Markdown as Markdown on a terminal, as it stands elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console

        from adapters.terminal.rendering import show

        show(Console(highlight=False), text)
    else:
        sys.stdout.write(strip_controls(text).rstrip("\n") + "\n")
        sys.stdout.flush()
