import asyncio
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from bot.config.settings import Settings
from bot.doctor.check import Check
from bot.doctor.conversations import check_conversations, inspect_state
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.state import channels, inbox
from bot.state.channels import Unread
from bot.state.database import State
from bot.state.integrity import StateReport
from bot.state.migrations import MIGRATIONS
from tests.bot.doctor.sample_state import everything, find_check, statuses, with_workspace
from tests.fakes.fresh_state import copy_fresh_state

NOW = datetime.now(UTC)


def message(number: int, channel: str = "terminal") -> IncomingMessage:
    return IncomingMessage(
        id=str(number), chat=ChatId(channel, "1"), sender=PersonId(channel, "1"), text="private", sent_at=NOW
    )


def checks_of(settings: Settings, *, alive: bool = False, now: datetime = NOW) -> list[Check]:
    return list(check_conversations(settings, inspect_state(settings, seconds=10), alive=alive, now=now))


async def filled(settings: Settings, *messages: IncomingMessage) -> None:
    async with State(copy_fresh_state(settings.private_folder / "state.db")) as state:
        for each in messages:
            await state.change(lambda db, each=each: inbox.add(db, each, owner="", at=state.at()))  # type: ignore[misc]


async def test_a_state_that_is_well_is_looked_at_and_not_touched(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    assert find_check(checks_of(settings), "file").detail.startswith("none yet")
    await filled(settings)
    before = {path: path.read_bytes() for path in settings.private_folder.iterdir()}
    checks = checks_of(settings)
    assert statuses(checks) == {"ok"}
    assert {path: path.read_bytes() for path in settings.private_folder.iterdir()} == before


async def test_a_first_start_that_was_cut_off_has_damaged_nothing(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.private_folder / "state.db").touch()
    assert statuses(checks_of(settings)) == {"ok"}
    await filled(settings)
    assert statuses(checks_of(settings)) == {"ok"}


async def test_beside_a_writer_all_that_is_committed_is_seen(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    async with State(copy_fresh_state(settings.private_folder / "state.db")) as state:
        await state.change(lambda db: inbox.add(db, message(1), owner="", at=state.at()))
        found = inspect_state(settings, seconds=10)
        assert isinstance(found, StateReport)
        assert found.waiting == {"terminal": 1}
        await state.change(lambda db: inbox.add(db, message(2), owner="", at=state.at()))


async def test_after_a_crash_the_journal_is_read_and_left_where_it_is(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings)
    code = (
        "import apsw, os, sys\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "db.execute(\"INSERT INTO unread VALUES ('telegram', '7', '{}', 'x', '2026')\")\n"
        "os._exit(0)\n"
    )
    writer = [sys.executable, "-c", code, str(settings.private_folder / "state.db")]
    await asyncio.to_thread(subprocess.run, writer, check=True)
    before = sorted(path.name for path in settings.private_folder.iterdir())
    assert "state.db-wal" in before
    found = inspect_state(settings, seconds=10)
    assert isinstance(found, StateReport)
    assert found.unread == {"telegram": 1}
    assert sorted(path.name for path in settings.private_folder.iterdir()) == before


async def test_a_damaged_state_fails_with_the_mend(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings)
    file = settings.private_folder / "state.db"
    content = bytearray(file.read_bytes())
    content[8192:] = random.Random(0).randbytes(len(content) - 8192)
    for broken in (bytes(content), b"not a database" * 500):
        file.write_bytes(broken)
        check = find_check(checks_of(settings), "file")
        assert check.status == "fail"
        assert "damaged" in check.detail
        assert "commonplace restore FILE" in check.fix
        assert file.read_bytes() == broken


async def test_a_state_of_a_newer_version_fails(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings)
    version(settings, len(MIGRATIONS) + 1)
    check = find_check(checks_of(settings), "file")
    assert (check.status, "update Commonplace" in check.fix) == ("fail", True)


async def test_a_state_of_an_older_version_is_brought_up_to_date_by_the_next_start(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings)
    version(settings, 3)
    checks = checks_of(settings)
    assert statuses(checks) == {"ok"}
    assert find_check(checks, "format").detail.startswith("version 3;")


def version(settings: Settings, number: int) -> None:
    db = apsw.Connection(str(settings.private_folder / "state.db"))
    db.execute(f"PRAGMA user_version = {number}")
    db.close()


def test_a_database_of_another_program_fails(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    db = apsw.Connection(str(settings.private_folder / "state.db"))
    db.execute("CREATE TABLE x (y)")
    db.close()
    check = find_check(checks_of(settings), "file")
    assert (check.status, "not a database of Commonplace" in check.detail) == ("fail", True)


async def test_messages_that_wait_are_told_with_what_they_wait_for(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings, message(1), message(2))
    check = find_check(checks_of(settings), "waiting")
    assert (check.status, "commonplace run" in check.fix) == ("warn", True)
    assert "unanswered: terminal 2" in check.detail
    assert find_check(checks_of(settings, alive=True), "waiting").status == "ok"
    in_hours = datetime.now(UTC) + timedelta(hours=3, minutes=5)  # they came in just now, later than NOW
    later = find_check(checks_of(settings, alive=True, now=in_hours), "waiting")
    assert (later.status, later.detail.endswith("the oldest has waited 3 h")) == ("warn", True)
    await filled(settings, message(3, "telegram"))
    check = find_check(checks_of(settings, alive=True), "waiting")
    assert check.fix == "set telegram.token again to have these delivered on telegram"
    assert "private" not in everything(checks_of(settings))


async def test_what_could_not_be_read_is_told(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings, message(1))
    async with State(copy_fresh_state(settings.private_folder / "state.db")) as state:
        unread = Unread("telegram", "7", "{}", "broken", state.at())
        await state.change(lambda db: channels.save_unread(db, unread))
        await state.change(lambda db: db.execute("UPDATE inbox SET payload = '{'"))
    checks = checks_of(settings)
    assert find_check(checks, "set aside").detail == "messages that could not be read were kept: telegram 1"
    assert find_check(checks, "unreadable").detail.startswith("1 message")
    assert {find_check(checks, name).status for name in ("set aside", "unreadable")} == {"warn"}


def test_a_restore_that_broke_off_fails(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.private_folder / "restore.json").write_text("{}")
    check = find_check(checks_of(settings), "restore")
    assert (check.status, check.fix) == ("fail", "run: commonplace restore FILE")


@pytest.mark.thorough
async def test_a_database_that_is_too_large_to_look_at_in_time_is_told_so(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    await filled(settings)
    db = apsw.Connection(str(settings.private_folder / "state.db"))
    db.execute("CREATE TABLE large (x)")
    db.execute(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1500000) "
        "INSERT INTO large SELECT hex(randomblob(50)) FROM n"
    )
    db.close()
    found = inspect_state(settings, seconds=0.03)
    assert isinstance(found, StateReport)
    assert not found.looked_through
