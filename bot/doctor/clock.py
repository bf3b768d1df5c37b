"""The clock: in the zone that is meant, and right."""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from bot.config.settings import Settings, is_loopback
from bot.doctor.asking import Clock
from bot.doctor.check import Check, Topic, how_long

TOPIC = Topic("clock")
EARLIEST_YEAR = 2026
"""This program was written then."""
FAR_SECONDS = 120.0
LOCALTIME = Path("/etc/localtime")


def check_clock(settings: Settings, clocks: Sequence[Clock], *, system_zone: str) -> Iterator[Check]:
    """Tell the zone, and compare with the clocks of those who were asked anyway."""
    now = settings.now()
    here = f"{settings.timezone}: {now:%Y-%m-%d %H:%M}"
    if "timezone" not in settings.model_fields_set and system_zone and not _shows_the_same(system_zone, now):
        mend = (
            f'set timezone = "{system_zone}": it decides which day a daily log is of, and when reminders come'
        )
        yield TOPIC.warn("time zone", f"{here}, though this machine's is {system_zone}", mend)
    else:
        yield TOPIC.ok("time zone", here)
    if now.year < EARLIEST_YEAR:
        yield TOPIC.fail("time", f"the clock shows {now:%Y-%m-%d}", "set it, by NTP for example")
        return
    clocks = [clock for clock in clocks if not _is_here(clock.host, settings.server.host)]
    if not clocks:
        yield TOPIC.ok("time", "nobody was asked who could have told the time")
        return
    middle = sorted(clocks, key=lambda clock: clock.ahead)[len(clocks) // 2]
    if abs(middle.ahead) > FAR_SECONDS:
        way = "ahead of" if middle.ahead > 0 else "behind"
        told = f"the clock is {how_long(abs(middle.ahead))} {way} that of {middle.host}"
        yield TOPIC.warn("time", told, "set it, by NTP for example: reminders and daily logs go by it")
    else:
        yield TOPIC.ok("time", f"as {middle.host} has it")


def _is_here(host: str, own: str) -> bool:
    """Whether it is this machine that was asked, whose clock agrees with itself; `host` as in an address."""
    name = urlsplit(f"//{host}").hostname or ""
    return name == own or is_loopback(name)


def system_zone() -> str:
    """The IANA name of this machine's own zone; "" where it has none that is known."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        parts = str(LOCALTIME.resolve()).partition("/zoneinfo/")
        name = parts[2].removeprefix("posix/").removeprefix("right/")
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return ""
    return name


def _shows_the_same(zone: str, now: datetime) -> bool:
    from zoneinfo import ZoneInfo

    return now.astimezone(ZoneInfo(zone)).utcoffset() == now.utcoffset()
