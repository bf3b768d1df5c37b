"""Tokens and keys in secrets.toml, beside the settings file."""

import os
from pathlib import Path

import pytest

from bot.config.settings import ConfigError, load_settings, read_again
from bot.doctor.settings import check_secrets_file
from bot.log import collect_secrets
from tests.fakes.commonplace import Commonplace, CommonplaceHere, leads_elsewhere


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.upper().startswith("COMMONPLACE_") or leads_elsewhere(name) or name.endswith("_BOT_TOKEN"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder: Path, *, config: str, secrets: str) -> None:
    (folder / "config.toml").write_text(config, "utf-8")
    (folder / "secrets.toml").write_text(secrets, "utf-8")


def refusal() -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_it_adds_to_the_settings_and_wins_over_them(folder: Path) -> None:
    put(
        folder,
        config='[telegram]\ntoken = "1:old"\nmode = "polling"\n[providers.Mine]\nkind = "openai"\n',
        secrets='[telegram]\ntoken = "2:new"\n[providers.Mine]\napi_key = "k"\n[providers.anthropic]\napi_key = "a"\n',
    )
    settings = load_settings()
    assert settings.telegram.token.get_secret_value() == "2:new"
    assert settings.providers["Mine"].keys == ("k",)
    assert settings.providers["anthropic"].kind == "anthropic"
    assert settings.secrets_file == folder / "secrets.toml"
    assert {"2:new", "k", "a"} <= set(collect_secrets(settings))


def test_environment_and_secret_files_win_over_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(
        folder,
        config="",
        secrets='[telegram]\ntoken = "2:b"\n[providers.Mine]\nkind = "openai"\napi_key = "k"\n[server]\ntoken = "s"\n',
    )
    (folder / "files").mkdir()
    (folder / "files" / "COMMONPLACE_SERVER__TOKEN").write_text("of the file")
    monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", str(folder / "files"))
    monkeypatch.setenv("COMMONPLACE_PROVIDERS__MINE__API_KEY", "of the variable")
    settings = load_settings()
    assert settings.server.token.get_secret_value() == "of the file"
    assert settings.providers["Mine"].keys == ("of the variable",)
    assert settings.telegram.token.get_secret_value() == "2:b"


def test_only_the_file_beside_the_settings_counts(folder: Path) -> None:
    (folder / "secrets.toml").write_text('[telegram]\ntoken = "2:b"\n')
    assert not load_settings().telegram.token
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "config.toml").write_text("")
    assert not load_settings(Path("elsewhere/config.toml")).telegram.token
    assert load_settings(Path("secrets.toml")).telegram.token


def test_a_mistake_is_told_with_the_file_and_without_the_secret(folder: Path) -> None:
    put(folder, config="[server]\nport = 1\n", secrets='[telegram]\ntoken = "hunter two"\n')
    assert str(folder / "secrets.toml") in refusal()
    assert "hunter" not in refusal()
    put(folder, config="[server]\nport = -1\n", secrets='[telegram]\ntoken = "1:a"\n')
    assert str(folder / "config.toml") in refusal()
    put(folder, config="", secrets='[telegram]\ntokne = "1:a"\n')
    assert "did you mean telegram.token? (in" in refusal()
    put(folder, config="", secrets="[telegram\n")
    assert "secrets.toml is not valid TOML" in refusal()


def test_a_reload_reads_it_again_and_misses_it(folder: Path) -> None:
    put(folder, config="", secrets='[providers.openai]\napi_key = "a"\n')
    settings = load_settings()
    put(folder, config="", secrets='[providers.openai]\napi_key = "b"\n')
    assert read_again(settings).providers["openai"].keys == ("b",)
    (folder / "secrets.toml").unlink()
    with pytest.raises(ConfigError, match=r"file of secrets .*secrets\.toml is gone"):
        read_again(settings)


def test_doctor_warns_if_others_can_read_it(folder: Path) -> None:
    put(folder, config="", secrets="")
    file = folder / "secrets.toml"
    for mode, status in ((0o600, "ok"), (0o400, "ok"), (0o640, "warn"), (0o604, "warn"), (0o622, "warn")):
        file.chmod(mode)
        [check] = check_secrets_file(file)
        assert (check.status, f"chmod 600 {file}" in check.fix) == (status, status == "warn"), oct(mode)
    assert list(check_secrets_file(None)) == []


@pytest.mark.thorough
def test_doctor_tells_of_it_even_if_the_settings_are_broken(tmp_path: Path) -> None:
    put(tmp_path, config="[server]\nport = -1\n", secrets="")
    (tmp_path / "secrets.toml").chmod(0o644)
    report = Commonplace(tmp_path)("doctor").stdout
    assert "other users of this machine have access" in report


def test_a_token_in_it_is_used_by_a_command(tmp_path: Path) -> None:
    put(tmp_path, config="", secrets='[server]\ntoken = "s"\nhost = "0.0.0.0"\n')
    CommonplaceHere(tmp_path).output_of("memory", "status")
