"""Questions and their answers: given by flags, or typed at a terminal; else the default answers."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import wrap
from typing import Protocol, TypeVar

from bot.language.text import count_columns
from bot.setup import english, phrases
from bot.setup.errors import InvalidFlag
from memory.http_responses import explain_bad_key

Answer = TypeVar("Answer")

LEAST_SECRET = 12
"""Characters of what is taken for a key or token where a number was asked for."""
MOST_DIGITS_OF_A_MENU = 2

Parse = Callable[[str], str]
"""Returns the answer in its form for the settings. Raises InvalidAnswer."""


class InvalidAnswer(Exception):
    """The answer cannot be used; the text says what is allowed."""


class LinePrompt(Protocol):
    """Reads lines at a terminal."""

    def read(self, text: str, *, default: str, hidden: bool, words: Sequence[str] = ()) -> str:
        """Show `text` and return what is typed. Raises EOFError for Ctrl-D, KeyboardInterrupt for Ctrl-C.

        `words`: shown while they are typed, as nothing else is then: it may be a secret that was pasted.
        """

    def fileno(self) -> int:
        """Return the descriptor that the keys come from, to notice a line without asking for one."""


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """One of several answers."""

    name: str
    """The answer, as a flag gives it."""
    label: str
    needs: str = ""
    """What it needs, beside the label."""


def parse_secret(text: str) -> str:
    """Return a key or token that can be sent. Raises InvalidAnswer, without it."""
    if text.isdecimal() and len(text) <= MOST_DIGITS_OF_A_MENU:
        raise InvalidAnswer(phrases.TOO_SHORT)
    if explain_bad_key(text):
        raise InvalidAnswer(phrases.NOT_SENDABLE)
    return text


def _parse_text(parse: Parse, text: str) -> str:
    """Return what `parse` makes of the text. Raises InvalidAnswer, also for bytes that are not UTF-8."""
    if any(
        letter == "\ufffd" or "\ud800" <= letter <= "\udfff" for letter in text
    ):  # Python's marks for them
        raise InvalidAnswer(phrases.NOT_UTF_8)
    return parse(text)


def _break(line: str, width: int, hang: int = 0) -> str:
    """Break a line between words; the next ones begin below its first word, or at `hang` if there is room for it."""
    indent = line[: len(line) - len(line.lstrip())]
    if 0 < hang <= width // 2:
        indent = " " * hang
    if len(line) < width or width <= len(indent) + 1:
        return line
    return "\n".join(
        wrap(line, width - 1, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    )


def keep_text(text: str) -> str:
    """Return any answer unchanged."""
    return text


class Questions:
    """Asks at a terminal, or answers by flags and defaults. A flag answers once: what is asked again is typed."""

    def __init__(self, given: Mapping[str, str], prompt: LinePrompt | None = None) -> None:
        """`given`: answers by the name of their flag, without dashes; `prompt`: None without a terminal."""
        self._given = dict(given)
        self._prompt = prompt

    @property
    def is_unattended(self) -> bool:
        """Whether nobody can be asked."""
        return self._prompt is None

    def has(self, *flags: str) -> bool:
        """Return whether one of these flags is given and not used yet."""
        return any(flag in self._given for flag in flags)

    def give(self, flag: str, answer: str) -> None:
        """Answer the next question of this flag."""
        self._given[flag] = answer

    def say(self, text: str, *, verbatim: bool = False, hang: int = 0) -> None:
        """Print a text, at a terminal with its lines broken between words unless it is `verbatim`.

        `hang`: the column below which what is broken goes on, if there is room; by default, its first word's.
        """
        if not (verbatim or self.is_unattended):
            width = shutil.get_terminal_size().columns
            text = "\n".join(_break(line, width, hang) for line in text.split("\n"))
        print(text, flush=True)

    def ask(
        self,
        flag: str,
        text: str,
        *,
        default: str = "",
        parse: Parse = keep_text,
        hidden: bool = False,
        words: Sequence[str] = (),
    ) -> str:
        """Return an answer that `parse` accepts; empty ones are the default. Raises InvalidFlag for a bad flag.

        `words`: see `LinePrompt.read`.
        """
        if (given := self._given.pop(flag, None)) is not None:
            try:
                return _parse_text(parse, given.strip())
            except InvalidAnswer as error:
                raise InvalidFlag(f"--{flag}: {error}") from None
        while self._prompt is not None:
            shown = "" if hidden and not words else default
            typed = self._prompt.read(text, default=shown, hidden=hidden, words=words).strip()
            if not typed:
                return default
            try:
                return _parse_text(parse, typed)
            except InvalidAnswer as error:
                self.say(phrases.INVALID.format(reason=error))
        return default

    def choose(
        self,
        flag: str,
        text: str,
        options: Sequence[AnswerOption],
        *,
        default: str,
        secret: Parse | None = None,
    ) -> str:
        """Return the name of an option, which is typed as its number or its name.

        `secret`: accepts a key or token that may be pasted instead, and is returned then.
        """
        names = [option.name for option in options]
        allowed = ", ".join(names) if self.is_unattended or self.has(flag) else f"1-{len(names)}"

        def parse(typed: str) -> str:
            if typed.isascii() and typed.isdecimal() and 0 < int(typed) <= len(names):
                return names[int(typed) - 1]
            if typed.lower() in names:
                return typed.lower()
            if secret and len(typed) >= LEAST_SECRET:
                return secret(typed)
            raise InvalidAnswer(phrases.NOT_AN_OPTION.format(allowed=allowed))

        if self._prompt is None or self.has(flag):
            return self.ask(flag, text, default=default, parse=parse)
        self.say(text)
        width = max(count_columns(option.label) for option in options)
        for number, option in enumerate(options, 1):
            label = option.label + " " * (width - count_columns(option.label))
            line = f"  {number:2}  {label}  {option.needs}".rstrip()
            self.say(line, hang=width + len("  99    "))
        at = str(names.index(default) + 1)
        words = (*names, *(str(number) for number in range(1, len(names) + 1)))
        hidden = secret is not None
        return parse(self.ask("", phrases.NUMBER, default=at, parse=parse, hidden=hidden, words=words))

    def confirm(self, flag: str, text: str, *, default: bool) -> bool:
        """Return whether the answer is yes."""
        if self._given.pop(flag, None) is not None:
            return True
        while self._prompt is not None:
            shown = f"{text} [{phrases.YES_DEFAULT if default else phrases.NO_DEFAULT}]"
            # The English answers count in every language: who is used to them types them.
            yes, no = {*phrases.YES, *english.YES}, {*phrases.NO, *english.NO}
            words = (*phrases.YES, *phrases.NO)
            typed = self._prompt.read(shown, default="", hidden=False, words=words).strip().lower()
            if not typed:
                return default
            if typed in yes or typed in no:
                return typed in yes
            self.say(phrases.YES_OR_NO)
        return default

    async def wait_unless_skipped(self, waiting: Awaitable[Answer], *, seconds: float) -> Answer | None:
        """Return the result of `waiting`; None if the person presses Enter before. Raises TimeoutError after `seconds`.

        What else is typed meanwhile is dropped.
        """
        assert self._prompt is not None
        loop, keys = asyncio.get_running_loop(), self._prompt.fileno()
        skipped = asyncio.Event()

        def read_line() -> None:
            typed = b""
            with suppress(OSError):  # the terminal is gone
                typed = os.read(keys, 1024)
            if not typed.strip():
                skipped.set()

        loop.add_reader(keys, read_line)
        work, skip = asyncio.ensure_future(waiting), asyncio.ensure_future(skipped.wait())
        try:
            done, _ = await asyncio.wait((work, skip), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TimeoutError
            return work.result() if work.done() else None
        finally:
            loop.remove_reader(keys)
            for task in (work, skip):
                task.cancel()
            await asyncio.gather(work, skip, return_exceptions=True)
