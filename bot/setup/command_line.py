"""The commands that the setup tells people to type."""

import shlex
import shutil
import sys
from pathlib import Path

from bot.config.settings import config_file

PROGRAM = "commonplace"


def command_line(command: str, file: Path, *arguments: str) -> str:
    """Return what runs a command with this settings file, as one types it here."""
    is_found_here = file == config_file()
    if command == "run" and is_found_here and file.parent == Path.cwd() and is_clone(file.parent):
        return "make run"
    called = Path(sys.argv[0])
    program = PROGRAM if shutil.which(PROGRAM) or called.name != PROGRAM else str(called)
    return shlex.join([program, command, *([] if is_found_here else ["--config", str(file)]), *arguments])


def is_clone(folder: Path) -> bool:
    """Return whether the folder is a clone, with the files for Docker."""
    return (folder / "docker" / "setup").is_file() and (folder / "compose.yaml").is_file()
