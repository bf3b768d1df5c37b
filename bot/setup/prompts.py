"""Reads lines at a terminal: with a line editor, or plainly where the terminal can do no more."""

import getpass
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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

    def read(self, text: str, *, default: str, hidden: bool, words: Sequence[str] = ()) -> str:
        """See `LinePrompt.read`."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.application import get_app
        from prompt_toolkit.filters import Condition

        def is_other_text() -> bool:
            typed = get_app().current_buffer.text.strip().lower()
            return not any(word.startswith(typed) for word in words)

        is_hidden = Condition(is_other_text) if words else hidden
        with _kept_terminal_mode():
            return PromptSession[str](_with_default(text, default), is_password=is_hidden).prompt()


class PlainPrompt(_Keyboard):
    """Plain lines; hidden ones without echo."""

    def read(self, text: str, *, default: str, hidden: bool, words: Sequence[str] = ()) -> str:
        """See `LinePrompt.read`; without an editor, `words` are shown or hidden as a whole."""
        shown = _with_default(text, default)
        return getpass.getpass(shown) if hidden else input(shown)


@contextmanager
def _kept_terminal_mode() -> Iterator[None]:
    """Restore the terminal's mode, which the editor does not if a signal comes just when it changes it."""
    mode = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)


def _with_default(text: str, default: str) -> str:
    return f"{text} [{default}]: " if default else f"{text}: "
