"""A vault outside the workspace, from the command line and a chat to backup and restore."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from scripts.print_transcript import find_blocks
from tests.fakes.commonplace import Commonplace

PAGE = Path(__file__).parents[3] / "docs/vault.md"
PEOPLE = "# People\n\n- Ada's number is 4711\n- Ben likes tea\n"
TRIP = "---\ntags: [travel]\n---\n# Oslo\n\nThe boat leaves at nine.\n"


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return Commonplace(tmp_path)


@pytest.fixture
def vault(commonplace: Commonplace) -> Path:
    folder = commonplace.folder / "Obsidian"
    (folder / "Trips").mkdir(parents=True)
    (folder / ".obsidian").mkdir()
    (folder / "People.md").write_text(PEOPLE)
    (folder / "Trips/Oslo.md").write_text(TRIP)
    name_in_settings(commonplace, folder)
    commonplace.memory.mkdir()
    return folder


def name_in_settings(commonplace: Commonplace, folder: Path, *lines: str) -> None:
    table = [f'[[memory.folders]]\npath = "{folder}"\nname = "vault"', *lines, "[memory.embedding]"]
    text = "\n".join(["[index]", *table, 'provider = "none"'])
    (commonplace.folder / "config.toml").write_text(text + "\n")


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file()
    }


def say(commonplace: Commonplace, text: str) -> str:
    return commonplace.output_of("chat", "-m", text)


def forget(commonplace: Commonplace, query: str) -> tuple[str, str]:
    """Return what is said before and after the confirmation."""
    preview = say(commonplace, f"/forget {query}")
    code = re.search(r"/forget yes (\w{4})", preview)
    assert code
    return preview, say(commonplace, f"/forget yes {code[1]}")


def search(commonplace: Commonplace, query: str) -> list[str]:
    found = json.loads(commonplace.output_of("memory", "search", query, "--json"))
    return [f"{hit['path']}:{hit['line_start']}" for hit in found["results"]]


def test_the_settings_and_commands_of_the_page_work(commonplace: Commonplace, vault: Path) -> None:
    page = PAGE.read_text("utf-8")
    settings = re.search(r"^```toml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert settings
    table = settings[1].replace("~/Obsidian/Vault", str(vault))
    (commonplace.folder / "config.toml").write_text(f'{table}\n[memory.embedding]\nprovider = "none"\n')
    lines = [shlex.split(command) for block in find_blocks(page) for command in block.commands]
    assert lines == [["commonplace", "memory", "status"], ["commonplace", "doctor"]]
    for _, *command in lines:
        assert str(vault) in commonplace(*command).stdout
    assert search(commonplace, "boat")[0] == "vault/Trips/Oslo.md:6"


def test_it_is_searched_read_and_listed_and_stays_as_it_is(commonplace: Commonplace, vault: Path) -> None:
    before = snapshot(vault)
    assert search(commonplace, "boat")[0] == "vault/Trips/Oslo.md:6"
    assert commonplace.output_of("memory", "get", "vault/People.md") == PEOPLE
    assert commonplace.output_of("memory", "get", "oslo") == TRIP
    assert f"vault/: {vault}, read-only, 2 notes\n" in commonplace.output_of("memory", "status")
    assert "vault/Trips/" in say(commonplace, "/memory list vault")
    assert "Folder `vault/`: read-only" in say(commonplace, "/memory status")
    assert "read-only" in commonplace.error_of("chat", "-m", "/correct vault/People.md:4 - Ben likes coffee")
    line = next(line for line in commonplace("doctor").stdout.splitlines() if str(vault) in line)
    assert "read-only, 2 notes" in line
    assert snapshot(vault) == before


def test_what_is_written_there_is_recorded_and_undone(commonplace: Commonplace, vault: Path) -> None:
    name_in_settings(commonplace, vault, "write = true")
    assert "coffee" in say(commonplace, "/correct vault/People.md:4 - Ben likes coffee")
    assert "- Ben likes coffee\n" in (vault / "People.md").read_text()
    assert "vault/People.md" in say(commonplace, "/changes")
    say(commonplace, "/undo")
    assert (vault / "People.md").read_text() == PEOPLE


def test_what_is_forgotten_stays_hidden_after_backup_and_restore(
    commonplace: Commonplace, vault: Path
) -> None:
    assert search(commonplace, "number 4711") == ["vault/People.md:3"]
    preview, told = forget(commonplace, "Ada number")
    stays = "Lines in vault/ stay in your files, which I may only read; I hide them instead."
    assert preview.index(stays) < preview.index("To remove all of this for good")
    assert told.startswith("Hidden.\n")
    assert re.search(r"^hidden +1 line in vault/$", commonplace.output_of("memory", "status"), re.MULTILINE)
    assert "in folders that I may only read: vault/People.md:3" in told
    assert (vault / "People.md").read_text() == PEOPLE
    assert search(commonplace, "number 4711") == []
    archive = commonplace.folder / "backup.tar.gz"
    commonplace.output_of("backup", str(archive))
    shutil.rmtree(commonplace.memory.parent)
    commonplace.output_of("restore", str(archive))
    assert search(commonplace, "number 4711") == []
    assert search(commonplace, "tea") == ["vault/People.md:4"]
    assert "4711" not in commonplace.output_of("memory", "get", "vault/People.md")


def test_a_hidden_line_is_removed_once_the_vault_may_be_written(
    commonplace: Commonplace, vault: Path
) -> None:
    forget(commonplace, "Ada number")
    name_in_settings(commonplace, vault, "write = true")
    assert search(commonplace, "number 4711") == [], "it stays hidden"
    preview, told = forget(commonplace, "Ada number")
    assert "stay in your file" not in preview
    assert told.startswith("Forgotten. Passages removed from the notes: 1,")
    assert (vault / "People.md").read_text() == PEOPLE.replace("- Ada's number is 4711\n", "")
    assert search(commonplace, "tea") == ["vault/People.md:3"]


def test_a_vault_that_is_away_is_reported_and_still_found(commonplace: Commonplace, vault: Path) -> None:
    assert search(commonplace, "boat") == ["vault/Trips/Oslo.md:6"]
    vault.rename(commonplace.folder / "unmounted")
    assert search(commonplace, "boat") == ["vault/Trips/Oslo.md:6"]
    assert "the folder vault is away" in commonplace.error_of("memory", "get", "vault/Trips/Oslo.md")
    status = commonplace.output_of("memory", "status")
    kept = "searches still find what was indexed before (2 notes)"
    assert f"vault/: away: {vault} does not exist; {kept}" in status
    told = say(commonplace, "/memory status")
    assert f"Folder `vault/` is away: {vault} does not exist; {kept}" in told
    assert "- vault: " not in told
    away = f"The folder vault is away: {vault} does not exist"
    assert say(commonplace, "/memory list vault") == f"{away}.\n"
    assert f"{away}, so I couldn't look there." in commonplace.error_of("chat", "-m", "/memory get Oslo")
    done = commonplace("doctor")
    assert "mount it, or correct its path" in done.stdout
    assert "not read" not in done.stdout
    left = "vault is away, so its notes are out of the index until it is back."
    assert left in say(commonplace, "/memory rebuild")
    assert left in commonplace.output_of("memory", "index", "--rebuild")


def test_a_folder_without_the_notes_it_had_is_away_everywhere(commonplace: Commonplace, vault: Path) -> None:
    assert search(commonplace, "boat") == ["vault/Trips/Oslo.md:6"]
    vault.rename(commonplace.folder / "elsewhere")
    vault.mkdir()
    (vault / "picture.png").write_bytes(b"")
    away = f"{vault} has no notes left"
    assert away in commonplace.output_of("memory", "status")
    assert away in commonplace("doctor").stdout


def test_doctor_asks_about_a_folder_without_notes(commonplace: Commonplace, vault: Path) -> None:
    shutil.rmtree(vault)
    vault.mkdir()
    (vault / "picture.png").write_bytes(b"")
    told = commonplace("doctor").stdout
    assert f"{vault}, read-only, no notes in it" in told
    assert "is this the right folder?" in told


def test_a_name_that_is_taken_ends_with_one_line(commonplace: Commonplace, vault: Path) -> None:
    (commonplace.memory / "vault").mkdir()
    line = commonplace.error_of("memory", "search", "boat", code=2)
    assert 'your notes already have a folder "vault"' in line
    assert "choose another `name`, or move it" in line


def test_an_import_writes_nothing_into_it(commonplace: Commonplace, vault: Path) -> None:
    name_in_settings(commonplace, vault, "write = true")
    before = snapshot(vault)
    source = commonplace.folder / "export"
    (source / "vault").mkdir(parents=True)
    (source / "vault/New.md").write_text("The new one.\n")
    (source / "later.md").write_text("The later one.\n")
    assert "imported/1/vault/New.md" in commonplace.output_of("import", str(source))
    assert (commonplace.memory / "imported/1/vault/New.md").read_text() == "The new one.\n"
    assert (commonplace.memory / "later.md").exists()
    assert snapshot(vault) == before
