"""Reads lines at a terminal: with a line editor, or plainly where the terminal can do no more."""

import getpass
import sys

from bot.setup.questions import LinePrompt


def open_prompt() -> LinePrompt:
    """Return the prompt that this terminal can show."""
    from prompt_toolkit.utils import is_dumb_terminal

    return PlainPrompt() if is_dumb_terminal() else EditedPrompt()


class _Keyboard:
    def fileno(self) -> int:
        """See `LinePrompt.fileno`."""
        return sys.stdin.fileno()


class EditedPrompt(_Keyboard):
    """Lines that can be edited; hidden ones show a star for each character."""

    def read(self, text: str, *, default: str, hidden: bool) -> str:
        """See `LinePrompt.read`."""
        from prompt_toolkit import prompt

        return prompt(_with_default(text, default), is_password=hidden)


class PlainPrompt(_Keyboard):
    """Plain lines; hidden ones without echo."""

    def read(self, text: str, *, default: str, hidden: bool) -> str:
        """See `LinePrompt.read`."""
        shown = _with_default(text, default)
        return getpass.getpass(shown) if hidden else input(shown)


def _with_default(text: str, default: str) -> str:
    return f"{text} [{default}]: " if default else f"{text}: "
