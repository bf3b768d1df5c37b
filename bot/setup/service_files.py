"""The files that have systemd or launchd run the service, for the user who asks."""

import os
import plistlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.setup import phrases
from bot.setup.errors import SetupFailed

LABEL = "commonplace"

SYSTEMD_UNIT = """\
[Unit]
Description=Commonplace, a personal assistant

[Service]
WorkingDirectory={folder}
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=10
# Wrong settings: starting again would not help.
RestartPreventExitStatus=2
TimeoutStopSec=15
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """A file that describes the service, and the commands that start it."""

    path: Path
    text: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[str, ...] = ()
    """The command that stops what runs now, if `start` would fail beside it."""


def service_command(config: Path) -> list[str]:
    """Return the command that runs the service with this Python and these settings."""
    program = Path(sys.executable).with_name(LABEL)
    started = [str(program)] if program.is_file() else [sys.executable, "-P", "-m", "bot"]
    return [*started, "run", "--config", str(config)]


def systemd_unit(config: Path, environment: Mapping[str, str]) -> ServiceFile:
    """Return the unit of the user's systemd. Raises SetupFailed for a folder that no unit can name."""
    named = Path(environment.get("XDG_CONFIG_HOME", ""))
    base = named if named.is_absolute() else Path.home() / ".config"
    name = f"{LABEL}.service"
    folder = str(config.parent)
    if not folder.isprintable() or folder.endswith(("\\", " ")):  # WorkingDirectory knows no quotes
        raise SetupFailed(phrases.FOLDER_NOT_FOR_SERVICE.format(name="systemd", folder=repr(folder)))
    command = service_command(config)
    if not _is_plain(command[0]):  # systemd takes quotes, backslashes and "$" only in arguments
        command.insert(0, "/usr/bin/env")
    text = SYSTEMD_UNIT.format(folder=folder.replace("%", "%%"), command=" ".join(map(_quote, command)))
    start = (
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", name),
        ("systemctl", "--user", "restart", name),
    )
    return ServiceFile(base / "systemd" / "user" / name, text, start)


def launchd_agent(config: Path, environment: Mapping[str, str]) -> ServiceFile:
    """Return the agent of the user's launchd. Raises SetupFailed for a folder that no property list can name."""
    del environment
    if not str(config).isprintable():
        raise SetupFailed(
            phrases.FOLDER_NOT_FOR_SERVICE.format(name="launchd", folder=repr(str(config.parent)))
        )
    path = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    log = str(Path.home() / "Library" / "Logs" / f"{LABEL}.log")
    content = {
        "Label": LABEL,
        "ProgramArguments": service_command(config),
        "WorkingDirectory": str(config.parent),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    text = plistlib.dumps(content, sort_keys=False).decode()
    domain = f"gui/{os.getuid()}"
    start = (("launchctl", "bootstrap", domain, str(path)),)
    return ServiceFile(path, text, start, stop=("launchctl", "bootout", f"{domain}/{LABEL}"))


def _is_plain(argument: str) -> bool:
    return re.fullmatch(r"[\w./:=@+-]+", argument, re.ASCII) is not None


def _quote(argument: str) -> str:
    """Return an argument as systemd reads it back: with quotes, and without specifiers and variables."""
    if _is_plain(argument):
        return argument
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
