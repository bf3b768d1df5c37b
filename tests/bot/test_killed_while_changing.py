"""Processes that write, undo, redo and forget are killed at any call to the file system."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.changing_process import Expected, check_after_kill, run_and_kill


async def kill_at(base: Path, calls: list[int], *, seed: int) -> None:
    """Kill one process after the other on the same notes, and check each time."""
    expected = Expected()
    for number, count in enumerate(calls):
        run = partial(run_and_kill, base, seed=seed * 100 + number, calls=count)
        await check_after_kill(base, await asyncio.to_thread(run), expected)


async def test_nothing_is_lost_doubled_or_half_done(tmp_path: Path) -> None:
    await kill_at(tmp_path, [24, 31, 45], seed=3)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
async def test_nothing_is_lost_doubled_or_half_done_in_many_places(tmp_path: Path, seed: int) -> None:
    await kill_at(tmp_path, [20 + seed, 33 + seed, 46 + seed, 8 + seed, 60 + seed, 17 + seed], seed=seed)
