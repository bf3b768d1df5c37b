from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bot.doctor.asking import Asking, Clock
from bot.doctor.clock import check_clock, system_zone
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
    check = named(check_clock(about(), clocks, system_zone=""), "time")
    assert (check.status, told in check.told) == (status, True)


def test_the_clock_of_this_machine_itself_is_no_witness() -> None:
    here = [Clock("127.0.0.1:8321", 0.0), Clock("[::1]:11434", 0.0), Clock("192.168.1.5:8321", 0.0)]
    settings = about(server={"host": "192.168.1.5", "token": "x" * 20})
    check = named(check_clock(settings, [*here, Clock("b.org", -600.0)], system_zone=""), "time")
    assert (check.status, "10 minutes behind" in check.told) == ("warn", True)
    assert "nobody was asked" in named(check_clock(settings, here, system_zone=""), "time").told


def test_without_anybody_to_ask_the_time_is_taken_as_it_is() -> None:
    assert named(check_clock(about(), [], system_zone=""), "time").status == "ok"


@pytest.mark.parametrize(
    ("sections", "zone", "status"),
    [
        ({}, "", "ok"),
        ({}, "UTC", "ok"),
        ({}, "Asia/Tokyo", "warn"),
        ({"timezone": "UTC"}, "Asia/Tokyo", "ok"),
        ({"timezone": "Europe/Berlin"}, "Asia/Tokyo", "ok"),
    ],
)
def test_a_zone_that_nobody_has_chosen_is_told_where_the_machine_has_another(
    sections: dict[str, object], zone: str, status: str
) -> None:
    check = named(check_clock(about(**sections), [], system_zone=zone), "time zone")
    assert check.status == status
    if status == "warn":
        assert check.mend.startswith('set timezone = "Asia/Tokyo"')


def test_the_zone_of_the_machine_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":Europe/Paris")
    assert system_zone() == "Europe/Paris"
    monkeypatch.setenv("TZ", "nonsense")
    assert system_zone() == ""


async def test_the_time_that_an_answer_bears_is_noted() -> None:
    async with ModelList() as server, Asking() as asking:
        server.date = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
        await asking.get(f"{server.root}/x")
        server.date = "yesterday"
        await asking.get(f"{server.root}/x")
    [clock] = asking.clocks
    assert 3590 < clock.ahead < 3620
