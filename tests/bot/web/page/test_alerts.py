from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.log.recent_errors import RecentError
from bot.maintenance.scheduler import JobStatus
from bot.messages import ChannelHealth
from bot.supervisor import TaskFailure
from bot.web.page import alerts
from bot.web.page.panel import Panel

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def trouble(level: str, minutes: int, times: int = 1) -> RecentError:
    return RecentError(NOW - timedelta(minutes=minutes), level, "bot.x", "it broke", "", times)


def test_channels_that_are_well_need_no_look() -> None:
    states = {"terminal": ChannelHealth("up"), "telegram": ChannelHealth("up", "chat 5 cannot be reached")}
    states |= {"discord": ChannelHealth("down", "refused\nthe token"), "matrix": ChannelHealth("starting")}
    assert list(alerts.channel_alerts(states)) == [
        "Telegram: up, but chat 5 cannot be reached",
        "Discord: down (refused the token)",
        "Matrix: connecting",
    ]


def test_a_busy_memory_is_no_reason_to_worry_but_a_broken_one_is() -> None:
    assert list(alerts.memory_alerts(Panel(None, "busy", is_busy=True))) == []
    assert list(alerts.memory_alerts(Panel(None, "it is gone"))) == ["Memory: it is gone"]


def test_jobs_that_failed_the_last_time_are_named() -> None:
    jobs = [
        JobStatus("backup", 1440, last_outcome="the disk is full"),
        JobStatus("re-index", 60, last_outcome="ok"),
        JobStatus("tidying up", 1440, last_outcome="stopped"),
        JobStatus("new", 5),
    ]
    assert list(alerts.job_alerts(jobs)) == ["Backup: the disk is full"]


def test_background_tasks_that_failed_are_named_with_when_they_run_again() -> None:
    failed = NOW - timedelta(minutes=2)
    stopped = TaskFailure("reminders", "KeyError in menu.py, register", failed, 3, NOW + timedelta(minutes=1))
    again = replace(stopped, name="watcher", restarts_at=None)
    first, second = alerts.task_alerts([stopped, again], NOW)
    assert first.startswith(
        "The background task “reminders” failed (KeyError in menu.py, register) and will restart at "
    )
    assert second.startswith("The background task “watcher” failed at ")
    assert "is running again" in second


def test_errors_of_the_last_hour_are_counted_and_warnings_are_not() -> None:
    troubles = [
        trouble("error", 5, times=3),
        trouble("critical", 50),
        trouble("warning", 1),
        trouble("error", 61),
    ]
    assert list(alerts.error_alerts(troubles, NOW)) == ["Errors in the last hour: 4"]
    assert list(alerts.error_alerts(troubles[2:], NOW)) == []
