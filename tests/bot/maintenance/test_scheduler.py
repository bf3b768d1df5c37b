import asyncio
import contextlib
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.maintenance.scheduler import JobFailed, JobStatus, Schedule
from bot.supervisor import Supervisor
from memory.errors import IndexUnavailable

ROOT = Path(__file__).parents[3]
SOON = 0.05 / 60
"""Minutes: a twentieth of a second."""


class Work:
    """Something to do, and how often it was done."""

    def __init__(self, then: Callable[[int], object] = lambda _: None, *, seconds: float = 0) -> None:
        self.then = then
        self.seconds = seconds
        self.begun = 0
        self.ended = 0

    async def __call__(self) -> None:
        self.begun += 1
        self.then(self.begun)
        await asyncio.sleep(self.seconds)
        self.ended += 1


async def until(wanted: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not wanted():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def seconds_from_now(text: str) -> float:
    return (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds()


async def test_a_job_runs_again_and_again_from_its_first_interval_on() -> None:
    work = Work()
    async with Schedule() as schedule:
        schedule.add_interval(SOON, work, name="re-index")
        assert work.begun == 0
        await until(lambda: work.ended >= 3)
        (job,) = schedule.list_jobs()
        assert (job.name, job.last_outcome) == ("re-index", "ok")
        assert -5 < seconds_from_now(job.last_run) <= 0


async def test_a_job_tells_when_it_runs_next() -> None:
    async with Schedule() as schedule:
        assert schedule.list_jobs() == ()
        schedule.add_interval(60, Work(), name="re-index")
        schedule.add_interval(60 * 24, Work(), name="backup")
        first, second = schedule.list_jobs()
        assert first == JobStatus("re-index", 60, next_run=first.next_run)
        assert 3590 < seconds_from_now(first.next_run) <= 3600
        assert second.name == "backup"


async def test_a_name_serves_once() -> None:
    async with Schedule() as schedule:
        schedule.add_interval(60, Work(), name="re-index")
        with pytest.raises(ValueError, match="a job called re-index already"):
            schedule.add_interval(5, Work(), name="re-index")
        assert len(schedule.list_jobs()) == 1


async def test_a_job_that_fails_is_logged_once_and_runs_again(caplog: pytest.LogCaptureFixture) -> None:
    outcomes: list[str] = []

    def fail_at_first(count: int) -> None:
        outcomes.append(schedule.list_jobs()[0].last_outcome)
        if count == 1:
            raise OSError("the disk\nis full")

    async with Schedule() as schedule:
        schedule.add_interval(SOON, Work(fail_at_first), name="re-index")
        await until(lambda: len(outcomes) > 2)
    assert outcomes[:3] == ["", "the disk is full", "ok"]
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [f"re-index failed; it runs again in {SOON:g} minutes"]


async def test_what_the_memory_complains_of_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def fail_at_first(count: int) -> None:
        if count == 1:
            raise IndexUnavailable("the disk\nis full")

    work = Work(fail_at_first)
    async with Schedule() as schedule:
        schedule.add_interval(SOON, work, name="re-index")
        await until(lambda: work.begun > 1)
    (record,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert record.getMessage() == f"re-index failed: the disk is full; it runs again in {SOON:g} minutes"
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)


async def test_a_failure_without_words_is_called_by_its_name() -> None:
    def fail(_: int) -> None:
        raise RuntimeError

    async with Schedule() as schedule:
        schedule.add_interval(SOON, Work(fail), name="re-index")
        await until(lambda: schedule.list_jobs()[0].last_outcome)
        assert schedule.list_jobs()[0].last_outcome == "RuntimeError"


@pytest.mark.thorough
async def test_a_job_is_not_started_while_it_runs(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(seconds=0.5)
    async with Schedule() as schedule:
        schedule.add_interval(SOON, work, name="re-index")
        await until(lambda: work.begun)
        assert schedule.list_jobs()[0].running
        await asyncio.sleep(0.25)
        assert (work.begun, work.ended) == (1, 0)
        await until(lambda: work.begun > 1)
        assert work.ended >= 1
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.thorough
async def test_a_run_that_was_missed_is_made_up_for_once() -> None:
    begun = asyncio.Event()
    work = Work(lambda _: begun.set())
    async with Schedule() as schedule:
        schedule.add_interval(0.1 / 60, work, name="re-index")
        await asyncio.sleep(0)
        time.sleep(1.2)  # noqa: ASYNC251 - the whole program stands still, for more than APScheduler forgives
        # Runs of the same moment would all have begun before this goes on; the next one is of a later round.
        await begun.wait()
        assert work.begun == 1


async def test_leaving_stops_what_runs_within_a_second() -> None:
    work = Work(seconds=3600)
    async with Schedule() as schedule:
        schedule.add_interval(SOON, work, name="re-index")
        await until(lambda: work.begun)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert (work.begun, work.ended) == (1, 0)
    (job,) = schedule.list_jobs()
    assert (job.running, job.next_run, job.last_outcome) == (False, "", "stopped")
    await asyncio.sleep(0.2)
    assert work.begun == 1


async def test_leaving_at_the_moment_when_a_job_is_due_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    for rounds in range(8):
        async with Schedule() as schedule:
            schedule.add_interval(0.001 / 60, Work(seconds=3600), name="re-index")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            time.sleep(0.003)  # noqa: ASYNC251 - so that it is due in the very next round
            for _ in range(rounds):
                await asyncio.sleep(0)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.thorough
async def test_leaving_lets_a_job_tidy_up_but_waits_no_longer_than_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tidied = []
    tired = asyncio.Event()

    async def tidy() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.1)
            tidied.append(True)

    async def deaf() -> None:
        while not tired.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await tired.wait()

    async with Schedule() as schedule:
        schedule.add_interval(SOON, tidy, name="tidy")
        schedule.add_interval(SOON, deaf, name="deaf")
        await until(lambda: all(job.running for job in schedule.list_jobs()))
    assert tidied == [True]
    assert [record.getMessage() for record in caplog.records] == ["job deaf did not end within 0.8 s"]
    tired.set()
    await until(lambda: not schedule.list_jobs()[1].running)


class Clock(datetime):
    """The clock that APScheduler reads, which somebody may set."""

    ahead = timedelta()

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC) + cls.ahead


@pytest.mark.parametrize("jump", [timedelta(days=-3), timedelta(days=20_000)], ids=["back", "ahead"])
async def test_a_clock_that_is_set_does_not_stop_a_job(
    jump: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apscheduler.schedulers import base

    monkeypatch.setattr(base, "datetime", Clock)
    monkeypatch.setattr(Clock, "ahead", timedelta())
    work = Work()
    async with Schedule(check_seconds=0.05, now=Clock.now) as schedule:
        schedule.add_interval(0.2 / 60, work, name="re-index")
        await until(lambda: work.ended)
        monkeypatch.setattr(Clock, "ahead", jump)
        done = work.ended
        await until(lambda: work.ended >= done + 2)


@pytest.mark.thorough
async def test_nothing_is_begun_before_the_service_has_settled() -> None:
    begun = asyncio.Event()

    async def job() -> None:
        begun.set()

    start = time.monotonic()
    async with Schedule(settle_seconds=0.3) as schedule:
        schedule.add_interval(1 / 6000, job, name="often")
        assert schedule.list_jobs()[0].next_run
        await asyncio.wait_for(begun.wait(), 5)
    assert time.monotonic() - start >= 0.3
    async with Schedule(settle_seconds=60) as schedule:
        schedule.add_interval(1 / 6000, job, name="often")


@pytest.mark.thorough
def test_apscheduler_is_loaded_only_where_something_is_scheduled() -> None:
    code = "import sys, bot.maintenance.scheduler; print('apscheduler' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


async def runs(zone: str, at: str, first: str, days: int) -> list[str]:
    """When a daily job is due, on the clock of its zone with what that is ahead of UTC."""
    moment = datetime.fromisoformat(first).replace(tzinfo=UTC)
    schedule = Schedule(now=lambda: moment)
    schedule.add_daily(time_of_day.fromisoformat(at), ZoneInfo(zone), Work(), name="backup")
    found = []
    for _ in range(days):
        moment = datetime.fromisoformat(schedule.list_jobs()[0].next_run)
        found.append(moment.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes"))
    return found


async def test_a_daily_job_keeps_to_the_clock_on_the_wall() -> None:
    assert await runs("Europe/Berlin", "03:30", "2026-03-27T12:00", 3) == [
        "2026-03-28T03:30+01:00",
        "2026-03-29T03:30+02:00",
        "2026-03-30T03:30+02:00",
    ]
    assert await runs("UTC", "03:30", "2026-03-27T03:30", 1) == ["2026-03-28T03:30+00:00"]
    assert await runs("UTC", "03:30", "2026-03-27T03:29:59", 1) == ["2026-03-27T03:30+00:00"]


async def test_a_time_that_the_clock_skips_is_made_up_for_once() -> None:
    assert await runs("Europe/Berlin", "02:30", "2026-03-28T12:00", 2) == [
        "2026-03-29T03:30+02:00",
        "2026-03-30T02:30+02:00",
    ]


async def test_a_time_that_the_clock_shows_twice_has_two_runs_in_that_night() -> None:
    assert await runs("Europe/Berlin", "02:30", "2026-10-24T12:00", 3) == [
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:30+01:00",
        "2026-10-26T02:30+01:00",
    ]


async def test_a_day_that_the_calendar_skips_has_no_run_of_its_own() -> None:
    assert await runs("Pacific/Apia", "03:30", "2011-12-29T00:00", 3) == [
        "2011-12-29T03:30-10:00",
        "2011-12-31T03:30+14:00",
        "2012-01-01T03:30+14:00",
    ]


async def test_a_run_that_was_missed_is_due_soon_and_any_other_at_its_time() -> None:
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)

    def first(last_run: datetime | None) -> str:
        schedule = Schedule(now=lambda: now)
        at, soon = time_of_day(3, 30), timedelta(minutes=10)
        schedule.add_daily(at, UTC, Work(), name="backup", last_run=last_run, soon=soon)
        return schedule.list_jobs()[0].next_run

    assert first(None) == "2026-11-23T12:10:00+00:00"
    assert first(now - timedelta(hours=9)) == "2026-11-23T12:10:00+00:00"
    assert first(now - timedelta(hours=8)) == "2026-11-24T03:30:00+00:00"


@pytest.mark.thorough
async def test_a_schedule_that_fails_is_reported_and_runs_its_jobs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A clock that shows the last day that there is: nothing can be due after it."""
    ahead = timedelta()
    supervisor, work = Supervisor(pauses=(0.05,), steady_seconds=0.3), Work()

    def now() -> datetime:
        return datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) if ahead else datetime.now(UTC)

    async with Schedule(check_seconds=0.02, supervisor=supervisor, now=now) as schedule:
        schedule.add_interval(SOON, work, name="re-index")
        schedule.add_interval(60, Work(), name="hourly")
        await until(lambda: work.ended)
        ahead = timedelta(days=1)
        await until(lambda: supervisor.failures)
        assert [failure.name for failure in supervisor.failures] == ["schedule"]
        ahead = timedelta()
        done = work.ended
        await until(lambda: work.ended >= done + 3)
        await until(lambda: not supervisor.failures)
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors
    assert all(
        "the background task schedule failed" in each.getMessage() and each.exc_info for each in errors
    )


async def test_a_schedule_that_cannot_begin_does_so_later() -> None:
    broken = True
    supervisor, work = Supervisor(pauses=(0.05,)), Work()

    def now() -> datetime:
        return datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) if broken else datetime.now(UTC)

    async with Schedule(supervisor=supervisor, now=now) as schedule:
        schedule.add_interval(SOON, work, name="re-index")
        schedule.add_interval(60, Work(), name="hourly")
        await until(lambda: supervisor.failures)
        assert work.begun == 0
        broken = False
        await until(lambda: work.ended >= 2)


async def test_a_daily_job_tells_when_it_is_due_and_when_it_last_was() -> None:
    last = datetime(2026, 11, 20, 3, 30, tzinfo=UTC)
    async with Schedule() as schedule:
        schedule.add_daily(time_of_day(3, 30), ZoneInfo("Asia/Tokyo"), Work(), name="backup", last_run=last)
        (job,) = schedule.list_jobs()
    assert job.last_run == "2026-11-20T03:30:00+00:00"
    due = datetime.fromisoformat(job.next_run)
    assert (due.hour, due.minute) == (18, 30)
    assert 0 < (due - datetime.now(UTC)).total_seconds() <= 24 * 3600


async def test_a_daily_job_that_is_overdue_runs_soon_and_then_at_its_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: int) -> None:
        raise JobFailed("the disk\nis full")

    at = (datetime.now(UTC) + timedelta(hours=7)).time().replace(second=0, microsecond=0)
    async with Schedule() as schedule:
        schedule.add_daily(at, UTC, Work(fail), name="backup", soon=timedelta(seconds=0.05))
        await until(lambda: schedule.list_jobs()[0].last_outcome)
        (job,) = schedule.list_jobs()
    assert job.last_outcome == "the disk is full"
    assert 6.9 * 3600 < seconds_from_now(job.next_run) <= 7 * 3600
    (record,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert record.getMessage().startswith("backup failed: the disk is full; it runs again in 4")
    assert record.exc_info is None


async def test_a_clock_that_is_set_back_does_not_put_a_daily_job_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from apscheduler.schedulers import base

    monkeypatch.setattr(base, "datetime", Clock)
    monkeypatch.setattr(Clock, "ahead", timedelta())
    async with Schedule(check_seconds=0.05, now=Clock.now) as schedule:
        schedule.add_daily(time_of_day(3, 30), UTC, Work(), name="backup")
        monkeypatch.setattr(Clock, "ahead", timedelta(days=-30))
        day = Clock.now()
        wanted = day.replace(hour=3, minute=30, second=0, microsecond=0)
        wanted += timedelta(days=wanted <= day)
        await until(lambda: schedule.list_jobs()[0].next_run == wanted.isoformat(timespec="seconds"))
