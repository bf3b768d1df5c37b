import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.supervisor import RESTART_SECONDS, Supervisor, TaskFailure
from memory.errors import IndexUnavailable

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


class Work:
    """Reads a file again and again: whether it can is for the test to say."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.begun = 0

    async def __call__(self) -> None:
        self.begun += 1
        while True:
            self.file.read_text()
            await asyncio.sleep(0.005)


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not done():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def errors(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_task_that_fails_is_logged_reported_and_started_again_until_it_is_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work(tmp_path / "file")
    supervisor = Supervisor(pauses=(0.05,), steady_seconds=0.3, now=lambda: NOW)
    task = supervisor.start("reader", work)
    await until(lambda: supervisor.failures)
    (failure,) = supervisor.failures
    assert failure.error.startswith("FileNotFoundError in ")
    assert failure == TaskFailure("reader", failure.error, NOW, 1, NOW + timedelta(seconds=0.05))
    assert supervisor.is_stopped("reader")
    (record,) = errors(caplog)
    assert record.getMessage() == (
        f"the background task reader failed and restarts in 0.05 s: {failure.error}"
    )
    assert record.exc_info
    await until(lambda: supervisor.failures[0].failures == 3)
    work.file.write_text("here")
    await until(lambda: not supervisor.is_stopped("reader"))
    (failure,) = supervisor.failures
    assert failure.restarts_at is None, "it runs, and may fail again at once"
    await until(lambda: not supervisor.failures)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.thorough
async def test_the_pauses_grow_and_begin_again_once_it_was_well(tmp_path: Path) -> None:
    work = Work(tmp_path / "file")
    supervisor = Supervisor(pauses=(0.01, 0.02, 0.04), steady_seconds=0.1, now=lambda: NOW)
    seen: list[int] = []

    async def fails() -> None:
        seen.extend(each.failures for each in supervisor.failures)
        await work()

    task = supervisor.start("reader", fails)
    await until(lambda: len(seen) >= 4)
    assert seen[:4] == [1, 2, 3, 4]
    work.file.write_text("here")
    await until(lambda: not supervisor.failures)
    work.file.unlink()
    await until(lambda: supervisor.failures)
    assert supervisor.failures[0].failures == 1
    task.cancel()
    await asyncio.wait([task])
    assert sorted(RESTART_SECONDS) == list(RESTART_SECONDS)


async def test_a_task_that_returns_has_done_its_work() -> None:
    async def once() -> None:
        await asyncio.sleep(0)

    supervisor = Supervisor()
    await supervisor.start("once", once)
    assert supervisor.failures == ()


async def test_a_cancellation_that_comes_out_of_what_it_awaits_is_a_failure() -> None:
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            lost.cancel()
            await lost
        await asyncio.Event().wait()

    supervisor = Supervisor(pauses=(0.01,))
    task = supervisor.start("connection", work)
    await until(lambda: begun == 2)
    assert [failure.error for failure in supervisor.failures] == [
        "CancelledError in test_supervisor.py, work"
    ]
    task.cancel()
    await asyncio.wait([task])
    assert supervisor.failures == (), "what was ended is not missed"


async def test_a_known_fault_is_one_line_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(part())

    async def part() -> None:
        raise IndexUnavailable("the disk\nis full")

    supervisor = Supervisor(pauses=(60.0,))
    task = supervisor.start("watcher", work)
    await until(lambda: supervisor.failures)
    (record,) = errors(caplog)
    assert record.getMessage().endswith("restarts in 60 s: the disk is full")
    assert record.exc_info is None
    task.cancel()
    await asyncio.wait([task])


async def test_one_that_ends_late_takes_nothing_from_the_next_of_its_name() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    tries = 0

    async def ends_late() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()

    async def fails_once() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise IndexUnavailable("the disk is full")

    supervisor = Supervisor(pauses=(0.05,))
    first = supervisor.start("menus", ends_late)
    await begun.wait()
    first.cancel()
    second = supervisor.start("menus", fails_once)
    await until(lambda: supervisor.failures)
    may_end.set()
    await asyncio.wait([first])
    assert supervisor.is_stopped("menus"), "the next one has not recovered yet"
    await second
    assert tries == 2
    assert supervisor.failures == ()
