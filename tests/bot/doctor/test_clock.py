from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bot.config.system_zone import SystemZone
from bot.doctor.asking import Asking, Clock
from bot.doctor.clock import check_clock
from tests.bot.doctor.found import about, named
from tests.fakes.model_list import ModelList

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.mark.parametrize(
    ("ahead", "status", "told"),
    [
        (1.0, "ok", "as b.org"),
        (600.0, "warn", "10 minutes ahead of"),
        (-86_400.0 * 3, "warn", "3 days behind"),
    ],
)
def test_a_clock_that_is_wrong_is_told(ahead: float, status: str, told: str) -> None:
    clocks = [Clock("a.org", ahead - 5), Clock("b.org", ahead), Clock("c.org", 99_999_999)]
    check = named(check_clock(about(), clocks, machine=SystemZone("UTC")), "time")
    assert (check.status, told in check.told) == (status, True)


def test_the_clock_of_this_machine_itself_is_no_witness() -> None:
    here = [Clock("127.0.0.1:8321", 0.0), Clock("[::1]:11434", 0.0), Clock("192.168.1.5:8321", 0.0)]
    settings = about(server={"host": "192.168.1.5", "token": "x" * 20})
    check = named(check_clock(settings, [*here, Clock("b.org", -600.0)], machine=SystemZone("UTC")), "time")
    assert (check.status, "10 minutes behind" in check.told) == ("warn", True)
    told = named(check_clock(settings, here, machine=SystemZone("UTC")), "time").told
    assert told == ("not checked: no online service to compare with; NTP keeps it right")


def test_without_anybody_to_ask_the_time_is_taken_as_it_is() -> None:
    assert named(check_clock(about(), [], machine=SystemZone("UTC")), "time").status == "ok"


@pytest.mark.parametrize(
    ("zone", "machine", "status"),
    [
        ("", "UTC", "ok"),  # the tests' own machine is in UTC
        ("Asia/Tokyo", "Asia/Tokyo", "ok"),
        ("Asia/Tokyo", "Asia/Seoul", "ok"),  # on whose clocks it is the same time
        ("Asia/Tokyo", "Europe/Berlin", "warn"),
        ("UTC", "Asia/Tokyo", "warn"),
    ],
)
def test_a_zone_other_than_the_machines_is_told(zone: str, machine: str, status: str) -> None:
    check = named(check_clock(about(timezone=zone), [], machine=SystemZone(machine)), "time zone")
    assert check.status == status
    assert check.told.startswith(f"{zone or 'UTC'}: 20")
    if status == "warn":
        assert check.told.endswith(f", but this machine is set to {machine}")
        assert f'"{machine}"' in check.mend


def test_a_zone_of_the_machine_that_cannot_be_used_is_told_unless_one_is_set() -> None:
    broken = SystemZone("UTC", "TZ is 'CET-1CEST', which is not an IANA name")
    check = named(check_clock(about(), [], machine=broken), "time zone")
    assert check.status == "warn"
    assert check.told.endswith("cannot be used: TZ is 'CET-1CEST', which is not an IANA name")
    assert 'timezone = "Europe/Berlin"' in check.mend
    assert named(check_clock(about(timezone="Asia/Tokyo"), [], machine=broken), "time zone").status == "ok"


async def test_the_time_that_an_answer_bears_is_noted() -> None:
    async with ModelList() as server, Asking() as asking:
        server.date = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
        await asking.get(f"{server.root}/x")
        server.date = "yesterday"
        await asking.get(f"{server.root}/x")
    [clock] = asking.clocks
    assert 3590 < clock.ahead < 3620
