"""The files that have systemd or launchd run the service, for the user who asks."""

import os
import plistlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def service_command(config: Path) -> list[str]:
    """Return the command that runs the service with this Python and these settings."""
    program = Path(sys.executable).with_name(LABEL)
    started = [str(program)] if program.is_file() else [sys.executable, "-P", "-m", "bot"]
    return [*started, "run", "--config", str(config)]


def systemd_unit(config: Path, environment: Mapping[str, str]) -> ServiceFile:
    """Return the unit of the user's systemd."""
    base = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    name = f"{LABEL}.service"
    text = SYSTEMD_UNIT.format(
        folder=_escape_path(config.parent), command=" ".join(map(_quote, service_command(config)))
    )
    start = (
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", name),
        ("systemctl", "--user", "restart", name),
    )
    return ServiceFile(base / "systemd" / "user" / name, text, start)


def launchd_agent(config: Path, environment: Mapping[str, str]) -> ServiceFile:
    """Return the agent of the user's launchd."""
    del environment
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
    start = (("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)),)
    return ServiceFile(path, text, start)


def _quote(argument: str) -> str:
    """Return an argument as systemd reads it back: with quotes, and without specifiers and variables."""
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != argument or " " in argument else argument


def _escape_path(path: Path) -> str:
    """Return a folder for WorkingDirectory, which takes the rest of the line."""
    return str(path).replace("%", "%%")
