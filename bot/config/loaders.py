"""Sources of settings for pydantic-settings: the environment and a folder of secret files.

pydantic-settings finds the variables, parses JSON, builds nested tables and merges the sources. This module adds
an error for a variable that names no setting, and provider names as in the file.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NestedSecretsSettingsSource,
)

from bot.config.errors import PREFIX, ConfigError, explain_unknown_variable, format_key, printable, shorten
from bot.config.schema import Model, describe_type, section_fields, strip_none, table_value, walk_keys
from bot.config.secret_files import FOLDER_VARIABLE, read_secrets

RESERVED_VARIABLES = {"COMMONPLACE_CONFIG", FOLDER_VARIABLE}

Keys = tuple[str, ...]


class EnvironmentSource(EnvSettingsSource):
    """The environment. Unknown variables are errors; `found` has name and text of each by the key that it sets."""

    def __init__(self, model: type[BaseSettings], variables: Mapping[str, Any], **options: Any) -> None:
        """`variables`: the content of the file. Providers that it names match whatever the case of the variable."""
        self._given = variables
        self.found: dict[Keys, tuple[str, str]] = {}
        super().__init__(model, **options)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        self.found = find_variables(self.settings_cls, super()._load_env_vars(), self._given)
        return {PREFIX + "__".join(keys): text for keys, (_, text) in self.found.items()}

    def _coerce_env_val_strict(self, field: FieldInfo | None, value: Any) -> Any:
        """Convert text to the field's type, or leave it as text for the model to reject."""
        if field is None or not isinstance(value, str):
            return value
        try:
            return TypeAdapter[Any](strip_none(field.annotation)).validate_strings(value)
        except ValueError:
            return value


class SecretFilesSource(EnvironmentSource, NestedSecretsSettingsSource):
    """Files in the secrets folder that are named like our variables; `found` has the path as the name."""

    def __init__(self, model: type[BaseSettings], variables: Mapping[str, Any], folder: Path) -> None:
        super().__init__(model, variables, secrets_dir=folder, secrets_dir_missing="ok")
        self.found = {keys: (str(folder / name), text) for keys, (name, text) in self.found.items()}

    @classmethod
    def load_secrets(cls, path: Path) -> dict[str, str]:
        """Read only our own files: the folder may hold others, which we may not be allowed to read."""
        return read_secrets(path)


def merge_tables(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of several files as one; where two set a key, the first one wins."""
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            ours = merged.get(key)
            if isinstance(ours, Mapping) and isinstance(value, Mapping):
                merged[key] = merge_tables((ours, value))
            else:
                merged.setdefault(key, value)
    return merged


def find_variables(
    model: Model, variables: Mapping[str, str | None], values: Mapping[str, Any]
) -> dict[Keys, tuple[str, str]]:
    """Return name and text of each variable by the key that it sets, sections before their keys.

    Empty variables count as not set. Raises `ConfigError` for a variable that names no key or is not JSON but must be.
    """
    found: dict[Keys, tuple[str, str]] = {}
    for name in sorted(variables, reverse=True):  # capitals come last, and win over lower case
        if not name.upper().startswith(PREFIX) or name.upper() in RESERVED_VARIABLES:
            continue
        parts = name[len(PREFIX) :].split("__")
        keys = _find_path(model, parts, values)
        path = list(walk_keys(model, keys))
        if not all(parts) or len(path) < len(keys):
            raise ConfigError(explain_unknown_variable(model, name, [part.lower() for part in parts]))
        if text := variables[name]:
            _check_json(name, keys, path[-1][1], text)
            found[keys] = (name, text)
    return dict(sorted(found.items(), key=lambda item: len(item[0])))


def _find_path(model: Model, parts: Iterable[str], given: Any) -> Keys:
    """Return the keys that a variable's parts mean; free names are spelt as in the file."""
    keys: list[str] = []
    annotation: Any = model
    for part in parts:
        key = part.lower()
        if section_fields(annotation) is None and table_value(annotation) is not None:
            names = (
                [name for name in given if _normalize_name(name) == _normalize_name(part)]
                if isinstance(given, Mapping)
                else []
            )
            key = names[0] if len(names) == 1 else key
        keys.append(key)
        given = given.get(key) if isinstance(given, Mapping) else None
        *_, annotation = [step for _, step, _ in walk_keys(model, keys)] or [None]
    return tuple(keys)


def _normalize_name(name: str) -> str:
    return name.lower().replace("-", "_")


def _check_json(name: str, keys: Keys, annotation: Any, text: str) -> None:
    """Raise `ConfigError` if a list or table is not given as JSON; other types take any text."""
    is_list = get_origin(annotation) is tuple
    if not is_list and get_origin(annotation) is not dict and section_fields(annotation) is None:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list if is_list else dict):
        allowed = describe_type(annotation) if is_list else "a table"
        raise ConfigError(f"{shorten(printable(name))} must be JSON: {format_key(keys)} is {allowed}")
