import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.archives.backup import Backups
from bot.doctor.backups import check_backups
from tests.bot.doctor.sample_state import find_check, with_workspace

NOW = datetime.now(UTC)
LONG_AGO = (NOW - timedelta(days=30)).isoformat()


def test_without_anything_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    [check] = check_backups(with_workspace(tmp_path), begun="", now=NOW)
    assert check.status == "ok"


@pytest.mark.parametrize(
    ("begun", "status"),
    [("", "ok"), (NOW.isoformat(), "ok"), (LONG_AGO, "warn")],
    ids=["never", "now", "long ago"],
)
def test_none_at_all_is_told_once_there_should_be_one(tmp_path: Path, begun: str, status: str) -> None:
    settings = with_workspace(tmp_path)
    (settings.memory_folder / "a.md").write_text("x")
    check = find_check(check_backups(settings, begun=begun, now=NOW), "latest")
    assert (check.status, check.detail.startswith("none")) == (status, True)


def test_the_latest_is_told_by_its_age(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.memory_folder / "a.md").write_text("x")
    backups = Backups(notes=settings.memory_folder, private=settings.private_folder, now=lambda: NOW)
    asyncio.run(backups.make())
    assert find_check(check_backups(settings, begun=LONG_AGO, now=NOW), "latest").status == "ok"
    later = datetime.now(UTC) + timedelta(days=5, minutes=5)  # the file's time is not that of NOW
    Backups(
        notes=settings.memory_folder, private=settings.private_folder, now=lambda: later
    ).make_before_upgrade()  # which has no notes
    old = find_check(check_backups(settings, begun=LONG_AGO, now=later), "latest")
    assert (old.status, old.detail) == ("warn", "made 5 days ago")
    assert "commonplace backup" in old.fix


def test_where_none_are_made_by_themselves_it_is_told(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path, "[backup]\nkeep = 0\n")
    (settings.memory_folder / "a.md").write_text("x")
    check = find_check(check_backups(settings, begun="", now=NOW), "latest")
    assert (check.status, "backup.keep is 0" in check.detail) == ("warn", True)


def test_the_journal_counts_for_the_room(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.private_folder / "state.db").write_bytes(b"x" * 1000)
    (settings.private_folder / "state.db-wal").write_bytes(b"x" * 2_000_000)
    assert "(4.0 MB at most)" in find_check(check_backups(settings, begun="", now=NOW), "room").detail


def test_too_little_room_for_the_next_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = with_workspace(tmp_path)
    (settings.memory_folder / "a.md").write_text("x" * 5000)
    assert find_check(check_backups(settings, begun="", now=NOW), "room").status == "ok"
    monkeypatch.setattr("bot.doctor.backups.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    check = find_check(check_backups(settings, begun="", now=NOW), "room")
    assert (check.status, check.detail) == (
        "warn",
        "the next backup may need 5.0 kB, but only 1.0 kB are free",
    )
