from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from bot.web.page.times import PageClock, ShownTime
from tests.fakes.table_test import table_test

CLOCK = PageClock(datetime(2026, 11, 21, 13, 0, tzinfo=ZoneInfo("Europe/Berlin")))


@table_test(
    ("moment", "words"),
    [
        ("2026-11-21T12:00:00+00:00", "13:00, just now"),
        ("2026-11-21T11:59:20+00:00", "12:59, 40 s ago"),
        ("2026-11-21T11:30:00+00:00", "12:30, 30 min ago"),
        ("2026-11-21T11:59:57+00:00", "12:59, just now"),
        ("2026-11-21T12:00:03+00:00", "13:00, in 3 s"),
        ("2026-11-21T14:00:00+00:00", "15:00, in 2 h"),
        ("2026-11-20T20:00:00+00:00", "2026-11-20 21:00, 16 h ago"),
        ("2026-11-19T20:00:00+00:00", "2026-11-19 21:00"),
    ],
)
def test_a_moment_is_told_on_the_owners_clock_and_how_far_it_is(moment: str, words: str) -> None:
    told = CLOCK.iso(moment)
    assert told is not None
    assert told.words == words
    assert datetime.fromisoformat(told.iso) == datetime.fromisoformat(moment)
    assert told.iso.endswith("+01:00")


def test_what_never_was_is_no_moment() -> None:
    assert CLOCK.iso("") is None
    assert CLOCK.unix(0.0) is None


def test_the_zone_is_named() -> None:
    assert CLOCK.zone == "Europe/Berlin"
    assert PageClock(datetime(2026, 11, 21, tzinfo=UTC)).zone == "UTC"
    assert CLOCK.time == ShownTime("2026-11-21T13:00:00+01:00", "13:00:00")
