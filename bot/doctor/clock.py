"""Checks the time zone and the clock."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from bot.config.settings import Settings, is_loopback
from bot.config.system_zone import MachineZone
from bot.doctor.check import Check, Topic
from bot.doctor.http_probe import ServerClock
from bot.quantities import rough_duration_in_words

TOPIC = Topic("clock")
MIN_YEAR = 2026
"""The year in which this program was written."""
MAX_SKEW_SECONDS = 120.0


def check_clock(
    settings: Settings, clocks: Sequence[ServerClock], *, machine: MachineZone
) -> Iterator[Check]:
    """Compare the time zone with this machine's, and the time with the servers that were asked anyway."""
    now = settings.now()
    yield _check_zone(settings, now, machine)
    if now.year < MIN_YEAR:
        yield TOPIC.fail("time", f"the clock says {now:%Y-%m-%d}", "set the clock, for example by NTP")
        return
    clocks = [clock for clock in clocks if not _is_this_machine(clock.host, settings.server.host)]
    if not clocks:
        detail = "not checked: no online service to compare with"
        yield TOPIC.ok("time", detail)
        return
    middle = sorted(clocks, key=lambda clock: clock.ahead)[len(clocks) // 2]
    if abs(middle.ahead) > MAX_SKEW_SECONDS:
        way = "ahead of" if middle.ahead > 0 else "behind"
        detail = f"the clock is {rough_duration_in_words(abs(middle.ahead))} {way} {middle.host}"
        yield TOPIC.warn(
            "time", detail, "set the clock, for example by NTP: reminders and daily logs depend on it"
        )
    else:
        yield TOPIC.ok("time", f"agrees with {middle.host}")


def _is_this_machine(host: str, own: str) -> bool:
    """Return whether a host, as in a URL, is this machine, whose clock proves nothing."""
    name = urlsplit(f"//{host}").hostname or ""
    return name == own or is_loopback(name)


def _check_zone(settings: Settings, now: datetime, machine: MachineZone) -> Check:
    here = f"{settings.zone.key}: {now:%Y-%m-%d %H:%M}"
    if not settings.timezone and machine.problem:
        detail = f"{here}, since this machine's time zone cannot be used: {machine.problem}"
        fix = 'set timezone, such as timezone = "Europe/Berlin": reminders and daily logs depend on it'
        return TOPIC.warn("time zone", detail, fix)
    if not machine.problem and not _same_time(machine.name, now):
        fix = f'remove timezone, or set it to "{machine.name}", unless the difference is intended'
        return TOPIC.warn("time zone", f"{here}, but this machine is set to {machine.name}", fix)
    return TOPIC.ok("time zone", here)


def _same_time(zone: str, now: datetime) -> bool:
    from zoneinfo import ZoneInfo

    return now.astimezone(ZoneInfo(zone)).utcoffset() == now.utcoffset()
