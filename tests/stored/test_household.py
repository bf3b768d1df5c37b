"""A household's workspace as an earlier format stored it: the program tells all that it told before."""

import json
from pathlib import Path

import pytest

from tests.fakes.commonplace import Commonplace
from tests.stored.differences import differences
from tests.stored.household import (
    BEN,
    CLEO,
    FORGOTTEN,
    OWNER,
    keep,
    live,
    open_household,
    pass_stored_ids,
    read,
)
from tests.stored.write_household import READINGS, unpack

HERE = Path(__file__).parent
FORMATS = sorted(folder.parent for folder in HERE.glob(f"*/{READINGS}"))


@pytest.fixture(params=FORMATS, ids=lambda folder: folder.name)
def stored(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture
def workspace(stored: Path, tmp_path: Path) -> Path:
    return unpack(stored, tmp_path)


async def test_the_program_tells_what_it_told_before(stored: Path, workspace: Path) -> None:
    before = json.loads((stored / READINGS).read_text("utf-8"))
    assert differences(keep(before), await read(workspace)) == []


async def test_today_such_a_household_reads_the_same(tmp_path: Path) -> None:
    """What the stored ones are compared with says the same of one that never was upgraded."""
    await live(tmp_path / "workspace")
    now = await read(tmp_path / "workspace")
    latest = json.loads((FORMATS[-1] / READINGS).read_text("utf-8"))
    assert differences(latest["export"], now["export"]) == []
    assert differences(latest["memory.search"], now["memory.search"]) == []


async def test_it_goes_on_where_it_stopped(workspace: Path) -> None:
    pass_stored_ids()
    async with open_household(workspace) as home:
        await home.house.wait_until_idle()
        notices = [parts[-1].text for _, parts in home.house.telegram.shown]
        assert sum("would like to talk with me" in text for text in notices) == 3
        assert await home.say(BEN, "/remind 2099-05-07 10:00 tea")
        home.model.enqueue("Hello Cleo.")
        assert await home.say(CLEO, "Hi.") == "Hello Cleo."
        await home.say(OWNER, "/pair WAITING2")
        home.model.enqueue("Welcome.")
        assert await home.say("telegram:80", "Hi.") == "Welcome."
        assert "room 402" in await home.say(OWNER, "/undo 5")


def test_what_was_forgotten_is_in_no_file(workspace: Path) -> None:
    assert not [
        each for each in workspace.rglob("*") if each.is_file() and FORGOTTEN.encode() in each.read_bytes()
    ]


@pytest.mark.thorough
def test_the_command_reads_it_and_undoes_an_import(workspace: Path, tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    assert "Knead" in commonplace.output_of("memory", "search", "knead")
    assert "The kayak is in the attic." in commonplace.output_of("export")
    commonplace.output_of("import", "--undo", "2")
    assert not (workspace / "memory" / "Bread.md").exists()
    assert json.loads(commonplace.output_of("memory", "changes", "--json"))["changes"]
