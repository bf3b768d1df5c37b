"""`commonplace init`: ask at a terminal, or write the settings that flags and defaults say."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.outcome import DONE, INTERRUPTED, CommandFailed, WrongUsage

if TYPE_CHECKING:
    from bot.setup.settings_files import SettingsFiles
    from bot.setup.setup import Setup
    from bot.setup.steps import Step

STDIN = "-"


def run_init(options: argparse.Namespace, *, config: Path | None, workspace: Path | None) -> int:
    """Set up Commonplace, or repeat one step of it; return the exit code.

    Raises CommandFailed, WrongUsage or `ConfigError`.
    """
    from bot.setup.errors import InvalidFlag, SetupFailed

    try:
        return _run_init(options, config=config, workspace=workspace)
    except SetupFailed as error:
        raise CommandFailed(str(error)) from error
    except InvalidFlag as error:
        raise WrongUsage(str(error)) from error


def _run_init(options: argparse.Namespace, *, config: Path | None, workspace: Path | None) -> int:
    from bot.setup.prompts import open_prompt
    from bot.setup.questions import Questions
    from bot.setup.setup import Setup
    from bot.setup.steps import STEPS

    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said
    step = next((each for each in STEPS if str(options.folder) == each.name), None)
    file = _choose_file(None if step else options.folder, config)
    given = _read_answers(options, [flag for each in STEPS for flag in each.flags])
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not options.yes
    if not at_terminal:
        _check_purpose(file, step, given)
    files = _open_files(file, workspace)
    _choose_workspace(files, file, workspace)
    with asyncio.Runner() as runner:
        questions = Questions(given, open_prompt() if at_terminal else None)
        setup = Setup(files, questions, os.environ, runner)
        if not at_terminal:
            return _write(setup, file, STEPS)
        from bot.setup.run import ask_steps

        signal.signal(signal.SIGINT, signal.default_int_handler)  # says what is kept
        return DONE if ask_steps(setup, [step] if step else STEPS) else INTERRUPTED


def _check_purpose(file: Path, step: "Step | None", given: Mapping[str, str]) -> None:
    """Raise if nothing says what to do with these settings, since nobody can be asked."""
    from bot.setup import phrases

    if step and not any(flag in given for flag in step.flags):
        flags = ", ".join(f"--{flag}" for flag in step.flags)
        raise WrongUsage(phrases.NEEDS_FLAG.format(step=step.name, flags=flags))
    if not given and os.path.lexists(file):
        raise CommandFailed(phrases.ALREADY_THERE.format(file=file))


def _write(setup: "Setup", file: Path, steps: "Sequence[Step]") -> int:
    """Write what flags and defaults say, without a question."""
    from bot.setup import phrases
    from bot.setup.run import make_folders, run_steps

    files = setup.files
    taken = [each for each in steps if setup.questions.has(*each.flags)]
    if files.is_new:
        files.save()
    done = run_steps(setup, taken)
    settings = files.settings()
    make_folders(settings)
    for each in taken:
        if done[each.name]:
            print(phrases.SET_UP.format(title=each.title, summary=done[each.name]))
    print(phrases.UNATTENDED_WROTE.format(file=file, folder=settings.memory_folder))
    print(phrases.UNATTENDED_NEXT.format(file=file))
    return DONE


def _open_files(file: Path, workspace: Path | None) -> "SettingsFiles":
    """Open the settings to edit them. Raises `ConfigError` if they cannot be used as they are."""
    from bot.config.errors import ConfigError
    from bot.setup import phrases
    from bot.setup.settings_files import SettingsFiles

    try:
        files = SettingsFiles(file.absolute(), workspace=workspace)
        files.settings()
    except ConfigError as error:
        raise ConfigError(phrases.CONFIG_BROKEN.format(error=error)) from None
    return files


def _choose_file(folder: Path | None, config: Path | None) -> Path:
    """Return the settings file to write: `config`, else in `folder`, else the one that would be read here."""
    if config is not None:
        return config
    if folder is not None:
        return folder / "config.toml"
    from bot.config.settings import config_file

    named = config_file() if os.environ.get("COMMONPLACE_CONFIG") else None
    return named or Path("config.toml")


def _choose_workspace(files: "SettingsFiles", file: Path, workspace: Path | None) -> None:
    from bot.config.settings import data_folder

    if workspace is None and files.is_new and file == Path("config.toml") and not Path("workspace").exists():
        # Notes that are older than the settings file stay where they are.
        workspace = notes if (notes := data_folder()).is_dir() else None
    if workspace is not None:
        files.set(("workspace",), str(workspace.absolute()))


def _read_answers(options: argparse.Namespace, flags: Sequence[str]) -> Mapping[str, str]:
    """Return the answers that flags give, by flag; those of files and of standard input are read."""
    from bot.setup import phrases

    given = {flag: value for flag in flags if (value := getattr(options, flag.replace("-", "_")))}
    if list(given.values()).count(STDIN) > 1:
        raise WrongUsage(phrases.ONE_STDIN)
    return {
        flag: _read_answer(flag, str(value))
        if flag.endswith("-file")
        else "yes"
        if value is True
        else str(value)
        for flag, value in given.items()
    }


def _read_answer(flag: str, file: str) -> str:
    from bot.setup import phrases
    from memory.disk import reason

    try:
        text = (sys.stdin.read() if file == STDIN else Path(file).expanduser().read_text("utf-8-sig")).strip()
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        said = reason(error) if isinstance(error, OSError) else "it is not a text file"
        raise CommandFailed(phrases.CANNOT_READ_ANSWER.format(flag=flag, file=file, reason=said)) from None
    if not text:
        raise CommandFailed(phrases.EMPTY_ANSWER.format(flag=flag, file=file))
    return text
