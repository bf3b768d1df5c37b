"""The settings file and the file of secrets beside it, edited together and written completely or not at all."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.config.errors import ConfigError, format_key
from bot.config.example import example_config
from bot.config.settings import (
    SECRETS_NAME,
    ReadFrom,
    Settings,
    check_tables,
    resolve_settings,
)
from bot.config.toml_file import MAX_FILE_BYTES, read_toml
from bot.setup import phrases
from bot.setup.errors import SetupFailed
from bot.setup.file_writing import PRIVATE_MODE, NewFile, write_files
from bot.setup.toml_edit import NotEditable, add_table, set_value

if TYPE_CHECKING:
    from bot.setup.toml_edit import Keys

MARK = "\ufeff"
"""The byte order mark, with which Windows editors often begin a file."""
WINDOWS_END = "\r\n"


@dataclass(slots=True)
class _Edited:
    """A file as it is on the disk, and as it is to be."""

    path: Path
    before: str | None = field(repr=False)
    """None if there is no file yet."""
    text: str = field(repr=False)
    """With plain line ends, unless the file has both kinds."""

    @property
    def is_changed(self) -> bool:
        return self.text != _plain_text(self.before)

    @property
    def tables(self) -> Mapping[str, Any]:
        return tomllib.loads(self.text)

    @property
    def content(self) -> bytes:
        """The new content, with the byte order mark and the line ends of the present one."""
        before = self.before or ""
        text = self.text.replace("\n", WINDOWS_END) if _has_windows_ends(before) else self.text
        return (MARK * before.startswith(MARK) + text).encode()


class SettingsFiles:
    """Edits are kept in memory until `save`; `discard` drops them."""

    def __init__(self, file: Path, *, workspace: Path | None = None) -> None:
        """`file` need not exist; then it will be the commented example. `workspace`: what is set with the first `save`.

        Raises `ConfigError` if a file is not TOML, or is none that can be edited.
        """
        self.file = file
        self._workspace = workspace
        if file == self.secrets_file:
            raise ConfigError(phrases.CALLED_LIKE_SECRETS.format(file=file))
        self._read()

    @property
    def secrets_file(self) -> Path:
        """The file of secrets, whether it exists or not."""
        return self.file.with_name(SECRETS_NAME)

    @property
    def is_new(self) -> bool:
        """Whether there is no settings file yet."""
        return self._config.before is None

    @property
    def unsaved(self) -> list[Path]:
        """The files that `save` would write."""
        return [each.path for each in (self._secrets, self._config) if each.is_changed]

    def set(self, keys: "Keys", value: Any) -> None:
        """Set a value in the settings file, or in that of secrets if it is there. Raises SetupFailed."""
        edited = self._holder(keys)
        if _value_of(edited.tables, keys) != value:
            self._edit(edited, keys, lambda text: set_value(text, keys, value))

    def add_table(self, keys: "Keys", values: Mapping[str, Any]) -> None:
        """Add a table to a list of tables, in the file that `set` would edit. Raises SetupFailed."""
        self._edit(self._holder(keys), keys, lambda text: add_table(text, keys, values))

    def _holder(self, keys: "Keys") -> _Edited:
        return self._config if _value_of(self._secrets.tables, keys) is None else self._secrets

    def _edit(self, edited: _Edited, keys: "Keys", edit: Callable[[str], str]) -> None:
        self._set_keys.append(keys)
        try:
            edited.text = edit(edited.text)
        except NotEditable as error:
            raise SetupFailed(phrases.NOT_EDITABLE.format(file=edited.path, advice=error)) from None

    def set_secret(self, keys: "Keys", value: str) -> None:
        """Set a value in the file of secrets, and empty it in the settings file. Raises SetupFailed."""
        self._set_keys.append(keys)
        try:
            self._secrets.text = set_value(self._secrets.text, keys, value)
            if _value_of(self._config.tables, keys):
                self._config.text = set_value(self._config.text, keys, "")
        except NotEditable:  # its advice would show the secret
            advice = f"set {format_key(keys)}"
            raise SetupFailed(phrases.NOT_EDITABLE.format(file=self.secrets_file, advice=advice)) from None

    def own(self, keys: "Keys") -> Any:
        """Return the value in the files, without the environment; None if there is none."""
        return _value_of(self._holder(keys).tables, keys)

    def settings(self) -> Settings:
        """Return the settings as they will be once this is saved. Raises `ConfigError`."""
        return self._resolve(check_tables(self._tables))

    def settings_with(self, keys: "Keys", value: Any) -> Settings:
        """Return the settings with this value, whatever a variable says. Raises `ConfigError`."""
        for key in reversed(keys):
            value = {key: value}
        return self._resolve(check_tables(self._tables, first=value))

    @property
    def _tables(self) -> dict[Path, Mapping[str, Any]]:
        return {each.path: each.tables for each in (self._secrets, self._config)}

    def _resolve(self, settings: Settings) -> Settings:
        return resolve_settings(settings, ReadFrom(self.file, self.secrets_file, self.file))

    def discard(self) -> None:
        """Drop what was not saved, and read the files again."""
        self._read()

    def save(self) -> Mapping[str, str]:
        """Write what has changed, secrets first; return what counts more than that: variables, by the key they set.

        Raises SetupFailed or `ConfigError`; nothing is half written.
        """
        changed = [each for each in (self._secrets, self._config) if each.is_changed]
        if not changed:
            return {}
        sources = self.settings().sources
        found = {format_key(keys): sources.find(keys) for keys in self._set_keys}
        for each in changed:
            if _read_text(each.path) != each.before:
                raise SetupFailed(phrases.CHANGED_MEANWHILE.format(file=each.path))
            if len(each.content) > MAX_FILE_BYTES:
                raise SetupFailed(phrases.TOO_LARGE.format(file=each.path))
        modes = {self._secrets.path: PRIVATE_MODE}
        write_files(*(NewFile(each.path, each.content, modes.get(each.path)) for each in changed))
        self._workspace = None
        self._read()
        return {key: source.name for key, source in found.items() if source and source.kind == "variable"}

    def _read(self) -> None:
        self._set_keys: list[Keys] = []
        config, secrets = _read_text(self.file), _read_text(self.secrets_file)
        text = example_config() if config is None else _plain_text(config)
        self._config = _Edited(self.file, config, text)
        self._secrets = _Edited(self.secrets_file, secrets, _plain_text(secrets))
        if self._workspace is not None:
            self.set(("workspace",), str(self._workspace))


def _plain_text(text: str | None) -> str:
    text = (text or "").removeprefix(MARK)
    return text.replace(WINDOWS_END, "\n") if _has_windows_ends(text) else text


def _has_windows_ends(text: str) -> bool:
    return 0 < text.count(WINDOWS_END) == text.count("\n")


def _value_of(tables: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if not isinstance(tables, Mapping):
            return None
        tables = tables.get(key)
    return tables


def _read_text(path: Path) -> str | None:
    """Return the text of a TOML file as it is; None if there is no file. Raises `ConfigError`."""
    if not os.path.lexists(path):
        return None
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe may never end
        raise ConfigError(phrases.NOT_A_SETTINGS_FILE.format(file=path))
    read_toml(path)  # says in our words what is wrong with it
    with path.open(encoding="utf-8", newline="") as stream:
        return stream.read()
