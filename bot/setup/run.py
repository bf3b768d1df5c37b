"""Runs the steps of `commonplace init`, saves after each, and says what was set up."""

from collections.abc import Sequence
from pathlib import Path

from bot.config.errors import ConfigError
from bot.language.text import localize
from bot.process_lock import is_workspace_open
from bot.setup import phrases
from bot.setup.command_line import command_line
from bot.setup.errors import InvalidFlag, SetupFailed
from bot.setup.notes import make_folders
from bot.setup.setup import Setup
from bot.setup.steps import Step


def run_steps(setup: Setup, steps: Sequence[Step]) -> dict[str, str]:
    """Take the steps without a terminal; return what each has set, by its name. Raises SetupFailed, InvalidFlag."""
    return {step.name: _take(setup, step) for step in steps}


def ask_steps(setup: Setup, steps: Sequence[Step]) -> bool:
    """Take the steps at a terminal; return False if the person ended it. What was saved stays.

    Raises SetupFailed.
    """
    questions, files = setup.questions, setup.files
    done: dict[str, str] = {}
    already = 0
    is_whole = len(steps) > 1
    try:
        if is_whole:
            questions.say(phrases.WELCOME)
        for step in steps:
            questions.say(phrases.STEP.format(title=step.title))
            already = len(setup.written)
            try:
                done[step.name] = _take(setup, step)
            except SetupFailed as error:
                if not is_whole:
                    raise
                questions.say(phrases.TEST_FAILED.format(reason=error))
                files.discard()
        setup.save()
        make_folders(files.settings())
    except (KeyboardInterrupt, EOFError):
        titles = [localize(step.title) for step in steps if done.get(step.name)]
        questions.say(phrases.ENDED.format(kept=_explain_kept(setup, titles, setup.written[already:])))
        return False
    _say_what_is_set(setup, steps, done)
    return True


def _explain_kept(setup: Setup, titles: Sequence[str], files: Sequence[Path]) -> str:
    """Return what stays after Ctrl-C: the finished steps, and the files of the one that was not finished."""
    kept = []
    if titles:
        kept.append(phrases.KEPT.format(summary=", ".join(titles)))
    if files:
        here = setup.files.file.parent
        names = (each.name if each.parent == here else str(each) for each in files)
        kept.append(phrases.KEPT_FILES.format(files=", ".join(dict.fromkeys(names))))
    if not kept:
        return phrases.KEPT_NOTHING
    return " ".join([*kept, phrases.GO_ON.format(command=command_line("init", setup.files.file))])


def _take(setup: Setup, step: Step) -> str:
    try:
        summary = step.take(setup)
        unused = [flag for flag in step.flags if setup.questions.has(flag)]
        if unused and setup.questions.is_unattended:
            others = ", ".join(f"--{flag}" for flag in step.flags)
            raise InvalidFlag(phrases.UNUSED_FLAG.format(flag=unused[0], others=others))
        setup.save()
    except ConfigError as error:
        raise SetupFailed(str(error)) from None
    return summary


def _say_what_is_set(setup: Setup, steps: Sequence[Step], done: dict[str, str]) -> None:
    say, files = setup.questions.say, setup.files
    has_secrets = files.secrets_file.exists()
    secrets = phrases.DONE_SECRETS.format(file=files.secrets_file.name) if has_secrets else ""
    is_changed = bool(setup.written or done.get("service"))
    begins = phrases.DONE if is_changed else phrases.NOTHING_CHANGED
    say(phrases.HAS_SETTINGS.format(begins=begins, file=files.file, secrets=secrets))
    for step in steps:
        if done.get(step.name):
            say(phrases.SET_UP.format(title=step.title, summary=done[step.name]))
    settings = files.settings()
    if not done.get("notes"):
        say(phrases.NOTES_ARE_IN.format(folder=settings.memory_folder))
    if not done.get("service"):  # whose step says how to start it
        is_running = is_workspace_open(settings.private_folder / "locks", sweep=False)
        if not is_running:
            say(phrases.NEXT_START.format(command=command_line("run", files.file)))
        elif is_changed:
            say(phrases.NEXT_RELOAD if list(done) == ["model"] else phrases.NEXT_RESTART)
    where = phrases.WRITE_TO.format(bot=setup.bots[0]) if setup.bots else phrases.SAY_HERE
    say(phrases.NEXT_SAY.format(where=where))
