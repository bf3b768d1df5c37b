"""Upgrade, refusal of a newer file, going back and moving, by the commands of docs/operations.md."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from bot.archives.archive import write_archive
from bot.archives.backup import KEPT_UPGRADES
from bot.state.migrations import MIGRATIONS
from scripts.print_transcript import Shell, find_blocks
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.stored_formats import read_file
from tests.stored.differences import differences
from tests.stored.write_household import READINGS, unpack

ROOT = Path(__file__).parents[3]
STORED = ROOT / "tests" / "stored" / "format_28"
LATEST = len(MIGRATIONS)
REFUSED = f"was written by a newer version of Commonplace (9.1.0, format {LATEST + 2}; this is "


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    unpack(STORED, tmp_path)
    return CommonplaceHere(tmp_path)


def state_of(folder: Path) -> Path:
    return folder / "workspace" / ".commonplace" / "state.db"


def made_before_upgrades(folder: Path) -> list[Path]:
    return sorted((state_of(folder).parent / "backups").glob("*-before-upgrade.tar.gz"))


def let_a_newer_version_upgrade(state: Path) -> None:
    """Write what a version two formats later would, after a backup of the same name as the last one."""
    with closing(apsw.Connection(str(state))) as db:
        backup = db.execute("SELECT backup FROM upgrades").get
        row = (LATEST + 2, LATEST, "9.1.0", backup, "2099-01-01T00:00:00.000+00:00")
        db.execute("INSERT INTO upgrades (format, earlier, version, backup, at) VALUES (?, ?, ?, ?, ?)", row)
        db.execute(f"PRAGMA user_version = {LATEST + 2}")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file of the workspace but locks, and the index, which anybody may bring up to date."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in (folder / "workspace").rglob("*")
        if file.is_file() and file.parent.name != "locks" and not file.name.startswith("index.db")
    }


def missing_in(exported: str) -> list[str]:
    """Return what an export lacks of what was said in the household; what was said since comes last."""
    readings = json.loads((STORED / READINGS).read_text("utf-8"))
    now = [json.loads(line) for line in exported.splitlines()]
    return differences(readings["export"], now[: len(readings["export"])])


# -- upgrade ----------------------------------------------------------------------------------------------------


def test_doctor_says_that_the_next_start_upgrades(commonplace: Commonplace) -> None:
    done = commonplace("doctor")
    assert f"version 28; the next start upgrades it to {LATEST}" in done.stdout
    assert read_file(state_of(commonplace.folder))[0] == 28


def test_the_first_start_backs_up_and_the_backup_is_restored(commonplace: Commonplace) -> None:
    folder = commonplace.folder
    before = read_file(state_of(folder))
    commonplace.output_of("chat", "-m", "/remind 2099-05-09 10:00 after the upgrade")
    assert read_file(state_of(folder))[0] == LATEST
    (made,) = made_before_upgrades(folder)
    (commonplace.memory / "MEMORY.md").write_text("# Memory\n\n- A line since the upgrade.\n")
    shown = commonplace.output_of("restore", str(made))
    assert "Restored the backup" in shown
    assert read_file(state_of(folder)) == before
    assert "since the upgrade" in (commonplace.memory / "MEMORY.md").read_text(), (
        "no upgrade changes the notes"
    )
    assert "after the upgrade" not in commonplace.output_of("chat", "-m", "/reminders")


def test_the_latest_three_backups_are_kept(commonplace: Commonplace) -> None:
    earlier = state_of(commonplace.folder).read_bytes()
    made: list[list[Path]] = []
    for _ in range(5):
        state_of(commonplace.folder).write_bytes(earlier)
        commonplace.output_of("export")
        made.append(made_before_upgrades(commonplace.folder))
    assert [len(each) for each in made] == [1, 2, 3, 3, 3]
    commonplace.output_of("backup")
    assert len(made_before_upgrades(commonplace.folder)) == KEPT_UPGRADES


def test_without_room_for_the_backup_nothing_is_upgraded(commonplace: Commonplace) -> None:
    folder = commonplace.folder
    (backups := state_of(folder).parent / "backups").write_text("in the way")
    before = files_of(folder)
    told = commonplace.error_of("chat", "-m", "Hello")
    assert (
        f"state.db has to be upgraded for this version, but no backup was made: {backups} could not be"
        in told
    )
    assert "Nothing was changed; once that is fixed, start again." in told
    assert files_of(folder) == before


# -- a newer file -----------------------------------------------------------------------------------------------


@pytest.fixture
def newer(commonplace: Commonplace) -> Commonplace:
    """A workspace that a newer version has upgraded."""
    commonplace.output_of("export")
    let_a_newer_version_upgrade(state_of(commonplace.folder))
    return commonplace


@pytest.mark.parametrize(
    "command",
    [
        "chat -m Hello",
        "run",
        "memory search boiler --source all",
        "memory changes",
        "memory undo",
        "export",
        "backup",
        "backup mine.tar.gz",
        "import vault",
        "mcp",
    ],
)
def test_a_command_that_needs_it_is_refused_in_one_line_and_changes_nothing(
    newer: Commonplace, command: str
) -> None:
    (newer.folder / "vault").mkdir()
    (newer.folder / "vault" / "Bread.md").write_text("# Bread\n")
    before = files_of(newer.folder)
    told = newer.error_of(*command.split())
    assert REFUSED in told
    assert "install Commonplace 9.1.0 or later, or " in told
    (made,) = made_before_upgrades(newer.folder)
    assert told.endswith(f"commonplace restore {made}")
    assert files_of(newer.folder) == before


def test_doctor_says_so_and_how_to_go_on(newer: Commonplace) -> None:
    before = files_of(newer.folder)
    done = newer("doctor", "--json")
    (failed,) = [each for each in json.loads(done.stdout)["checks"] if each["status"] == "fail"]
    assert done.returncode == 1
    assert REFUSED in failed["detail"]
    assert failed["fix"].startswith("install Commonplace 9.1.0 or later, or go back to the backup")
    assert files_of(newer.folder) == before


def test_the_notes_can_be_read_and_written_all_the_same(newer: Commonplace) -> None:
    before = state_of(newer.folder).read_bytes()
    found = json.loads(newer.output_of("memory", "search", "violin", "--json"))
    assert [each["path"] for each in found["results"]] == ["2026-11-21.md"]
    assert "peanuts" in newer.output_of("memory", "get", "MEMORY.md")
    assert newer.output_of("memory", "status")
    written = newer.output_of("memory", "write", "A line from an older version.")
    assert "It is not in the list of changes, and can't be undone: " in written
    assert REFUSED in written
    assert state_of(newer.folder).read_bytes() == before


def test_restoring_the_backup_goes_back(newer: Commonplace) -> None:
    told = newer.error_of("chat", "-m", "Hello")
    newer.output_of("restore", told.rpartition("commonplace restore ")[2])
    assert read_file(state_of(newer.folder))[0] == 28
    assert missing_in(newer.output_of("export", "--json")) == []


def test_a_newer_version_s_archive_is_refused(newer: Commonplace, tmp_path: Path) -> None:
    file = tmp_path / "newer.tar.gz"
    with file.open("wb") as target:
        write_archive(
            target,
            notes=None,
            state=state_of(newer.folder),
            hidden=None,
            spool=tmp_path,
            made_at="2099-01-01T00:00:00+00:00",
            version="9.1.0",
            stopped=lambda: False,
        )
    before = files_of(newer.folder)
    told = newer.error_of("restore", str(file))
    assert f"newer.tar.gz cannot be restored: state.db {REFUSED}" in told
    assert "install Commonplace 9.1.0 or later, or restore a backup that this version made" in told
    assert told.endswith("; nothing was changed")
    assert files_of(newer.folder) == before


# -- docs/operations.md -----------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with closing(Shell(tmp_path)) as shell:
        shutil.rmtree(tmp_path / "workspace")
        unpack(STORED, tmp_path)
        shell.run("commonplace init --yes")
        yield shell


def section(heading: str) -> list[str]:
    """Return the commands below a heading of operations.md."""
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    found = re.search(rf"^### {heading}\n(.*?)^##", page, re.MULTILINE | re.DOTALL)
    assert found, heading
    return [command for block in find_blocks(found[1]) for command in block.commands]


@pytest.mark.thorough
def test_the_page_leads_through_upgrade_return_and_moves(shell: Shell, tmp_path: Path) -> None:
    def walk(heading: str) -> None:
        for command in section(heading):
            if command != "commonplace doctor":  # which warns of what is no part of this
                shell.run(command)

    walk("Upgrade")
    assert f" from format 28 to {LATEST}; the earlier one is in " in (tmp_path / ".log").read_text("utf-8")
    assert read_file(state_of(tmp_path))[0] == LATEST
    assert len(made_before_upgrades(tmp_path)) == 1
    shell.run("commonplace chat -m '/remind 2099-05-09 10:00 later than the upgrade'")
    walk("Go back")
    assert "later than" not in shell.run("commonplace chat -m /reminders")
    walk("Move to another folder")
    assert not (tmp_path / "workspace").exists()
    assert "peanuts" in shell.run("commonplace memory search peanuts")
    walk("Move to another machine")
    kept = tmp_path / "notebook" / ".commonplace"
    assert len(list(kept.glob("before-restore-*"))) == 2
    shell.end_service()
    exported = Commonplace(tmp_path).output_of("export", "--json", "--workspace", str(tmp_path / "notebook"))
    assert missing_in(exported) == []
