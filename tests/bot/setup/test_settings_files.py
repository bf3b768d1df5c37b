"""config.toml and secrets.toml, edited together."""

import os
import stat
from pathlib import Path

import pytest

from bot.config.errors import ConfigError
from bot.config.example import example_config
from bot.setup.errors import SetupFailed
from bot.setup.settings_files import SettingsFiles
from tests.fakes.commonplace import is_root


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_a_new_file_is_the_example_with_the_values_in_it(file: Path) -> None:
    files = SettingsFiles(file)
    assert files.is_new
    files.set(("agent", "name"), "Robin")
    files.save()
    assert file.read_text("utf-8") == example_config().replace('name = "Commonplace"', 'name = "Robin"', 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not files.secrets_file.exists()
    assert not files.is_new


def test_a_secret_goes_into_its_own_file_and_out_of_the_other(file: Path) -> None:
    file.write_text('[telegram]\n# mine\ntoken = "1:old" # from BotFather\n')
    files = SettingsFiles(file)
    files.set_secret(("telegram", "token"), "2:new")
    files.set_secret(("providers", "openai", "api_key"), "k")
    files.save()
    assert file.read_text() == '[telegram]\n# mine\ntoken = "" # from BotFather\n'
    assert stat.S_IMODE(files.secrets_file.stat().st_mode) == 0o600
    settings = files.settings()
    assert settings.telegram.token.get_secret_value() == "2:new"
    assert settings.providers["openai"].keys == ("k",)


def test_a_file_of_secrets_that_others_could_read_is_closed_to_them(file: Path) -> None:
    secrets = file.with_name("secrets.toml")
    secrets.write_text("# mine\n")
    secrets.chmod(0o644)
    files = SettingsFiles(file)
    files.set_secret(("server", "token"), "t")
    files.save()
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert secrets.read_text() == '# mine\n\n[server]\ntoken = "t"\n'


def test_mode_links_and_line_ends_stay(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "commonplace.toml"
    real.parent.mkdir()
    real.write_bytes(b'# mine\r\n[agent]\r\nname = "A"\r\n')
    real.chmod(0o640)
    file.symlink_to(real)
    files = SettingsFiles(file)
    files.set(("agent", "name"), "Robin")
    files.set(("server", "port"), 1)
    files.save()
    assert file.is_symlink()
    assert real.read_bytes() == b'# mine\r\n[agent]\r\nname = "Robin"\r\n\r\n[server]\r\nport = 1\r\n'
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_nothing_is_written_without_a_change_or_after_discard(file: Path) -> None:
    file.write_text("# mine\n")
    before = file.stat().st_mtime_ns, file.stat().st_ino
    files = SettingsFiles(file)
    files.set(("agent", "name"), "Robin")
    files.discard()
    files.save()
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_the_workspace_is_set_with_the_first_save_whatever_was_discarded_before(file: Path) -> None:
    files = SettingsFiles(file, workspace=file.parent / "notes")
    files.set(("agent", "name"), "Robin")
    files.discard()
    files.save()
    assert f'workspace = "{file.parent}/notes"' in file.read_text()
    files.set(("workspace",), str(file.parent / "elsewhere"))
    files.save()
    assert files.settings().workspace == file.parent / "elsewhere"


def test_what_another_program_has_written_meanwhile_stays(file: Path) -> None:
    file.write_text("# mine\n")
    files = SettingsFiles(file)
    files.set(("agent", "name"), "Robin")
    file.write_text("# yours\n")
    with pytest.raises(SetupFailed, match="was just changed by another program"):
        files.save()
    assert file.read_text() == "# yours\n"


def test_values_that_the_settings_do_not_take_are_not_written(file: Path) -> None:
    file.write_text("# mine\n")
    files = SettingsFiles(file)
    with pytest.raises(ConfigError, match="timezone"):
        files.settings_with(("timezone",), "Nowhere")
    files.set(("timezone",), "Nowhere")
    with pytest.raises(ConfigError, match="timezone"):
        files.save()
    assert file.read_text() == "# mine\n"


def test_what_is_checked_counts_more_than_what_is_there(file: Path) -> None:
    file.with_name("secrets.toml").write_text('[telegram]\ntoken = "1:a"\n')
    with pytest.raises(ConfigError, match=r"telegram\.token is invalid"):
        SettingsFiles(file).settings_with(("telegram", "token"), "no token")


def test_an_edit_that_would_lose_something_is_refused_without_the_secret(file: Path) -> None:
    file.write_text('[access]\nowners = [\n  "telegram:7", # Anna\n]\n')
    files = SettingsFiles(file)
    with pytest.raises(SetupFailed, match=r"Please set access\.owners = \[\"telegram:8\"\] there yourself"):
        files.set(("access", "owners"), ["telegram:8"])
    files.save()
    assert "# Anna" in file.read_text()


@pytest.mark.skipif(is_root(), reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_told_in_one_line(file: Path) -> None:
    file.parent.chmod(0o500)
    try:
        with pytest.raises(SetupFailed, match="cannot be written: permission denied"):
            SettingsFiles(file).save()
    finally:
        file.parent.chmod(0o700)


def test_a_part_of_the_path_that_is_a_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupFailed, match="cannot be written"):
        SettingsFiles(tmp_path / "file" / "below" / "config.toml").save()


def test_no_draft_is_left_behind(file: Path) -> None:
    SettingsFiles(file).save()
    assert [each.name for each in file.parent.iterdir()] == ["config.toml"]


def test_drafts_of_a_process_that_was_killed_are_removed(file: Path) -> None:
    """They hold secrets."""
    stale, fresh, other = (
        file.with_name(f".{name}.new") for name in ("secrets.toml.0a", "secrets.toml.1b", "x.2c")
    )
    for each in (stale, fresh, other):
        each.write_text("")
    os.utime(stale, (0, 0))
    os.utime(other, (0, 0))
    files = SettingsFiles(file)
    files.set_secret(("server", "token"), "t")
    files.save()
    assert [each.exists() for each in (stale, fresh, other)] == [False, True, True]


def test_if_one_file_cannot_be_written_neither_is(file: Path) -> None:
    real = file.with_name("c" * 250)  # beside which no draft fits
    real.write_text('[server]\ntoken = "old"\n')
    file.symlink_to(real)
    files = SettingsFiles(file)
    files.set_secret(("server", "token"), "new")
    with pytest.raises(SetupFailed, match="cannot be written: its path is too long"):
        files.save()
    assert sorted(file.parent.iterdir()) == sorted([file, real])


def test_the_mark_of_windows_and_mixed_line_ends_stay(file: Path) -> None:
    file.write_bytes('\ufeff# mine\r\ntimezone = "UTC"\r\n'.encode())
    files = SettingsFiles(file)
    files.set(("timezone",), "Asia/Tokyo")
    files.save()
    assert file.read_bytes() == '\ufeff# mine\r\ntimezone = "Asia/Tokyo"\r\n'.encode()
    file.write_bytes(b'# mine\r\n# yours\n[agent]\r\nname = "A"\n')
    files = SettingsFiles(file)
    files.set(("agent", "name"), "B")
    files.set(("server", "port"), 1)
    files.save()
    assert file.read_bytes() == b'# mine\r\n# yours\n[agent]\r\nname = "B"\n\n[server]\nport = 1\n'


def test_a_file_does_not_grow_beyond_what_is_read(file: Path) -> None:
    before = f"# {'x' * 999_990}\n"
    file.write_text(before)
    files = SettingsFiles(file)
    files.add_table(("memory", "folders"), {"path": "/vault"})
    with pytest.raises(SetupFailed, match="larger than 1 MB"):
        files.save()
    assert file.read_text() == before


def test_what_counts_more_than_what_was_written_is_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
    monkeypatch.setenv("COMMONPLACE_AGENT", '{"instructions": "short"}')
    monkeypatch.setenv("COMMONPLACE_ACCESS", '{"owners": []}')
    secrets = tmp_path / "run"
    secrets.mkdir()
    (secrets / "COMMONPLACE_SERVER__TOKEN").write_text("t")
    monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", str(secrets))
    files = SettingsFiles(file)
    files.set(("timezone",), "Asia/Tokyo")
    files.set(("agent", "name"), "Robin")
    files.set(("access", "owners"), ["telegram:7"])
    files.set_secret(("server", "token"), "u")
    assert files.save() == {
        "timezone": "COMMONPLACE_TIMEZONE",
        "access.owners": "COMMONPLACE_ACCESS",
        "server.token": str(secrets / "COMMONPLACE_SERVER__TOKEN"),
    }
    assert files.save() == {}


def test_a_value_is_checked_even_if_a_variable_counts_more(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
    with pytest.raises(ConfigError, match=r'^timezone = "Mars" is invalid: [^()]*$'):
        SettingsFiles(file).settings_with(("timezone",), "Mars")


def test_a_value_that_is_in_the_file_of_secrets_is_changed_there(file: Path) -> None:
    file.with_name("secrets.toml").write_text('[access]\nowners = ["telegram:7"]\n')
    files = SettingsFiles(file)
    files.set(("access", "owners"), ["telegram:7", "telegram:8"])
    files.save()
    assert files.settings().access.owners == ("telegram:7", "telegram:8")
    assert "telegram:8" in file.with_name("secrets.toml").read_text()
