"""Real processes that are killed while they index what was said, and while they forget it."""

import random
from pathlib import Path

import pytest

from tests.fakes.talking_process import assert_as_clean_run, complete_forgetting, run_and_kill

KILLS = 4


@pytest.mark.thorough
async def test_a_process_killed_while_indexing_leaves_an_index_as_of_a_clean_run(tmp_path: Path) -> None:
    chance = random.Random("index")
    for seed in range(KILLS):
        run_and_kill(tmp_path, "index", seed=seed, seconds=0.05 + chance.random() * 0.4)
        await assert_as_clean_run(tmp_path)


@pytest.mark.thorough
async def test_a_process_killed_while_forgetting_leaves_nothing_once_it_goes_on(tmp_path: Path) -> None:
    chance = random.Random("forget")
    forgotten = 0
    for seed in range(KILLS):
        lines = run_and_kill(tmp_path, "forget", seed=seed, seconds=0.1 + chance.random() * 0.4)
        forgotten += len(lines)
        await complete_forgetting(tmp_path, lines)
        await assert_as_clean_run(tmp_path)
    assert forgotten
