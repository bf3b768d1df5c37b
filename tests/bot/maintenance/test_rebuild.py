import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot import phrases
from bot.maintenance.rebuild import IndexRebuilder
from memory.errors import MemoryFault
from memory.memory import Memory
from memory.settings import MemorySettings


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory:
        await memory.write("The bins go out on Monday")
        yield memory


async def test_who_asks_while_one_runs_waits_for_that_one(memory: Memory) -> None:
    rebuilding = IndexRebuilder(memory, now=lambda: datetime.now(UTC))
    rebuilding.start()
    assert rebuilding.is_running
    first, second = await asyncio.gather(rebuilding.run(), rebuilding.run())
    assert first is second
    assert first.added == 1
    assert not rebuilding.is_running
    assert rebuilding.last
    assert rebuilding.last.result is first


async def test_it_goes_on_where_nobody_waits_any_more(memory: Memory) -> None:
    rebuilding = IndexRebuilder(memory, now=lambda: datetime.now(UTC))
    waiting = asyncio.create_task(rebuilding.run())
    await asyncio.sleep(0)
    waiting.cancel()
    assert rebuilding.is_running
    assert (await rebuilding.run()).added == 1


async def test_one_that_fails_says_why_and_the_next_is_tried(memory: Memory, tmp_path: Path) -> None:
    rebuilding = IndexRebuilder(memory, now=lambda: datetime.now(UTC))
    index = tmp_path / ".commonplace" / "index.db"
    index.parent.mkdir(exist_ok=True)
    index.mkdir()
    with pytest.raises(MemoryFault):
        await rebuilding.run()
    assert rebuilding.last
    assert rebuilding.last.result is None
    assert "the index cannot be used" in rebuilding.last.problem
    index.rmdir()
    assert (await rebuilding.run()).added == 1
    assert rebuilding.last.problem == ""


async def test_a_bug_of_ours_is_in_the_log_with_all_that_there_is_to_know(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    rebuilding = IndexRebuilder(memory, now=lambda: datetime.now(UTC))
    monkeypatch.setattr("memory.synced_index.rebuild_index", broken)
    with pytest.raises(ZeroDivisionError):
        await rebuilding.run()
    assert rebuilding.last
    assert rebuilding.last.problem == phrases.REBUILD_FAILED
    assert any(record.exc_info for record in caplog.records)
