"""The settings file and the file of secrets beside it, edited together and written completely or not at all."""

import os
import stat
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bot.config.errors import format_key
from bot.config.example import example_config
from bot.config.settings import SECRETS_NAME, ReadFrom, Settings, check_tables, resolve_settings
from bot.config.toml_file import read_toml
from bot.setup import phrases
from bot.setup.errors import SetupFailed
from bot.setup.toml_edit import NotEditable, add_table, set_value
from memory.disk import reason, sync_folder

if TYPE_CHECKING:
    from bot.setup.toml_edit import Keys

PRIVATE_MODE = 0o600


@dataclass(slots=True)
class _Edited:
    """A file as it is on the disk, and as it is to be."""

    path: Path
    before: str | None
    """None if there is no file yet."""
    text: str
    """With plain line ends."""

    @property
    def is_changed(self) -> bool:
        return self.text != _plain_lines(self.before)

    @property
    def tables(self) -> Mapping[str, Any]:
        return tomllib.loads(self.text)

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in (self.before or "") else "\n"


class SettingsFiles:
    """Edits are kept in memory until `save`; `discard` drops them."""

    def __init__(self, file: Path, *, workspace: Path | None = None) -> None:
        """`file` need not exist; then it will be the commented example. `workspace`: the option of the command.

        Raises `ConfigError` if a file is not TOML.
        """
        self.file = file
        self.workspace = workspace
        self._read()

    @property
    def secrets_file(self) -> Path:
        """The file of secrets, whether it exists or not."""
        return self.file.with_name(SECRETS_NAME)

    @property
    def is_new(self) -> bool:
        """Whether there is no settings file yet."""
        return self._config.before is None

    def set(self, keys: "Keys", value: Any) -> None:
        """Set a value in the settings file. Raises SetupFailed if the file cannot be edited."""
        if _value_of(self._config.tables, keys) == value:
            return
        try:
            self._config.text = set_value(self._config.text, keys, value)
        except NotEditable as error:
            raise SetupFailed(phrases.NOT_EDITABLE.format(file=self.file, advice=error)) from None

    def add_table(self, keys: "Keys", values: Mapping[str, Any]) -> None:
        """Add a table to a list of tables in the settings file. Raises SetupFailed if it cannot be edited."""
        try:
            self._config.text = add_table(self._config.text, keys, values)
        except NotEditable as error:
            raise SetupFailed(phrases.NOT_EDITABLE.format(file=self.file, advice=error)) from None

    def set_secret(self, keys: "Keys", value: str) -> None:
        """Set a value in the file of secrets, and empty it in the settings file. Raises SetupFailed."""
        try:
            self._secrets.text = set_value(self._secrets.text, keys, value)
            if _value_of(self._config.tables, keys):
                self._config.text = set_value(self._config.text, keys, "")
        except NotEditable:  # its advice would show the secret
            advice = f"set {format_key(keys)}"
            raise SetupFailed(phrases.NOT_EDITABLE.format(file=self.secrets_file, advice=advice)) from None

    def settings(self) -> Settings:
        """Return the settings as they will be once this is saved. Raises `ConfigError`."""
        return self._settings_with({})

    def check(self, keys: "Keys", value: Any) -> None:
        """Raise `ConfigError` if the settings cannot have this value."""
        for key in reversed(keys):
            value = {key: value}
        self._settings_with({Path(): value})

    def _settings_with(self, first: Mapping[Path, Mapping[str, Any]]) -> Settings:
        tables = {**first, self._secrets.path: self._secrets.tables, self._config.path: self._config.tables}
        origin = ReadFrom(self.file, self.secrets_file, self.file, self.workspace)
        return resolve_settings(check_tables(tables), origin)

    def discard(self) -> None:
        """Drop what was not saved, and read the files again."""
        self._read()

    def save(self) -> None:
        """Write what has changed, secrets first. Raises SetupFailed or `ConfigError`; nothing is half written."""
        if not (self._config.is_changed or self._secrets.is_changed):
            return
        self.settings()
        for edited in (self._secrets, self._config):
            if edited.is_changed:
                if _read_text(edited.path) != edited.before:
                    raise SetupFailed(phrases.CHANGED_MEANWHILE.format(file=edited.path))
                mode = PRIVATE_MODE if edited is self._secrets else None
                try:
                    write_file(edited.path, edited.text.replace("\n", edited.newline), mode=mode)
                except OSError as error:
                    text = phrases.NOT_WRITABLE.format(file=edited.path, reason=reason(error))
                    raise SetupFailed(text) from error
        self._read()

    def _read(self) -> None:
        config, secrets = _read_text(self.file), _read_text(self.secrets_file)
        text = example_config() if config is None else _plain_lines(config)
        self._config = _Edited(self.file, config, text)
        self._secrets = _Edited(self.secrets_file, secrets, _plain_lines(secrets))


def _plain_lines(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n")


def _value_of(tables: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if not isinstance(tables, Mapping):
            return None
        tables = tables.get(key)
    return tables


def _read_text(path: Path) -> str | None:
    """Return the text of a TOML file, its lines ending as they do; None if there is no file. Raises `ConfigError`."""
    if not os.path.lexists(path):
        return None
    read_toml(path)  # says in our words what is wrong with it
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return stream.read()


def write_file(path: Path, text: str, *, mode: int | None) -> None:
    """Write a file completely or not at all; a link stays one. Raises OSError.

    `mode`: permissions; None for those of the present file, or for only us.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    draft = f".{path.name}.{uuid4().hex}"
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_MODE, dir_fd=folder)
        with os.fdopen(fd, "w", encoding="utf-8", newline="") as stream:
            with suppress(FileNotFoundError):
                present = path.stat()
                if (present.st_uid, present.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(fd, present.st_uid, present.st_gid)
                os.fchmod(fd, stat.S_IMODE(present.st_mode))
            if mode is not None:
                os.fchmod(fd, mode)
            stream.write(text)
            stream.flush()
            os.fsync(fd)
        os.rename(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        os.close(folder)
