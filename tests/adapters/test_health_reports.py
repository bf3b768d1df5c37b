import pytest

from adapters.health_reports import HealthReports
from bot.messages import ChannelHealth


def test_each_problem_and_each_recovery_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "adapters")
    seen: list[ChannelHealth] = []
    reports = HealthReports("Chat", seen.append, token="secret")
    reports.set_problem("no history")
    reports.report_up()
    reports.set_problem("no history")
    reports.report_down("Chat cannot be reached: reset", is_network=True)
    reports.report_down("Chat cannot be reached: refused", is_network=True)
    reports.report_down("the token is wrong", is_network=False)
    reports.report_up()
    reports.set_problem("")
    reports.report_up()
    assert [(each.state, each.detail) for each in seen] == [
        ("up", "no history"),
        ("down", "Chat cannot be reached: reset"),
        ("down", "Chat cannot be reached: refused"),
        ("down", "the token is wrong"),
        ("up", "no history"),
        ("up", ""),
    ]
    assert caplog.messages == [
        "Chat: no history",
        "Chat cannot be reached: reset",
        "Chat: the token is wrong",
        "Chat: connected again",
        "Chat: works without problems again",
    ]


def test_a_token_is_neither_reported_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[ChannelHealth] = []
    reports = HealthReports("Chat", seen.append, token="12:secret")
    reports.report_down("cannot reach https://chat/bot12:secret/me", is_network=True)
    assert "secret" not in f"{seen} {caplog.messages}"
