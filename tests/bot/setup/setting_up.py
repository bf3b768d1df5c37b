"""Takes one step of the setup in a thread, beside the fakes that run in the test's loop."""

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bot.setup.questions import Questions
from bot.setup.run import ask_steps, run_steps
from bot.setup.settings_files import SettingsFiles
from bot.setup.setup import Setup
from bot.setup.steps import STEPS, Step
from tests.fakes.typing_person import Typed, TypingPerson


def step_named(name: str) -> Step:
    return next(step for step in STEPS if step.name == name)


async def answer(
    folder: Path, step: str, *answers: tuple[str, Typed], given: Mapping[str, str] | None = None
) -> SettingsFiles:
    """Take a step at a terminal, where these answers are typed; return what is on the disk then.

    The last of them may be a key that ends it.
    """
    is_ended = bool(answers) and isinstance(answers[-1][1], type)

    def take() -> SettingsFiles:
        files = SettingsFiles(folder / "config.toml")
        with closing(TypingPerson(*answers)) as person, asyncio.Runner() as runner:
            finished = ask_steps(
                Setup(files, Questions(given or {}, person), os.environ, runner), [step_named(step)]
            )
        assert finished is not is_ended
        return SettingsFiles(folder / "config.toml")

    return await asyncio.to_thread(take)


async def give(folder: Path, step: str, **given: str) -> SettingsFiles:
    """Take a step without a terminal, with these flags."""

    def take() -> SettingsFiles:
        files = SettingsFiles(folder / "config.toml")
        flags = {flag.replace("_", "-"): value for flag, value in given.items()}
        with asyncio.Runner() as runner:
            run_steps(Setup(files, Questions(flags), os.environ, runner), [step_named(step)])
        return SettingsFiles(folder / "config.toml")

    return await asyncio.to_thread(take)


def closed_address() -> str:
    """Return an address at which nobody answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def without_variables(monkeypatch: pytest.MonkeyPatch, names: Sequence[str] = ()) -> None:
    """Remove what the environment says about settings, keys and tokens; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "500")
    from tests.fakes.commonplace import leads_elsewhere

    for name in list(os.environ):
        if (
            name.startswith("COMMONPLACE_")
            or name.endswith(("_API_KEY", "_BOT_TOKEN"))
            or leads_elsewhere(name)
            or name in names
        ):
            monkeypatch.delenv(name)
