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
    from bot.language.codes import ENGLISH, closest_language
    from bot.language.current import speaking
    from bot.language.system import system_language
    from bot.setup.prompts import open_prompt
    from bot.setup.questions import Questions
    from bot.setup.setup import Setup
    from bot.setup.steps import STEPS

    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said
    step = next((each for each in STEPS if options.folder == each.name), None)
    if not step:
        _refuse_mistyped_step(options.folder, [each.name for each in STEPS])
    file = _choose_file(None if step else options.folder, config)
    given = _read_answers(options, [flag for each in STEPS for flag in each.flags])
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not options.yes
    _check_purpose(file, step, given, at_terminal=at_terminal)
    files = _open_files(file, _choose_workspace(file, workspace))
    # What flags alone say is read by scripts, too.
    language = closest_language(files.settings().agent.language, system_language(os.environ))
    with speaking(language if at_terminal else ENGLISH), asyncio.Runner() as runner:
        questions = Questions(given, open_prompt() if at_terminal else None)
        setup = Setup(files, questions, os.environ, runner)
        if not at_terminal:
            return _write(setup, STEPS)
        from bot.setup.file_writing import check_writable
        from bot.setup.run import ask_steps

        check_writable(file)

        for number in (signal.SIGINT, signal.SIGTERM):  # says what is kept, and the terminal shows keys again
            signal.signal(number, signal.default_int_handler)
        return DONE if ask_steps(setup, [step] if step else STEPS) else INTERRUPTED


def _refuse_mistyped_step(folder: str | None, steps: Sequence[str]) -> None:
    """Raise if a folder that does not exist is nearly called like a step."""
    from difflib import get_close_matches

    if folder is None or Path(folder).name != folder or os.path.lexists(folder):
        return
    if near := get_close_matches(folder.lower(), steps, n=1, cutoff=0.75):
        from bot.setup import phrases

        raise WrongUsage(phrases.STEP_MISTYPED.format(step=near[0], folder=folder))


def _check_purpose(file: Path, step: "Step | None", given: Mapping[str, str], *, at_terminal: bool) -> None:
    """Raise if a flag is not of the step, or if nobody can be asked and nothing says what to do with these settings."""
    from bot.setup import phrases

    if step:
        flags = ", ".join(f"--{flag}" for flag in step.flags)
        if others := [flag for flag in given if flag not in step.flags]:
            raise WrongUsage(phrases.FLAG_OF_OTHER_STEP.format(flag=others[0], step=step.name, flags=flags))
        if not (given or at_terminal):
            raise WrongUsage(phrases.NEEDS_FLAG.format(step=step.name, flags=flags))
    if not (given or at_terminal) and os.path.lexists(file):
        raise CommandFailed(phrases.ALREADY_THERE.format(file=file))


def _write(setup: "Setup", steps: "Sequence[Step]") -> int:
    """Write what flags and defaults say, without a question."""
    from bot.setup import phrases
    from bot.setup.command_line import command_line
    from bot.setup.notes import make_folders
    from bot.setup.run import run_steps

    files = setup.files
    taken = [each for each in steps if setup.questions.has(*each.flags)]
    done = run_steps(setup, taken)
    setup.save()
    settings = files.settings()
    make_folders(settings)
    for each in taken:
        if done[each.name]:
            print(phrases.SET_UP.format(title=each.title, summary=done[each.name]))
    wrote = phrases.UNATTENDED_WROTE if setup.written else phrases.UNATTENDED_SAME
    print(wrote.format(file=files.file, folder=settings.memory_folder))
    if not done.get("service"):  # whose step says how to start it
        has_channel = any(each.is_configured for each in settings.channels.values())
        command = command_line("run" if has_channel else "chat", files.file)
        print(phrases.UNATTENDED_NEXT.format(command=command))
    return DONE


def _open_files(file: Path, workspace: Path | None) -> "SettingsFiles":
    """Open the settings to edit them. Raises `ConfigError` if they cannot be used as they are."""
    from bot.config.errors import ConfigError
    from bot.setup import phrases
    from bot.setup.settings_files import SettingsFiles

    try:
        files = SettingsFiles(file, workspace=workspace)
        files.settings()
    except ConfigError as error:
        raise ConfigError(phrases.CONFIG_BROKEN.format(error=error)) from None
    return files


def _choose_file(folder: str | None, config: Path | None) -> Path:
    """Return the settings file to write: `config`, else in `folder`, else the one that would be read here."""
    from bot.config.settings import config_file

    if folder is not None:
        if config is not None:
            from bot.setup import phrases

            raise WrongUsage(phrases.TWO_PLACES.format(folder=folder))
        config = Path(folder, "config.toml")
    return config_file(config) or Path.cwd() / "config.toml"


def _choose_workspace(file: Path, workspace: Path | None) -> Path | None:
    """Return the workspace that the option names, or that has notes from before there were settings; else None."""
    from bot.config.settings import data_folder, expand_home

    if workspace is not None:
        return expand_home(workspace, "workspace").absolute()
    here = Path.cwd()
    is_first = (
        file == here / "config.toml" and not os.path.lexists(file) and not (here / "workspace").exists()
    )
    return notes if is_first and (notes := data_folder()).is_dir() else None


def _read_answers(options: argparse.Namespace, flags: Sequence[str]) -> Mapping[str, str]:
    """Return the answers that flags give, by flag; those of files and of standard input are read."""
    from bot.setup import phrases

    values = {flag: getattr(options, flag.replace("-", "_")) for flag in flags}
    given = {flag: value for flag, value in values.items() if value not in (None, False)}
    if empty := [flag for flag, value in given.items() if not str(value).strip()]:
        raise WrongUsage(phrases.EMPTY_FLAG.format(flag=empty[0]))
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

    if file == STDIN and sys.stdin.isatty():
        raise WrongUsage(phrases.STDIN_IS_TERMINAL.format(flag=flag))
    try:
        text = (sys.stdin.read() if file == STDIN else Path(file).expanduser().read_text("utf-8-sig")).strip()
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        said = reason(error) if isinstance(error, OSError) else "it is not a text file"
        raise CommandFailed(phrases.CANNOT_READ_ANSWER.format(flag=flag, file=file, reason=said)) from None
    if not text:
        raise CommandFailed(phrases.EMPTY_ANSWER.format(flag=flag, file=file))
    return text
