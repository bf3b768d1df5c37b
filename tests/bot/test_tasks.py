import logging

import pytest

from bot.tasks import BackgroundTasks


async def fails() -> None:
    raise OSError("no more files")


async def test_a_short_task_that_fails_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    tasks = BackgroundTasks()
    tasks.start(fails())
    assert await tasks.wait(5)
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "a background task failed: fails")
    assert record.exc_info
    assert tasks.running == 0


async def test_a_short_task_that_is_cancelled_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    tasks = BackgroundTasks()
    tasks.start(fails())
    tasks.cancel()
    assert await tasks.wait(5)
    assert caplog.records == []
