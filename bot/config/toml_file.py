"""Reads the settings file as TOML; errors are one line with the position."""

import tomllib
from pathlib import Path
from typing import Any

from bot.config.errors import ConfigError, printable

MAX_FILE_BYTES = 1_000_000
MAX_DOTS = 1_000
"""Dots before the "=" of a line. tomllib takes quadratic time for a key of many parts."""


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises `ConfigError`, with line and column if they are known."""
    name = printable(str(file))
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"there is no settings file {name}") from None
    except IsADirectoryError:
        raise ConfigError(f"{name} is a folder; the settings must be a file") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"{name} is larger than 1 MB, too large for a settings file")
    try:
        text = content.decode("utf-8-sig")  # Windows editors often add a byte order mark
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        raise ConfigError(f"{name} is not UTF-8 text ({_position(before)})") from None
    if any(line.partition("=")[0].count(".") > MAX_DOTS for line in text.splitlines()):
        raise ConfigError(f"{name} is not valid TOML: it is nested too deeply")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error).replace("at end of document", f"at {_position(text)}")
        raise ConfigError(f"{name} is not valid TOML: {printable(reason)}") from None
    except ValueError:
        raise ConfigError(f"{name} is not valid TOML: a number in it is too long") from None
    except RecursionError:
        raise ConfigError(f"{name} is not valid TOML: it is nested too deeply") from None


def _position(before: str) -> str:
    lines = before.split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"
