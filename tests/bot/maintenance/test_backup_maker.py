import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot import phrases
from bot.archives.backup import Backups
from bot.maintenance.backup_maker import BackupMaker


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("The bins go out on Monday\n")
    return Backups(notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=now)


async def ended(maker: BackupMaker) -> None:
    if maker._running:
        await asyncio.wait([maker._running])
    assert not maker.is_running


async def test_nobody_waits_for_it_and_a_second_one_is_refused(backups: Backups) -> None:
    maker = BackupMaker(backups, now=now)
    assert maker.start()
    assert maker.is_running
    assert not maker.start()
    await ended(maker)
    (stored,) = backups.list_stored()
    assert maker.last
    assert maker.last.result
    assert (maker.last.result.file.name, maker.last.result.files) == (stored.name, 1)
    assert maker.start(), "the next one may begin"
    await ended(maker)
    assert len(backups.list_stored()) == 2


async def test_none_begins_while_the_nightly_one_runs(backups: Backups) -> None:
    maker = BackupMaker(backups, now=now)
    night = asyncio.create_task(backups.make_nightly(keep=7))
    await asyncio.sleep(0)
    assert maker.is_running
    assert not maker.start()
    await night
    assert maker.last is None


async def test_one_that_fails_says_why_and_the_next_is_tried(backups: Backups) -> None:
    maker = BackupMaker(backups, now=now)
    backups.folder.parent.mkdir()
    backups.folder.write_text("in the way")
    assert maker.start()
    await ended(maker)
    assert maker.last
    assert (maker.last.result, "no backup was made" in maker.last.problem) == (None, True)
    backups.folder.unlink()
    assert maker.start()
    await ended(maker)
    assert maker.last.problem == ""


async def test_a_bug_of_ours_is_in_the_log(backups: Backups, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> datetime:
        raise RuntimeError("a bug of ours")

    maker = BackupMaker(Backups(notes=backups.folder, private=backups.folder, now=broken), now=now)
    maker.start()
    await ended(maker)
    assert maker.last
    assert maker.last.problem == phrases.WEB_BACKUP_FAILED
    assert "a bug of ours" in caplog.text


async def test_closing_stops_it_and_leaves_nothing(backups: Backups, tmp_path: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def held() -> datetime:
        asked.set()
        go_on.wait(30)
        return now()

    slow = Backups(notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=held)
    maker = BackupMaker(slow, now=now)
    maker.start()
    await asyncio.to_thread(asked.wait, 30)
    closing = asyncio.create_task(maker.close())
    for _ in range(5):  # until it has been told to stop
        await asyncio.sleep(0)
    go_on.set()
    await closing
    assert not maker.is_running
    assert maker.last is None
    assert not list(slow.folder.iterdir())


async def test_closing_does_nothing_if_none_runs(backups: Backups) -> None:
    await BackupMaker(backups, now=now).close()
