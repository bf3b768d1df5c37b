"""What every step of `commonplace init` works with."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bot.config.errors import ConfigError
from bot.config.settings import Settings
from bot.setup import phrases
from bot.setup.errors import SetupFailed
from bot.setup.questions import AnswerOption, InvalidAnswer, Parse, Questions
from bot.setup.settings_files import SettingsFiles

if TYPE_CHECKING:
    from bot.setup.toml_edit import Keys

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Setup:
    """The files, the person, and the environment."""

    files: SettingsFiles
    questions: Questions
    environment: Mapping[str, str]
    runner: asyncio.Runner
    written: list[Path] = field(default_factory=list)
    """The files that were written, in their order."""
    bots: list[str] = field(default_factory=list)
    """The bots that know their owner, as people call them."""

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end, or until Ctrl-C."""
        return self.runner.run(work)

    def save(self) -> None:
        """Write the settings, and say which variables count more. Raises SetupFailed or `ConfigError`."""
        unsaved = self.files.unsaved
        outranked = self.files.save()
        self.written.extend(unsaved)
        for key, name in outranked.items():
            self.questions.say(
                phrases.VARIABLE_COUNTS_MORE.format(variable=name, key=key, file=self.files.file)
            )

    def keep(self) -> None:
        """Write what is set so far, so that Ctrl-C does not lose it; without a terminal, a step is written as a whole.

        Raises SetupFailed or `ConfigError`.
        """
        if not self.questions.is_unattended:
            self.save()

    def parse_as(self, *keys: str) -> Parse:
        """Return a function that accepts what the setting of these keys may be."""

        def parse(typed: str) -> str:
            self.check(keys, typed)
            return typed

        return parse

    def check(self, keys: "Keys", value: Any) -> Settings:
        """Return the settings with this value. Raises InvalidAnswer if they cannot have it."""
        try:
            return self.files.settings_with(keys, value)
        except ConfigError as error:
            raise InvalidAnswer(str(error)) from None

    def what_now(self, reason: str, *, is_rejected: bool, other: str, flag: str, parse: Parse) -> str:
        """Say why a test failed; return `again` to test the same, `other` to ask again, `keep` or `skip`.

        `other`: what can be entered instead. `flag`: of the key or token, and `parse` what accepts one; if
        it is pasted here, it answers that flag. Without a terminal, keep what could not be tested. Raises SetupFailed
        there for what `is_rejected`.
        """
        if self.questions.is_unattended and is_rejected:
            raise SetupFailed(phrases.REJECTED.format(reason=reason))
        self.questions.say((phrases.TEST_FAILED if is_rejected else phrases.NOT_TESTED).format(reason=reason))
        options = [
            AnswerOption("other", other),
            AnswerOption("keep", phrases.KEEP_REJECTED if is_rejected else phrases.KEEP_UNTESTED),
            AnswerOption("skip", phrases.SKIP),
        ]
        if not is_rejected:
            options.insert(0, AnswerOption("again", phrases.AGAIN))
        default = "keep" if self.questions.is_unattended else options[0].name
        answer = self.questions.choose("", phrases.AGAIN_TITLE, options, default=default, secret=parse)
        if answer in [option.name for option in options]:
            return answer
        self.questions.give(flag, answer)
        return "other"


def add_missing(entries: Sequence[str], entry: str) -> list[str]:
    """Return the entries with one more at the end, unless they have it."""
    return [*entries, *([] if entry in entries else [entry])]
