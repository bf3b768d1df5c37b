import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.archives.backup import Backups
from bot.archives.errors import BackupError

NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)


class Clock:
    time = NOW

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("The bins go out on Monday\n")
    return Backups(notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=Clock())


def test_there_is_none_where_there_is_no_folder(backups: Backups) -> None:
    assert backups.list_stored() == ()


async def test_they_are_listed_with_the_latest_first(
    backups: Backups, monkeypatch: pytest.MonkeyPatch
) -> None:
    await backups.make()
    monkeypatch.setattr(Clock, "time", NOW + timedelta(days=1))
    await backups.make_nightly(keep=7)
    monkeypatch.setattr(Clock, "time", NOW + timedelta(hours=1))
    await backups.make(key="a message")
    found = backups.list_stored()
    assert [(each.made_at - NOW, each.is_nightly) for each in found] == [
        (timedelta(days=1), True),
        (timedelta(hours=1), False),
        (timedelta(), False),
    ]
    assert all(each.size == (backups.folder / each.name).stat().st_size for each in found)


async def test_of_two_from_the_same_second_the_later_one_is_first(backups: Backups) -> None:
    first, second = await backups.make(), await backups.make()
    os.utime(first.file, (NOW.timestamp(), NOW.timestamp()))
    assert [each.name for each in backups.list_stored()] == [second.file.name, first.file.name]


def test_of_several_upgrades_in_one_second_the_latest_are_kept(backups: Backups) -> None:
    for number in range(5):
        made = backups.make_before_upgrade()
        os.utime(made.file, ns=(number, number))
    assert sorted(each.stat.st_mtime_ns for each in backups.list_stored()) == [2, 3, 4]


async def test_what_the_program_did_not_name_is_no_backup(backups: Backups, tmp_path: Path) -> None:
    made = await backups.make()
    folder = backups.folder
    for name in (
        "notes.tar.gz",
        "commonplace-x.zip",
        '"commonplace-x.tar.gz',
        "commonplace-a b.tar.gz",
        "commonplace-\r\nx.tar.gz",
        ".commonplace-backup-0123",
    ):
        (folder / name).write_bytes(b"x")
    (folder / "commonplace-folder.tar.gz").mkdir()
    (tmp_path / "secrets.toml").write_text("x")
    (folder / "commonplace-link.tar.gz").symlink_to(tmp_path / "secrets.toml")
    os.mkfifo(folder / "commonplace-pipe.tar.gz")
    assert [each.name for each in backups.list_stored()] == [made.file.name]


def test_without_a_time_in_the_name_that_of_the_file_counts(backups: Backups) -> None:
    backups.folder.mkdir(parents=True)
    for name in ("commonplace-mine.tar.gz", "commonplace-20269999T999999Z.tar.gz"):
        (backups.folder / name).write_bytes(b"x")
        os.utime(backups.folder / name, (NOW.timestamp(), NOW.timestamp()))
    assert {each.made_at for each in backups.list_stored()} == {NOW}


async def test_what_is_in_one_is_known_once_it_was_made_or_read(backups: Backups, tmp_path: Path) -> None:
    await backups.make()
    (known,) = backups.list_stored()
    assert known.contents
    assert (known.contents.files, known.contents.state) == (1, False)
    later = Backups(notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=Clock())
    assert later.list_stored()[0].contents is None
    assert await later.read_contents(known.name) == known.contents
    assert later.list_stored()[0].contents == known.contents
    (backups.folder / known.name).write_bytes(b"another file")
    assert later.list_stored()[0].contents is None, "it is not the one that was read"


async def test_a_damaged_one_and_one_that_is_gone_are_told(backups: Backups) -> None:
    made = await backups.make()
    made.file.write_bytes(made.file.read_bytes()[:-20])
    with pytest.raises(BackupError, match="damaged"):
        await backups.read_contents(made.file.name)
    made.file.unlink()
    with pytest.raises(BackupError, match="cannot be read: no such file"):
        await backups.read_contents(made.file.name)


async def test_backups_before_upgrades_are_without_notes_and_the_latest_three_are_kept(
    backups: Backups, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand = await backups.make()
    nightly = await backups.make_nightly(keep=7)
    made = []
    for day in range(1, 6):
        monkeypatch.setattr(Clock, "time", NOW + timedelta(days=day))
        made.append(backups.make_before_upgrade().file.name)
    await backups.make_nightly(keep=1)
    stored = {each.name: each for each in backups.list_stored()}
    assert by_hand.file.name in stored
    assert nightly.file.name not in stored
    assert sorted(name for name, each in stored.items() if each.is_before_upgrade) == made[2:]
    assert not (await backups.read_contents(made[-1])).notes
