import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.doctor.folders import check_folders, check_watching, wal_problem
from memory.file_systems import parse_file_system
from tests.bot.doctor.sample_state import as_nobody, find_check, settings_in, statuses, with_workspace


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody reaches; pytest's own are root's alone."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_workspace_that_is_well_is_left_as_it_is(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    before = tree(tmp_path)
    checks = [*check_folders(settings), *check_watching(settings)]
    assert "fail" not in statuses(checks)
    assert find_check(checks, "journal").status == "ok"
    assert tree(tmp_path) == before


def test_what_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    checks = [*check_folders(settings), *check_watching(settings)]
    assert "the first start creates it" in find_check(checks, "notes").detail
    assert tree(tmp_path) == ["config.toml"]


def test_a_file_in_the_place_of_a_folder_fails(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.workspace.mkdir()
    settings.memory_folder.write_text("")
    check = find_check(check_folders(settings), "notes")
    assert (check.status, check.detail) == ("fail", f"{settings.memory_folder} is not a folder")


def test_folders_that_are_not_ours_fail_with_whose_they_are(open_folder: Path) -> None:
    settings = with_workspace(open_folder)
    for folder in (settings.memory_folder, settings.private_folder):
        folder.chmod(0o555)
    with as_nobody():
        checks = list(check_folders(settings))
    assert [find_check(checks, name).status for name in ("workspace", "notes", "private")] == [
        "ok",
        "fail",
        "fail",
    ]
    assert ("chown" if os.geteuid() == 0 else "chmod") in find_check(checks, "notes").fix


def test_a_place_where_nothing_can_be_made_fails(open_folder: Path) -> None:
    settings = settings_in(open_folder)
    open_folder.chmod(0o555)
    with as_nobody():
        check = find_check(check_folders(settings), "workspace")
    open_folder.chmod(0o777)
    assert check.status == "fail"
    assert f"mkdir -p {settings.workspace}" in check.fix


def test_a_file_that_another_user_has_left_fails(open_folder: Path) -> None:
    settings = with_workspace(open_folder)
    for folder in (settings.memory_folder, settings.private_folder):
        folder.chmod(0o777)
    file = settings.private_folder / "state.db"
    file.write_bytes(b"")
    file.chmod(0o400)
    with as_nobody():
        check = find_check(check_folders(settings), "state.db")
    assert check.status == "fail"
    assert str(file) in check.fix


@pytest.mark.parametrize("name", ["state.db", "conversations.db", "conversations.db-wal"])
def test_conversations_that_others_can_read_are_told(tmp_path: Path, name: str) -> None:
    settings = with_workspace(tmp_path)
    file = settings.private_folder / name
    file.write_bytes(b"")
    file.chmod(0o644)
    check = find_check(check_folders(settings), name)
    assert (check.status, check.fix) == ("warn", f"run: chmod 600 {file}")


@pytest.mark.parametrize(("free", "status"), [(1_000_000, "fail"), (100_000_000, "warn"), (5e9, "ok")])
def test_a_disk_that_is_nearly_full_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: float, status: str
) -> None:
    usage = type("Usage", (), {"free": int(free)})
    monkeypatch.setattr("bot.doctor.folders.shutil.disk_usage", lambda _: usage)
    check = find_check(check_folders(with_workspace(tmp_path)), "free space")
    assert check.status == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        *(("ext4", "ok"), ("btrfs", "ok"), ("", "ok"), ("overlay", "warn"), ("tmpfs", "warn")),
        *(("nfs4", "warn"), ("fuse.sshfs", "warn"), ("fuseblk", "warn"), ("9p", "warn")),
    ],
)
def test_a_disk_that_sqlite_cannot_rely_on_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, status: str
) -> None:
    monkeypatch.setattr("bot.doctor.folders.find_file_system", lambda _: kind)
    check = find_check(check_folders(with_workspace(tmp_path)), "file system")
    assert check.status == status
    assert kind in check.detail


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount() -> None:
    mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /srv/my\\040notes rw - nfs4 host:/x rw\n"
    paths = ("/home", "/srv/my notes", "/srv/my notes/deep/er", "/srv/my")
    assert [parse_file_system(mounts, path) for path in paths] == ["ext4", "nfs4", "nfs4", "ext4"]


def test_whether_a_journal_works_is_tried(tmp_path: Path) -> None:
    assert wal_problem(tmp_path / "trial.db") == ""
    (tmp_path / "second.db-wal").mkdir()  # so that there can be no journal
    assert wal_problem(tmp_path / "second.db") != ""
    with pytest.raises(OSError, match="No such file"):
        wal_problem(tmp_path / "nowhere" / "trial.db")


def test_a_system_without_events_is_told_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = with_workspace(tmp_path)
    assert find_check(check_watching(settings), "events").status == "ok"

    class Full:
        def __init__(self, *_: object, **__: object) -> None:
            raise OSError("OS file watch limit reached.")

    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", Full)
    check = find_check(check_watching(settings), "events")
    assert check.status == "warn"
    assert "fs.inotify.max_user_watches" in check.detail


def test_notes_on_a_mount_without_events_are_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.doctor.folders.find_file_system", lambda _: "virtiofs")
    assert "virtiofs" in find_check(check_watching(with_workspace(tmp_path)), "notes").detail
    off = with_workspace(tmp_path, "[memory.watch]\nenabled = false\n")
    assert find_check(check_watching(off), "notes").detail.startswith("not watched")
