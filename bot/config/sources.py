"""Where settings come from: the TOML file and the environment, read into the same nested tables."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_origin

from bot.config.errors import PREFIX, ConfigError, dotted, printable, shortened, unknown_variable
from bot.config.fields import Model, fields_of, follow, in_words, table_of

LARGEST_FILE = 1_000_000
NOT_SETTINGS = {"COMMONPLACE_CONFIG"}
WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f", "n"), False),
}


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a TOML file; raise `ConfigError`, with line and column where there is one."""
    name = printable(str(file))
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise ConfigError(f"there is no settings file {name}") from None
    except IsADirectoryError:
        raise ConfigError(f"{name} is a folder; the settings must be a file") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > LARGEST_FILE:
        raise ConfigError(f"{name} is larger than 1 MB; that is no settings file")
    try:
        text = content.decode("utf-8-sig")  # Windows editors like to put a byte order mark in front
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        raise ConfigError(f"{name} is not UTF-8 text ({_position(before)})") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error).replace("at end of document", f"at {_position(text)}")
        raise ConfigError(f"{name} is not valid TOML: {printable(reason)}") from None
    except ValueError:
        raise ConfigError(f"{name} is not valid TOML: a number in it is too long") from None
    except RecursionError:
        raise ConfigError(f"{name} is not valid TOML: it is nested too deeply") from None


def read_environment(
    model: Model, environ: Mapping[str, str], given: Mapping[str, Any]
) -> dict[tuple[str, ...], tuple[str, Any]]:
    """What the variables set: key → (variable, value), sections before what is in them.

    `given` is what the file holds: a provider that it names is found again whatever the case of its letters.
    An empty variable counts as not set; one that names no key raises `ConfigError`.
    """
    found = {}
    for name in sorted(environ, reverse=True):
        if not name.upper().startswith(PREFIX) or name.upper() in NOT_SETTINGS:
            continue
        parts = name[len(PREFIX) :].split("__")
        keys = _known_path(model, parts, given)
        path = list(follow(model, keys))
        if not all(parts) or len(path) < len(keys):
            raise ConfigError(unknown_variable(model, name, [part.lower() for part in parts]))
        if environ[name]:
            found[keys] = (name, _value(name, keys, path[-1][1], environ[name]))
    return dict(sorted(found.items(), key=lambda item: len(item[0])))


def with_environment(
    tables: Mapping[str, Any], found: Mapping[tuple[str, ...], tuple[str, Any]]
) -> dict[str, Any]:
    """The file's tables with what `read_environment` has found put in: what both have is the environment's."""
    merged = dict(tables)
    for keys, (_, value) in found.items():
        table = merged
        for key in keys[:-1]:
            below = table.get(key)
            table[key] = dict(below) if isinstance(below, Mapping) else {}
            table = table[key]
        table[keys[-1]] = _laid_over(table.get(keys[-1]), value)
    return merged


def _laid_over(table: Any, value: Any) -> Any:
    if not (isinstance(table, Mapping) and isinstance(value, Mapping)):
        return value
    return {**table, **{key: _laid_over(table.get(key), each) for key, each in value.items()}}


def _known_path(model: Model, parts: Iterable[str], given: Any) -> tuple[str, ...]:
    """The keys that a variable's parts mean; the spelling of free names is the file's."""
    keys: list[str] = []
    annotation: Any = model
    for part in parts:
        key = part.lower()
        if fields_of(annotation) is None and table_of(annotation) is not None:
            names = (
                [name for name in given if _alike(name) == _alike(part)] if isinstance(given, Mapping) else []
            )
            key = names[0] if len(names) == 1 else key
        keys.append(key)
        given = given.get(key) if isinstance(given, Mapping) else None
        *_, annotation = [step for _, step, _ in follow(model, keys)] or [None]
    return tuple(keys)


def _alike(name: str) -> str:
    return name.lower().replace("-", "_")


def _value(name: str, keys: tuple[str, ...], annotation: Any, text: str) -> Any:
    """The text as the key's type; what does not fit stays text, for the model to refuse."""
    if annotation is bool:
        return WORDS.get(text.strip().lower(), text)
    if annotation is int:
        return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,4000}\s*", text) else text
    if annotation is float:
        try:
            return float(text)
        except ValueError:
            return text
    if get_origin(annotation) not in {tuple, dict} and fields_of(annotation) is None:
        return text
    wanted = list if get_origin(annotation) is tuple else dict
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, wanted):
        allowed = in_words(annotation) if wanted is list else "a table"
        raise ConfigError(f"{shortened(printable(name))} must be JSON: {dotted(keys)} is {allowed}")
    return value


def _position(before: str) -> str:
    lines = before.split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"
