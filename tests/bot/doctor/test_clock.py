from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bot.config.system_zone import MachineZone
from bot.doctor.clock import check_clock
from bot.doctor.http_probe import HttpProbe, ServerClock
from tests.bot.doctor.sample_state import about, find_check
from tests.fakes.model_list import ModelList
from tests.fakes.table_test import table_test

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@table_test(
    ("ahead", "status", "told"),
    [
        (1.0, "ok", "agrees with b.org"),
        (600.0, "warn", "10 min ahead of"),
        (-86_400.0 * 3, "warn", "3 days behind"),
    ],
)
def test_a_clock_that_is_wrong_is_told(ahead: float, status: str, told: str) -> None:
    clocks = [ServerClock("a.org", ahead - 5), ServerClock("b.org", ahead), ServerClock("c.org", 99_999_999)]
    check = find_check(check_clock(about(), clocks, machine=MachineZone("UTC")), "time")
    assert (check.status, told in check.detail) == (status, True)


def test_the_clock_of_this_machine_itself_is_no_witness() -> None:
    here = [
        ServerClock("127.0.0.1:8321", 0.0),
        ServerClock("[::1]:11434", 0.0),
        ServerClock("192.168.1.5:8321", 0.0),
    ]
    settings = about(server={"host": "192.168.1.5", "token": "x" * 20})
    check = find_check(
        check_clock(settings, [*here, ServerClock("b.org", -600.0)], machine=MachineZone("UTC")), "time"
    )
    assert (check.status, "10 min behind" in check.detail) == ("warn", True)
    told = find_check(check_clock(settings, here, machine=MachineZone("UTC")), "time").detail
    assert told == "not checked: no online service to compare with"


def test_without_anybody_to_ask_the_time_is_taken_as_it_is() -> None:
    assert find_check(check_clock(about(), [], machine=MachineZone("UTC")), "time").status == "ok"


@table_test(
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
    check = find_check(check_clock(about(timezone=zone), [], machine=MachineZone(machine)), "time zone")
    assert check.status == status
    assert check.detail.startswith(f"{zone or 'UTC'}: 20")
    if status == "warn":
        assert check.detail.endswith(f", but this machine is set to {machine}")
        assert f'"{machine}"' in check.fix


def test_a_zone_of_the_machine_that_cannot_be_used_is_told_unless_one_is_set() -> None:
    broken = MachineZone("UTC", "TZ is 'CET-1CEST', which is not an IANA name")
    check = find_check(check_clock(about(), [], machine=broken), "time zone")
    assert check.status == "warn"
    assert check.detail.endswith("cannot be used: TZ is 'CET-1CEST', which is not an IANA name")
    assert 'timezone = "Europe/Berlin"' in check.fix
    assert (
        find_check(check_clock(about(timezone="Asia/Tokyo"), [], machine=broken), "time zone").status == "ok"
    )


async def test_the_time_that_an_answer_bears_is_noted() -> None:
    async with ModelList() as server, HttpProbe() as asking:
        server.date = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
        await asking.get(f"{server.root}/x")
        server.date = "yesterday"
        await asking.get(f"{server.root}/x")
    [clock] = asking.clocks
    assert 3590 < clock.ahead < 3620
