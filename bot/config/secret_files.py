"""Reads secrets from files in a folder such as /run/secrets, each named after the variable that it sets."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from bot.config.errors import PREFIX, ConfigError, printable

FOLDER_VARIABLE = "COMMONPLACE_SECRETS_DIR"
_NAME = re.compile(rf"{PREFIX}[A-Z0-9_]+|[A-Z0-9_]+(_API_KEY|_TOKEN)")
"""Names of our files; others in the folder are never opened."""


def secrets_folder() -> Path | None:
    """Return the folder that `COMMONPLACE_SECRETS_DIR` names; None if unset. Raises `ConfigError`."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    try:
        return Path(named).expanduser() if named else None
    except RuntimeError:
        raise ConfigError(f"{FOLDER_VARIABLE} is {named!r}, but that home folder does not exist") from None


def read_secrets(folder: Path) -> dict[str, str]:
    """Return the text of each secret by its variable, without empty files; a missing folder counts as empty.

    Raises `ConfigError` if a file cannot be read.
    """
    return {file.name: text for file in _list_files(folder) if (text := _read(file))}


def export_secrets() -> None:
    """Set variables without our prefix, such as OPENAI_API_KEY, from their files if they are unset or empty.

    Settings, `COMMONPLACE_...`, are read from the files by `load_settings`.
    """
    if folder := secrets_folder():
        for name, text in read_secrets(folder).items():
            if not name.startswith(PREFIX) and not os.environ.get(name):
                os.environ[name] = text


def _list_files(folder: Path) -> Iterator[Path]:
    try:
        for file in sorted(folder.iterdir()):
            # A broken link is a missing secret: reading it raises the error.
            if _NAME.fullmatch(file.name) and (file.is_file() or not file.exists()):
                yield file
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"{printable(str(folder))} cannot be read: {error.strerror}") from None


def _read(file: Path) -> str:
    name = printable(str(file))
    try:
        text = file.read_text("utf-8-sig").strip()  # may have been written on Windows
    except OSError as error:
        fix = f"make it readable by user {os.geteuid()}"
        raise ConfigError(f"{name} cannot be read: {error.strerror}; {fix}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{name} cannot be read: it is not UTF-8 text") from None
    if "\0" in text:
        raise ConfigError(f"{name} cannot be read: it is not text")
    return text
