"""The step about the notes: where they live, and which other folder is searched."""

import re
from pathlib import Path

from bot.config.settings import Settings
from bot.setup import phrases
from bot.setup.errors import InvalidFlag, SetupFailed
from bot.setup.note_count import count_notes
from bot.setup.questions import AnswerOption, InvalidAnswer, Parse
from bot.setup.setup import Setup
from memory.disk import make_private_folder, reason
from memory.settings import FolderSettings

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
    for vault in settings.memory.folders:
        questions.say(phrases.VAULT_NOW.format(vault=_describe_known(vault)))
    options = (
        AnswerOption(HERE, phrases.NOTES_HERE, str(settings.memory_folder)),
        AnswerOption(ELSEWHERE, phrases.NOTES_ELSEWHERE, phrases.NOTES_ELSEWHERE_NEEDS),
        AnswerOption(VAULT, phrases.NOTES_VAULT, phrases.NOTES_VAULT_NEEDS),
    )
    chosen = questions.choose("", phrases.ASK_NOTES, options, default=HERE)
    if chosen == ELSEWHERE:
        folder = _ask_for_workspace(setup)
        if folder:
            setup.files.set(("workspace",), folder)
            present = count_notes(settings.memory_folder)
            if present and setup.files.settings().memory_folder != settings.memory_folder:
                questions.say(phrases.NOTES_STAY.format(count=present, folder=settings.memory_folder))
    elif chosen == VAULT:
        return _add_vault(setup, settings)
    return _summarize(setup)


def _summarize(setup: Setup) -> str:
    """Return where the notes are, and which other folders are searched."""
    settings = setup.files.settings()
    vaults = (_describe_known(each) for each in settings.memory.folders)
    return "; ".join([str(settings.memory_folder), *vaults])


def _ask_for_workspace(setup: Setup) -> str:
    """Return the folder that was typed, with what a workspace has in it; "" for none.

    A folder with Markdown that would not be seen is taken only if that is confirmed.
    """

    def parse(typed: str) -> str:
        folder = str(_parse_path(typed))
        setup.check(("workspace",), folder)
        return folder

    questions = setup.questions
    while folder := questions.ask("", phrases.ASK_FOLDER, parse=parse):
        settings = setup.check(("workspace",), folder)
        if unseen := count_notes(Path(folder), except_in=settings.memory_folder):
            questions.say(phrases.NOTES_UNSEEN.format(count=unseen, folder=settings.memory_folder))
            if not questions.confirm("", phrases.ASK_UNSEEN, default=False):
                continue
        try:
            make_folders(settings)
        except SetupFailed as error:
            questions.say(phrases.INVALID.format(reason=error))
            continue
        return folder
    return ""


def _add_vault(setup: Setup, settings: Settings) -> str:
    present = [each.model_dump() for each in settings.memory.folders]

    def check(folder: str, name: str) -> None:
        setup.check(("memory", "folders"), [*present, {"path": folder, "name": name}])

    def find_known(folder: str) -> FolderSettings | None:
        folders = settings.memory.folders
        return next((each for each in folders if Path(each.path).resolve() == Path(folder).resolve()), None)

    def parse_vault(typed: str) -> str:
        folder = _parse_folder(typed)
        if find_known(folder) is None:
            check(folder, ANY_NAME)
        return folder

    def parse_name(typed: str) -> str:
        check(folder, typed)
        return typed

    folder = setup.questions.ask(VAULT, phrases.ASK_VAULT, parse=parse_vault)
    if not folder:
        return _summarize(setup)
    if known := find_known(folder):
        return _keep_vault(setup, known)
    setup.questions.say(phrases.VAULT_HAS.format(count=count_notes(Path(folder))))
    name = _ask_for_name(setup, suggest_name(folder), parse_name)
    write = setup.questions.confirm("vault-write", phrases.ASK_VAULT_WRITE, default=False)
    setup.files.add_table(("memory", "folders"), {"path": folder, "name": name, "write": write})
    return _describe(folder, name, write=write)


def _keep_vault(setup: Setup, known: FolderSettings) -> str:
    """Say that the vault is searched already. Raises InvalidFlag if flags want it otherwise."""
    questions, said = (
        setup.questions,
        phrases.ALREADY_SEARCHED.format(folder=known.path, name=known.shown_name),
    )
    name = questions.ask("vault-name", "") if questions.has("vault-name") else known.shown_name
    write = questions.has("vault-write") and questions.confirm("vault-write", "", default=False)
    if name != known.shown_name or (write and not known.write):
        raise InvalidFlag(f"--vault: {said}; change it there")
    questions.say(phrases.VAULT_CHANGE.format(already=said, file=setup.files.file))
    return _describe_known(known)


def _describe_known(known: FolderSettings) -> str:
    return _describe(known.path, known.shown_name, write=known.write)


def _describe(folder: str, name: str, *, write: bool) -> str:
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


def make_folders(settings: Settings) -> None:
    """Create the folders of the workspace. Raises SetupFailed."""
    try:
        make_private_folder(settings.private_folder)
        settings.memory_folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise SetupFailed(phrases.NOT_A_FOLDER.format(folder=error.filename)) from error
    except OSError as error:
        text = phrases.CANNOT_USE_FOLDER.format(folder=settings.workspace, reason=reason(error))
        raise SetupFailed(text) from error


def _parse_path(typed: str) -> Path:
    """Return the absolute path that is meant; terminals put quotes around a folder that is dragged there."""
    quoted = re.fullmatch(r"""(["'])(.+)\1""", typed)
    try:
        path = Path(quoted[2] if quoted else typed).expanduser().absolute()
        return path.resolve() if ".." in path.parts else path
    except (RuntimeError, OSError, ValueError) as error:
        raise InvalidAnswer(phrases.CANNOT_USE_FOLDER.format(folder=typed, reason=error)) from None


def _parse_folder(typed: str) -> str:
    folder = _parse_path(typed)
    if not folder.is_dir():
        raise InvalidAnswer(phrases.NOT_A_FOLDER.format(folder=folder))
    return str(folder)
