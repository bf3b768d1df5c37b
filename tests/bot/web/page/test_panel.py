import asyncio
import logging

import pytest

from bot import phrases
from bot.state.database import StateUnusable
from bot.web.page.panel import Panel, load_panel
from memory.errors import IndexUnavailable, MemoryFault
from tests.fakes.table_test import table_test


async def give(value: int) -> int:
    return value


async def fail(error: Exception) -> int:
    raise error


async def test_what_comes_in_time_is_shown() -> None:
    assert await load_panel(give(3)) == Panel(3)


@table_test("fault", [IndexUnavailable("it is locked"), StateUnusable("the disk is full")])
async def test_a_fault_is_told_in_its_own_words(fault: MemoryFault | StateUnusable) -> None:
    assert await load_panel(fail(fault)) == Panel(None, str(fault))


async def test_a_mistake_of_ours_is_logged_and_tells_nothing_of_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        assert await load_panel(fail(ZeroDivisionError("s3cret"))) == Panel(None, phrases.WEB_PANEL_FAILED)
    assert "ZeroDivisionError" in caplog.text


async def test_nobody_waits_for_what_takes_long_even_where_it_cannot_be_cancelled() -> None:
    release = asyncio.Event()

    async def stubborn() -> int:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        raise StateUnusable("much later")

    assert await load_panel(stubborn(), timeout_seconds=0.01) == Panel(None, phrases.WEB_BUSY, is_busy=True)
    release.set()
    await asyncio.sleep(0.01)


async def test_whoever_asks_no_more_ends_the_asking() -> None:
    ended = asyncio.Event()

    async def long() -> int:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return 0

    asking = asyncio.create_task(load_panel(long(), timeout_seconds=60))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    await asyncio.wait_for(ended.wait(), 1)
