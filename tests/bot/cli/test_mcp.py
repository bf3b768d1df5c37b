"""`commonplace mcp` beside the service and beside others of its kind: who makes the vectors."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.cli import mcp
from bot.cli.mcp import make_vectors_alone
from bot.process_lock import hold_service_lock


class Maker:
    """Stands for the work that would never end, and says whether it runs."""

    def __init__(self) -> None:
        self.runs = False

    async def make(self) -> None:
        self.runs = True
        try:
            await asyncio.Event().wait()
        finally:
            self.runs = False


@pytest.fixture(autouse=True)
def quick_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "TURN_SECONDS", 0.01)


async def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came")


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def test_only_one_makes_vectors_and_the_next_takes_over(tmp_path: Path) -> None:
    makers = [Maker() for _ in range(3)]
    tasks = [asyncio.create_task(make_vectors_alone(each.make, tmp_path)) for each in makers]
    for left in (3, 2, 1):
        await wait_until(lambda: any(each.runs for each in makers))
        await asyncio.sleep(0.1)
        (running,) = (number for number, each in enumerate(makers) if each.runs)
        assert left == sum(not each.done() for each in tasks)
        await end(tasks[running])
        assert not makers[running].runs


async def test_a_service_that_starts_comes_first(tmp_path: Path) -> None:
    maker = Maker()
    task = asyncio.create_task(make_vectors_alone(maker.make, tmp_path))
    for _ in range(2):
        await wait_until(lambda: maker.runs)
        with hold_service_lock(tmp_path, shared=False):
            await wait_until(lambda: not maker.runs)
            await asyncio.sleep(0.1)
            assert not maker.runs
    await end(task)


async def test_its_end_and_its_errors_are_passed_on(tmp_path: Path) -> None:
    async def nothing_to_do() -> None:
        return

    async def fails() -> None:
        raise ValueError("broken")

    async def run(work: Callable[[], Awaitable[None]]) -> None:
        async with asyncio.timeout(5):
            await make_vectors_alone(work, tmp_path)

    await run(nothing_to_do)
    with pytest.raises(ValueError, match="broken"):
        await run(fails)
