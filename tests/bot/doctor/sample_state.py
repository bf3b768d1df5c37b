"""What tests of the doctor look for."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import bot
import memory
from bot.config.settings import Settings, load_settings
from bot.doctor.check import Check

NOBODY = 65_534


def find_check(checks: Iterable[Check], name: str) -> Check:
    """The one check of that name."""
    [found] = [check for check in checks if check.name == name]
    return found


def statuses(checks: Iterable[Check]) -> set[str]:
    return {check.status for check in checks}


def everything(checks: Iterable[Check]) -> str:
    return "\n".join(f"{check.detail} {check.fix}" for check in checks)


def settings_in(folder: Path, text: str = "") -> Settings:
    """The settings of a config.toml in this folder, whose workspace is there too."""
    file = folder / "config.toml"
    file.write_text(text)
    file.chmod(0o600)
    return load_settings(file)


def with_workspace(folder: Path, text: str = "") -> Settings:
    settings = settings_in(folder, text)
    settings.memory_folder.mkdir(parents=True, exist_ok=True)
    settings.private_folder.mkdir(exist_ok=True)
    return settings


def about(**sections: Any) -> Settings:
    """Settings without a file."""
    return Settings(**sections)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Act as a user whom permissions keep from things, which they do not keep root from."""
    if os.geteuid() != 0:
        yield
        return
    _load_everything()
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@cache
def _load_everything() -> None:
    """Import all modules of ours: nobody can import none later where the code lies in a folder of root's own."""
    for package in (bot, memory):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                with suppress(ImportError):  # what needs an extra
                    import_module(module.name)
