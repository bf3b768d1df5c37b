import logging
from datetime import UTC, datetime, timedelta

import pytest

from bot.log import RecentErrors, log_context, log_to_stderr
from bot.log.recent_errors import MAX_ERRORS


@pytest.fixture
def troubles() -> RecentErrors:
    troubles = RecentErrors()
    log_to_stderr("critical", secrets=["hunter2-longer"], recent_errors=troubles)
    return troubles


def test_they_are_kept_whatever_the_level_of_the_log_is(
    troubles: RecentErrors, capsys: pytest.CaptureFixture[str]
) -> None:
    with log_context("message-7") as turn:
        logging.getLogger("bot.x").warning("the key\nis %s", "hunter2-longer")
    logging.getLogger("bot.x").info("all is well")
    (trouble,) = troubles.recent()
    assert (trouble.level, trouble.source, trouble.text, trouble.turn, trouble.times) == (
        "warning",
        "bot.x",
        "the key is ***",
        turn,
        1,
    )
    assert abs(trouble.at - datetime.now(UTC)) < timedelta(minutes=1)
    assert capsys.readouterr().err == ""


def test_the_same_again_is_counted_and_comes_first(troubles: RecentErrors) -> None:
    log = logging.getLogger("bot.x")
    for text in ("a", "b", "a", "a"):
        log.error("%s", text)
    assert [(each.text, each.times) for each in troubles.recent()] == [("a", 3), ("b", 1)]
    log.warning("a")
    assert (troubles.recent()[0].level, troubles.recent()[0].text) == ("warning", "a")
    assert troubles.counts() == {"error": 4, "warning": 1}


def test_only_the_last_fifty_are_kept(troubles: RecentErrors) -> None:
    for number in range(MAX_ERRORS + 20):
        logging.getLogger("bot.x").error("%d", number)
    assert [each.text for each in troubles.recent()] == [
        str(number) for number in range(MAX_ERRORS + 19, 19, -1)
    ]


def test_an_error_is_told_by_its_kind_and_a_line_is_short(troubles: RecentErrors) -> None:
    try:
        dict[str, str]()["what somebody wrote"]
    except KeyError:
        logging.getLogger("bot.x").exception("a turn failed")
    logging.getLogger("bot.x").error("x" * 10_000)
    long, short = troubles.recent()
    assert short.text == "a turn failed: KeyError"
    assert len(long.text) <= 300
