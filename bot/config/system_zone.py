"""The time zone of this machine, used if the settings name none."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

UTC = "UTC"
_ALSO_UTC = frozenset(("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"))
"""Other names for UTC that machines are set to."""


@dataclass(frozen=True, slots=True)
class MachineZone:
    """The time zone of this machine."""

    name: str
    """IANA name; UTC if the machine has none or an invalid one."""
    problem: str = ""
    """Why the machine's zone cannot be used, in words that follow "this machine's time zone cannot be used: "."""


def system_zone(etc: Path = Path("/etc")) -> MachineZone:
    """Return the zone of the TZ variable, else of /etc/localtime, else of /etc/timezone; cached."""
    return _find_zone(os.environ.get("TZ", "").strip().removeprefix(":"), etc)


@cache
def _find_zone(tz: str, etc: Path) -> MachineZone:
    localtime, timezone = etc / "localtime", etc / "timezone"
    if tz:
        name, source = _name_of(Path(tz)) if tz.startswith("/") else tz, f"TZ is {tz!r}"
    elif linked := _name_of(localtime):
        name, source = linked, f"{localtime} is {linked!r}"
    elif written := _first_line(timezone):
        name, source = written, f"{timezone} says {written!r}"
    elif localtime.exists():
        return MachineZone(UTC, f"{localtime} does not say its name")
    else:
        return MachineZone(UTC)
    if name in _ALSO_UTC:
        return MachineZone(UTC)
    return MachineZone(name) if _is_zone(name) else MachineZone(UTC, f"{source}, which is not an IANA name")


def _name_of(file: Path) -> str:
    """Return the zone's name for a file of the zone database; "" for another file."""
    try:
        _, _, name = str(file.resolve()).partition("/zoneinfo/")
    except (OSError, RuntimeError):  # a loop of links
        return ""
    return name.removeprefix("posix/").removeprefix("right/")


def _first_line(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").partition("\n")[0].strip()
    except OSError:
        return ""


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return False
    return True
