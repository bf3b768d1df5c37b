import asyncio
import os
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.config.settings import Settings
from bot.doctor.check import Check
from bot.doctor.notes import check_note_index, check_notes, inspect_index_of
from memory.memory import Memory
from memory.notes import Notes
from memory.sync import RACY_NS
from tests.bot.doctor.sample_state import (
    as_nobody,
    everything,
    find_check,
    settings_in,
    statuses,
    with_workspace,
)

NOW = datetime.now(UTC)


def noted(folder: Path) -> Settings:
    """A workspace with one note, indexed."""
    settings = with_workspace(folder)
    (settings.memory_folder / "house.md").write_text("The boiler is blue.\n")
    index(settings)
    return settings


def index(settings: Settings) -> None:
    async def work() -> None:
        async with Memory(settings.memory, workspace=settings.workspace, now=settings.now) as memory:
            await memory.sync()

    asyncio.run(work())


def index_checks(settings: Settings, *, alive: bool = False, now: datetime = NOW) -> list[Check]:
    return list(check_note_index(settings, inspect_index_of(settings, seconds=10), alive=alive, now=now))


def test_notes_that_are_well_are_counted(tmp_path: Path) -> None:
    [check] = check_notes(noted(tmp_path))
    assert (check.status, check.detail) == ("ok", "1, 20 bytes")
    [check] = check_notes(settings_in(tmp_path / "workspace"))
    assert check.detail == "none yet"


def test_a_core_note_that_is_not_at_hand_whole_is_told_of_with_the_mend(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    core = settings.memory_folder / "MEMORY.md"
    core.write_text("- A fact that everybody should know.\n" * 300)
    check = find_check(list(check_notes(settings)), "MEMORY.md")
    assert check.status == "warn"
    assert (
        check.detail == "11,099 characters, but only the first 6,000 (to line 162) are in every conversation"
    )
    assert "move what is not always needed to other notes" in check.fix
    core.write_text("- A fact.\n")
    assert statuses(check_notes(settings)) == {"ok"}


def test_an_index_in_which_nothing_was_made_yet_is_not_damaged(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.private_folder / "index.db").touch()
    assert statuses(index_checks(settings)) == {"ok"}
    index(settings)
    assert statuses(index_checks(settings)) == {"ok"}


def test_what_is_not_read_is_told_with_its_name_and_the_mend(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.memory_folder / "out.md").symlink_to("/etc/hostname")
    (settings.memory_folder / "nowhere.md").symlink_to("gone.md")
    (settings.memory_folder / "aux.md").write_text("x")
    with (settings.memory_folder / "huge.md").open("wb") as file:
        file.truncate(17 << 20)
    checks = [check for check in check_notes(settings) if check.name == "not read"]
    assert statuses(checks) == {"warn"}
    told = everything(checks)
    for name, why in (
        ("out.md", "leads out of the memory folder"),
        ("nowhere.md", "leads nowhere"),
        ("aux.md", "Windows"),
        ("huge.md", "above 16 MB"),
    ):
        assert f"{name}: " in told
        assert why in told
    for number in range(9):
        (settings.memory_folder / f"more{number}.md").symlink_to("gone.md")
    checks = [check for check in check_notes(settings) if check.name == "not read"]
    assert (len(checks), checks[-1].detail) == (6, "8 more")


def test_a_note_without_permission_is_told() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        settings = with_workspace(Path(name))
        (settings.memory_folder / "secret.md").write_text("x")
        (settings.memory_folder / "secret.md").chmod(0)
        with as_nobody():
            check = find_check(check_notes(settings), "not read")
    assert check.detail.startswith("secret.md: permission denied")


def test_an_index_is_looked_at_and_not_touched(tmp_path: Path) -> None:
    settings = noted(tmp_path)
    before = {path: path.read_bytes() for path in settings.private_folder.glob("index.db*")}
    checks = index_checks(settings, now=NOW + timedelta(hours=1))
    assert statuses(checks) == {"ok"}
    assert find_check(checks, "file").detail.startswith("1 note in 1 chunk, ")
    assert find_check(checks, "file").detail.endswith(", intact")
    assert {path: path.read_bytes() for path in settings.private_folder.glob("index.db*")} == before


def test_what_is_not_indexed_yet_is_well_until_a_service_should_have_seen_it(tmp_path: Path) -> None:
    settings = noted(tmp_path)
    (settings.memory_folder / "new.md").write_text("New.\n")
    os.utime(settings.memory_folder / "new.md", (1e9, 1e9))
    assert find_check(index_checks(settings), "up to date").status == "ok"
    now = datetime.now(UTC)
    soon, late = now + timedelta(minutes=1), now + timedelta(hours=1)
    assert find_check(index_checks(settings, alive=True, now=soon), "up to date").status == "ok"
    check = find_check(index_checks(settings, alive=True, now=late), "up to date")
    assert check.status == "warn"
    assert "new.md" in check.detail
    assert "commonplace memory index" in check.fix
    index(settings)
    (settings.memory_folder / "house.md").unlink()
    assert "1 deleted" in find_check(index_checks(settings), "up to date").detail


def test_an_index_is_up_to_date_for_notes_that_each_sync_reads_again(tmp_path: Path) -> None:
    settings = noted(tmp_path)  # within the time in which another change would not show
    assert find_check(index_checks(settings), "up to date").detail.startswith("yes, ")
    os.link(settings.memory_folder / "house.md", tmp_path / "also.md")
    time.sleep(2 * RACY_NS / 1e9)
    index(settings)
    assert find_check(index_checks(settings), "up to date").detail.startswith("yes, ")
    (settings.memory_folder / "house.md").write_text("The boiler is green.\n")
    assert "1 new or changed" in find_check(index_checks(settings), "up to date").detail


def test_an_index_is_up_to_date_for_notes_with_hidden_lines(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/people.md").write_text("- Ada: 4711\n- Ben likes tea\n")
    settings = with_workspace(tmp_path, '[[memory.folders]]\npath = "vault"\n')
    time.sleep(2 * RACY_NS / 1e9)
    index(settings)
    folders = settings.note_folders
    notes = Notes(folders.own.path, private=settings.private_folder, others=folders.others)
    notes.hide("vault/people.md", ["- Ada: 4711"])
    assert "1 new or changed" in find_check(index_checks(settings), "up to date").detail
    index(settings)
    assert find_check(index_checks(settings), "up to date").detail.startswith("yes, ")


def test_a_damaged_index_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    settings = noted(tmp_path)
    file = settings.private_folder / "index.db"
    content = bytearray(file.read_bytes())
    content[4096:] = random.Random(0).randbytes(len(content) - 4096)
    file.write_bytes(content)
    check = find_check(index_checks(settings), "file")
    assert check.status == "warn"
    assert "damaged" in check.detail
    assert "--rebuild" in check.fix
    file.write_bytes(b"no database at all, though long enough to be one" * 100)
    assert "damaged" in find_check(index_checks(settings), "file").detail


def test_an_index_of_other_settings_is_said_to_be_built_anew(tmp_path: Path) -> None:
    noted(tmp_path)
    settings = with_workspace(tmp_path, "[memory.chunk]\ntarget_tokens = 300\n")
    [check] = index_checks(settings)
    assert (check.status, "rebuilds it" in check.detail) == ("ok", True)


def test_notes_in_a_foreign_encoding_are_told(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    (settings.memory_folder / "old.md").write_bytes("Müller\n".encode("latin-1"))
    index(settings)
    assert find_check(index_checks(settings), "not UTF-8").detail == "old.md"


@pytest.mark.parametrize("alive", [True, False])
def test_without_an_index_there_will_be_one(tmp_path: Path, alive: bool) -> None:
    [check] = index_checks(with_workspace(tmp_path), alive=alive)
    assert (check.status, check.detail.startswith("none yet")) == ("ok", True)
