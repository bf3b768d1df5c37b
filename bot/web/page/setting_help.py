"""How a setting is changed: where, by which lines, and what makes it take effect."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TYPE_CHECKING

from bot import phrases

if TYPE_CHECKING:
    from bot.config.listing import ListedSetting, ListedTable
    from bot.config.settings import Settings

_EXAMPLE = re.compile(r'such as ("[^"]*"|\[[^\]]*\])')
_ENTRY = re.compile(r"(.+)\[(\d+)\]")
_UNKNOWN = "…"


@dataclass(frozen=True, slots=True)
class SettingHelp:
    """What to do, in this order."""

    where: str
    """Where it is changed."""
    lines: str
    """What to write there; "" if it is not changed in a file."""
    then: str
    """What makes the change take effect."""
    also: str
    """Which step of `commonplace init` asks for it; "" for none."""


def explain_change(
    setting: "ListedSetting", table: "ListedTable", settings: "Settings", *, value: str
) -> SettingHelp:
    """Return how a setting of this table is changed. `value`: as it is shown, or "" to leave it to the reader."""
    source = setting.source
    if source.kind == "option":
        return SettingHelp(phrases.WEB_SETTING_BY_OPTION, "", "", "")
    if source.kind == "variable":  # a process keeps the variables that it was started with
        return SettingHelp(phrases.WEB_SETTING_BY_VARIABLE.format(name=source.name), "", "", "")
    file = phrases.WEB_SETTINGS_NO_FILE
    if source.kind == "file":
        file = PurePath(source.name).name
    elif settings.file is not None:
        file = (settings.secrets_file if setting.is_secret and settings.secrets_file else settings.file).name
    line = f"{setting.name} = {_UNKNOWN if setting.is_secret else _suggest(setting, value)}"
    then = phrases.WEB_SETTING_RESTART if setting.needs_restart else phrases.WEB_SETTING_RELOAD
    step = _find_step(setting.key)
    also = phrases.WEB_SETTING_INIT.format(command=f"commonplace init {step}") if step else ""
    if not table.key:
        return SettingHelp(phrases.WEB_SETTING_AT_TOP.format(file=file), line, then, also)
    if entry := _ENTRY.fullmatch(table.key):
        where = phrases.WEB_SETTING_IN_ENTRY.format(
            file=file, header=f"[[{entry[1]}]]", number=int(entry[2]) + 1
        )
        return SettingHelp(where, line, then, also)
    header = f"[{table.key}]"
    where = phrases.WEB_SETTING_IN_TABLE.format(file=file, header=header)
    return SettingHelp(where, f"{header}\n{line}", then, also)


def _suggest(setting: "ListedSetting", value: str) -> str:
    """Return a value for the line: the one in force, or an example if that is empty."""
    if value not in ("", '""', "[]", "{}"):
        return value
    example = _EXAMPLE.search(setting.meaning)
    return example[1] if example else value or _UNKNOWN


def _find_step(key: str) -> str:
    """Return the step of `commonplace init` that sets a key, "" for none."""
    from bot.setup.steps import STEPS

    return next((step.name for step in STEPS if any(fnmatchcase(key, each) for each in step.sets)), "")
