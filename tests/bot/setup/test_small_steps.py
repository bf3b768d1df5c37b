"""The steps about name and time zone, notes, and the status page."""

from pathlib import Path

import pytest

from bot.config.settings import load_settings
from bot.setup.errors import InvalidFlag
from bot.setup.notes import suggest_name
from tests.bot.setup.setting_up import answer, give, without_variables


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    without_variables(monkeypatch)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


async def test_the_zone_of_the_machine_is_offered_and_followed(folder: Path) -> None:
    files = await answer(folder, "you", ("called", ""), ("time zone", ""))
    assert files.settings().timezone == ""
    files = await answer(folder, "you", ("called", "Robin"), ("time zone", "Asia/Tokyo"))
    assert (files.settings().agent.name, files.settings().timezone) == ("Robin", "Asia/Tokyo")
    files = await answer(folder, "you", ("called", ""), ("time zone", ""))
    assert (files.settings().agent.name, files.settings().timezone) == ("Robin", "Asia/Tokyo")


async def test_the_name_stays_if_the_second_question_is_ended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = await answer(folder, "you", ("called", "Robin"), ("time zone", EOFError))
    assert files.settings().agent.name == "Robin"
    assert "Already written: config.toml." in capsys.readouterr().out


async def test_a_zone_that_does_not_exist_is_asked_for_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = await answer(
        folder, "you", ("called", ""), ("time zone", "Europe/Berln"), ("time zone", "Europe/Paris")
    )
    assert files.settings().timezone == "Europe/Paris"
    said = capsys.readouterr().out
    assert 'did you mean "Europe/Berlin"?\n' in said
    with pytest.raises(InvalidFlag, match=r"--timezone: .*did you mean"):
        await give(folder, "you", timezone="Europe/Berln")


async def test_the_notes_can_live_in_another_folder(folder: Path) -> None:
    (folder / "file").write_text("")
    files = await answer(
        folder, "notes", ("Number", "2"), ("The folder", "~/file"), ("The folder", "~/my notes")
    )
    assert files.settings().workspace == folder / "my notes"
    assert (folder / "my notes" / "memory").is_dir()


async def test_a_folder_may_be_pasted_in_quotes(folder: Path) -> None:
    files = await answer(folder, "notes", ("Number", "2"), ("The folder", "'~/my notes'"))
    assert files.settings().workspace == folder / "my notes"
    (folder / "my vault").mkdir()
    await answer(
        folder,
        "notes",
        ("Number", "vault"),
        ("Its folder", f'"{folder}/my vault"'),
        ("What should I call it", ""),
        ("May I change", ""),
    )
    [found] = load_settings(folder / "config.toml").memory.folders
    assert found.path == str(folder / "my vault")


async def test_a_folder_that_cannot_be_used_is_asked_for_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").write_text("")
    vault = folder / "vault"
    vault.mkdir()
    await give(folder, "notes", vault=str(vault))
    files = await answer(
        folder,
        "notes",
        ("Number", "2"),
        ("The folder", "~/file/below"),
        ("The folder", "a\0b"),
        ("The folder", "/proc/notes"),
        ("The folder", str(vault)),
        ("The folder", "~/new/notes"),
    )
    said = capsys.readouterr().out
    assert f"{folder}/file is not a folder" in said
    assert "/proc/notes cannot be used" in said
    assert "memory.folders cannot be used" in said
    assert "it must be a folder name" in said
    assert files.settings().workspace == folder / "new/notes"
    assert (folder / "new/notes/memory").is_dir()


async def test_markdown_that_would_not_be_seen_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = folder / "mynotes"
    (notes / ".obsidian").mkdir(parents=True)
    for name in ("shopping.md", ".obsidian/hidden.md", "picture.png"):
        (notes / name).write_text("milk\n")
    old = folder / "workspace" / "memory"
    old.mkdir(parents=True)
    (old / "today.md").write_text("tea\n")
    chosen = ("Number", "2"), ("The folder", str(notes))
    files = await answer(folder, "notes", *chosen, ("Take this folder", ""), ("The folder", ""))
    assert files.settings().memory_folder == old
    assert not (notes / "memory").exists()
    said = capsys.readouterr().out
    assert f"Markdown files there that I would not see: 1, since my notes would be in {notes}/memory" in said
    files = await answer(folder, "notes", *chosen, ("Take this folder", "y"))
    assert files.settings().memory_folder == notes / "memory"
    assert f"Your notes in {old} (1) stay there" in capsys.readouterr().out
    (notes / "shopping.md").rename(notes / "memory" / "shopping.md")
    await answer(folder, "notes", *chosen)  # what Commonplace has used before is taken without a question


async def test_a_vault_is_searched_where_it_lies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vault = folder / "My Vault"
    vault.mkdir()
    for name in ("a.md", "b.MD", "c.txt"):
        (vault / name).write_text("")
    await answer(
        folder,
        "notes",
        ("Number", "vault"),
        ("Its folder", "nowhere"),
        ("Its folder", str(vault)),
        ("What should I call it", "memory/x"),
        ("What should I call it", ""),
        ("May I change", "maybe"),
        ("May I change", ""),
    )
    [found] = load_settings(folder / "config.toml").memory.folders
    assert (found.path, found.name, found.write) == (str(vault), "my-vault", False)
    before = (folder / "config.toml").read_bytes()
    said = capsys.readouterr().out
    assert "  Notes there: 2.\n" in said
    await answer(folder, "notes", ("Number", "vault"), ("Its folder", str(vault)))
    said = capsys.readouterr().out
    assert f"Also searched: {vault} as my-vault/, read-only.\n" in said
    assert f"To change or remove it, edit that in {folder}/config.toml" in said
    await answer(folder, "notes", ("Number", ""))
    assert f"{folder}/workspace/memory; {vault} as my-vault/, read-only\n" in capsys.readouterr().out
    await give(folder, "notes", vault=str(vault), vault_name="my-vault")
    for flags in ({"vault_name": "other"}, {"vault_write": "yes"}):
        with pytest.raises(InvalidFlag, match="is already searched, as my-vault/"):
            await give(folder, "notes", vault=str(vault), **flags)
    assert (folder / "config.toml").read_bytes() == before
    other = folder / "other"
    other.mkdir()
    files = await give(folder, "notes", vault=f"{vault}/../other", vault_name="second", vault_write="yes")
    assert files.settings().memory.folders[1].path == str(other)
    assert [(each.name, each.write) for each in files.settings().memory.folders] == [
        ("my-vault", False),
        ("second", True),
    ]


async def test_a_vault_that_cannot_be_one_is_refused(folder: Path) -> None:
    (folder / "workspace" / "memory").mkdir(parents=True)
    with pytest.raises(InvalidFlag, match=r"--vault: "):
        await give(folder, "notes", vault=str(folder / "workspace"))
    with pytest.raises(InvalidFlag, match=r"--vault: .* is not a folder"):
        await give(folder, "notes", vault=str(folder / "nowhere"))
    (folder / "one").mkdir()
    with pytest.raises(InvalidFlag, match=r"--vault-name"):
        await give(folder, "notes", vault=str(folder / "one"), vault_name="a/b")
    assert not (folder / "config.toml").exists()


def test_a_name_is_suggested_for_every_folder() -> None:
    for path, name in {"/v/My Vault": "my-vault", "/v/笔记": "笔记", "/v/---": "vault", "/": "vault"}.items():
        assert suggest_name(path) == name


async def test_a_token_for_the_page_is_made_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = await answer(folder, "page", ("http://127.0.0.1:8321/", "n"))
    assert not files.secrets_file.exists()
    assert "anybody who uses this machine can open" in capsys.readouterr().out
    files = await answer(folder, "page", ("http://127.0.0.1:8321/", ""))
    token = files.settings().server.token.get_secret_value()
    assert len(token) >= 32
    files = await answer(folder, "page", ("Replace it with a new one", ""))
    assert files.settings().server.token.get_secret_value() == token
    files = await give(folder, "page", page_token="yes")
    assert files.settings().server.token.get_secret_value() not in ("", token)
    assert token not in capsys.readouterr().out
