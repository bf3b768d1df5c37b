"""A person who answers the questions of `commonplace init` in their order."""

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

Typed: TypeAlias = "str | Callable[[], str] | type[BaseException]"
"""What is typed, what does something first, or what the keys Ctrl-C and Ctrl-D raise."""


class TypingPerson:
    """A `LinePrompt`. `answers`: words of each question, with what is typed; any other question fails the test."""

    def __init__(self, *answers: tuple[str, Typed]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.hidden: list[str] = []
        """Questions whose answers were not shown."""
        self._keys, self.keyboard = os.pipe()

    def read(self, text: str, *, default: str, hidden: bool, words: Sequence[str] = ()) -> str:
        """Answer a question."""
        self.asked.append(text)
        assert self.answers, f"nobody expected the question {text!r}"
        words, typed = self.answers.pop(0)
        assert words in text, f"{text!r} was asked instead of {words!r}"
        if hidden:
            self.hidden.append(text)
            assert default == "" or words, "a secret would be shown"
        if isinstance(typed, str):
            return typed
        if isinstance(typed, type):
            raise typed
        return typed()

    def fileno(self) -> int:
        """Return the descriptor of the keys."""
        return self._keys

    def press_enter(self) -> None:
        """Press Enter while nothing is asked."""
        os.write(self.keyboard, b"\n")

    def close(self) -> None:
        """Put the keyboard away; fails if a question was not asked."""
        os.close(self._keys)
        os.close(self.keyboard)
        assert not self.answers, f"these questions were not asked: {self.answers}"
