"""The step about the notes: where they live, and which other folder is searched."""

import re
from pathlib import Path

from bot.config.settings import Settings
from bot.setup import phrases
from bot.setup.errors import InvalidFlag
from bot.setup.questions import AnswerOption, InvalidAnswer, Parse
from bot.setup.setup import Setup

ANY_NAME = "a-name-that-no-other-folder-has"
"""With which a folder is checked before its own name is known."""
HERE, ELSEWHERE, VAULT = "here", "folder", "vault"


def set_up_notes(setup: Setup) -> str:
    """Ask where the notes live, and for a vault; return what was set."""
    questions, settings = setup.questions, setup.files.settings()
    if questions.has(VAULT):
        return _add_vault(setup, settings)
    if questions.is_unattended:
        return ""
    options = (
        AnswerOption(HERE, phrases.NOTES_HERE, str(settings.memory_folder)),
        AnswerOption(ELSEWHERE, phrases.NOTES_ELSEWHERE, phrases.NOTES_ELSEWHERE_NEEDS),
        AnswerOption(VAULT, phrases.NOTES_VAULT, phrases.NOTES_VAULT_NEEDS),
    )
    chosen = questions.choose("", phrases.ASK_NOTES, options, default=HERE)
    if chosen == ELSEWHERE:
        folder = questions.ask("", phrases.ASK_FOLDER, parse=_parse_new_folder)
        if folder:
            setup.files.set(("workspace",), folder)
    elif chosen == VAULT:
        return _add_vault(setup, settings)
    return str(setup.files.settings().memory_folder)


def _add_vault(setup: Setup, settings: Settings) -> str:
    present = [each.model_dump() for each in settings.memory.folders]

    def check(folder: str, name: str) -> None:
        setup.check(("memory", "folders"), [*present, {"path": folder, "name": name}])

    def parse_vault(typed: str) -> str:
        folder = _parse_folder(typed)
        if any(Path(each.path).resolve() == Path(folder).resolve() for each in settings.memory.folders):
            raise InvalidAnswer(phrases.ALREADY_SEARCHED.format(folder=folder))
        check(folder, ANY_NAME)
        return folder

    def parse_name(typed: str) -> str:
        check(folder, typed)
        return typed

    folder = setup.questions.ask(VAULT, phrases.ASK_VAULT, parse=parse_vault)
    if not folder:
        return str(settings.memory_folder)
    name = _ask_for_name(setup, suggest_name(folder), parse_name)
    write = setup.questions.confirm("vault-write", phrases.ASK_VAULT_WRITE, default=False)
    setup.files.add_table(("memory", "folders"), {"path": folder, "name": name, "write": write})
    rights = phrases.VAULT_WRITE if write else phrases.VAULT_READ
    return phrases.VAULT_SET.format(folder=folder, name=name, rights=rights)


def _ask_for_name(setup: Setup, suggested: str, parse: Parse) -> str:
    try:
        parse(suggested)
    except InvalidAnswer as error:  # such as a name that another folder has
        if setup.questions.is_unattended and not setup.questions.has("vault-name"):
            raise InvalidFlag(f"--vault-name: {error}") from None
        suggested = ""
    name = ""
    while not name:
        name = setup.questions.ask("vault-name", phrases.ASK_VAULT_NAME, default=suggested, parse=parse)
    return name


def suggest_name(folder: str) -> str:
    """Return a name for a folder of notes, of letters, digits, - and _."""
    return re.sub(r"[^\w-]+", "-", Path(folder).name.lower()).strip("-_") or VAULT


def _parse_new_folder(typed: str) -> str:
    """Return the absolute path of a folder, which need not exist."""
    try:
        folder = Path(typed).expanduser().absolute()
        if folder.exists() and not folder.is_dir():
            raise InvalidAnswer(phrases.NOT_A_FOLDER.format(folder=folder))
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidAnswer(phrases.CANNOT_USE_FOLDER.format(folder=typed, reason=error)) from None
    return str(folder)


def _parse_folder(typed: str) -> str:
    folder = _parse_new_folder(typed)
    if not Path(folder).is_dir():
        raise InvalidAnswer(phrases.NOT_A_FOLDER.format(folder=folder))
    return folder
