"""Secrets as files, as Docker, Kubernetes and systemd hand them over."""

import os
import re
import tempfile
from pathlib import Path

import pytest

from bot.config.secret_files import export_secrets
from bot.config.settings import ConfigError, Settings, load_settings, read_again
from bot.doctor.settings import check_usage
from bot.embedding import open_embedding_from_settings
from tests.fakes.commonplace import Commonplace, leads_elsewhere


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of secrets; the working folder is an empty one beside it."""
    for name in list(os.environ):
        if name.upper().startswith("COMMONPLACE_") or leads_elsewhere(name):
            monkeypatch.delenv(name)
    folder = tmp_path / "secrets"
    folder.mkdir()
    monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", str(folder))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


def exported(monkeypatch: pytest.MonkeyPatch, *names: str, **environment: str) -> list[str | None]:
    """What these variables are once the secrets are exported; afterwards they are as they were."""
    with monkeypatch.context() as patch:
        for name in names:
            patch.setenv(name, environment.get(name, ""))
        export_secrets()
        return [os.environ.get(name) for name in names]


def refusal() -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_file_counts_as_the_setting_that_it_is_named_for(secrets: Path) -> None:
    Path("config.toml").write_text(
        '[providers.My-Server]\nkind = "openai"\n[server]\nport = 1\ntoken = "f"\n'
    )
    put(
        secrets,
        COMMONPLACE_SERVER__TOKEN="of the file\n",
        COMMONPLACE_PROVIDERS__MY_SERVER__API_KEY=" key ",
        COMMONPLACE_ACCESS__OWNERS='["telegram:1"]',
    )
    settings = load_settings()
    assert settings.server.token.get_secret_value() == "of the file"
    assert settings.server.port == 1
    assert settings.providers["My-Server"].keys == ("key",)
    assert settings.access.owners == ("telegram:1",)


def test_what_the_environment_says_wins_over_a_file(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(secrets, COMMONPLACE_AGENT__NAME="File", OPENAI_API_KEY="of the file")
    monkeypatch.setenv("COMMONPLACE_AGENT__NAME", "Variable")
    assert load_settings().agent.name == "Variable"
    monkeypatch.setenv("COMMONPLACE_AGENT__NAME", "")
    assert load_settings().agent.name == "File"
    assert exported(monkeypatch, "OPENAI_API_KEY", OPENAI_API_KEY="of the environment") == [
        "of the environment"
    ]
    assert exported(monkeypatch, "OPENAI_API_KEY") == ["of the file"]


def test_an_empty_file_counts_as_not_set(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(secrets, COMMONPLACE_SERVER__PORT="\n", OPENAI_API_KEY=" ")
    assert load_settings().server.port == 8321
    assert exported(monkeypatch, "OPENAI_API_KEY") == [""]


def test_keys_and_tokens_of_others_become_variables(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(secrets, OPENAI_API_KEY="k\n", TELEGRAM_BOT_TOKEN="1:a", HF_TOKEN="h")
    names = ("OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN", "HF_TOKEN")
    assert exported(monkeypatch, *names) == ["k", "1:a", "h"]


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "telegram_token", "A$(id)_TOKEN", "a b_TOKEN"]
)
def test_other_files_are_never_opened(secrets: Path, name: str) -> None:
    os.mkfifo(secrets / "QUEUE_TOKEN")  # who opened it would wait for ever
    (secrets / name).write_bytes(b"\xff/nowhere")
    (secrets / "rhsm").mkdir()
    put(secrets / "rhsm", OTHER_TOKEN="/nowhere")
    before = dict(os.environ)
    export_secrets()
    assert dict(os.environ) == before
    assert load_settings() == Settings(workspace=load_settings().workspace)


def test_a_folder_as_kubernetes_mounts_it_is_read(secrets: Path) -> None:
    version = secrets / "..2026_11_23"
    version.mkdir()
    put(version, COMMONPLACE_AGENT__NAME="Mounted")
    (secrets / "..data").symlink_to(version.name)
    (secrets / "COMMONPLACE_AGENT__NAME").symlink_to("..data/COMMONPLACE_AGENT__NAME")
    assert load_settings().agent.name == "Mounted"


def test_a_file_that_names_no_setting_is_refused_with_the_nearest(secrets: Path) -> None:
    put(secrets, COMMONPLACE_SERVER__TOKN="s3cret")
    line = refusal()
    assert "COMMONPLACE_SERVER__TOKN is not a known setting" in line
    assert "did you mean COMMONPLACE_SERVER__TOKEN" in line
    assert "s3cret" not in line


def test_a_wrong_value_is_refused_with_its_file(secrets: Path) -> None:
    put(secrets, COMMONPLACE_TELEGRAM__TOKEN="s3cret")
    line = refusal()
    assert "telegram.token is invalid" in line
    assert f"(from {secrets}/COMMONPLACE_TELEGRAM__TOKEN)" in line
    assert "s3cret" not in line


def test_a_file_that_is_no_text_is_one_line(secrets: Path) -> None:
    for content in (b"\xff", b"a\0b"):
        (secrets / "OPENAI_API_KEY").write_bytes(content)
        with pytest.raises(ConfigError, match=rf"^{secrets}/OPENAI_API_KEY cannot be read: it is not "):
            export_secrets()


def test_a_folder_that_is_missing_is_an_empty_one_and_a_file_is_none(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets.rmdir()
    export_secrets()
    load_settings()
    secrets.write_text("")
    assert re.search(r"COMMONPLACE_SECRETS_DIR cannot be used|cannot be read", refusal())
    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        export_secrets()
    monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", "")
    load_settings()


def test_a_changed_file_is_read_again_with_the_settings(secrets: Path) -> None:
    put(secrets, COMMONPLACE_SERVER__TOKEN="old")
    settings = load_settings()
    put(secrets, COMMONPLACE_SERVER__TOKEN="new")
    assert read_again(settings).server.token.get_secret_value() == "new"


def test_the_doctor_names_what_is_set_by_files(secrets: Path) -> None:
    put(secrets, COMMONPLACE_SERVER__TOKEN="s3cret-and-long-enough", OPENAI_API_KEY="s3cret")
    settings = load_settings()
    [check] = check_usage(settings, open_embedding_from_settings(settings), {})
    assert check.detail == "settings also come from COMMONPLACE_SERVER__TOKEN"


@pytest.mark.thorough
def test_the_command_takes_them_as_variables(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    (tmp_path / "secrets").mkdir()
    commonplace.environment["COMMONPLACE_SECRETS_DIR"] = str(tmp_path / "secrets")
    put(tmp_path / "secrets", TELEGRAM_BOT_TOKEN="s3cret")
    line = commonplace.error_of("run")
    assert "TELEGRAM_BOT_TOKEN is invalid" in line
    assert "s3cret" not in line


def test_a_secret_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path, where nobody else may look
        Path(folder).chmod(0o755)
        secret = Path(folder, "OPENAI_API_KEY")
        secret.touch(0o000)
        monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", folder)
        try:
            os.seteuid(user or 65534)  # root may read every file
            with pytest.raises(ConfigError) as caught:
                export_secrets()
        finally:
            os.seteuid(user)
    mend = f"make it readable by user {user or 65534}"
    assert str(caught.value) == f"{secret} cannot be read: Permission denied; {mend}"


def test_a_secret_that_cannot_be_read_ends_the_command_with_one_line(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    commonplace.environment["COMMONPLACE_SECRETS_DIR"] = str(tmp_path)
    (tmp_path / "OPENAI_API_KEY").write_bytes(b"\xff")
    line = commonplace.error_of("memory", "status", code=2)
    assert line == f"commonplace: {tmp_path}/OPENAI_API_KEY cannot be read: it is not UTF-8 text"


def test_a_file_from_windows_is_read_without_its_byte_order_mark(secrets: Path) -> None:
    (secrets / "COMMONPLACE_TIMEZONE").write_bytes(b"\xef\xbb\xbfEurope/Paris\r\n")
    assert load_settings().timezone == "Europe/Paris"


def test_a_link_that_leads_nowhere_is_told(secrets: Path) -> None:
    (secrets / "COMMONPLACE_TIMEZONE").symlink_to("..data/COMMONPLACE_TIMEZONE")
    with pytest.raises(ConfigError, match="COMMONPLACE_TIMEZONE cannot be read: No such file"):
        load_settings()


def test_the_folder_may_be_in_the_home_folder(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(secrets, COMMONPLACE_TIMEZONE="Europe/Paris", OPENAI_API_KEY="sk-file")
    monkeypatch.setenv("HOME", str(secrets.parent))
    monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", "~/secrets")
    assert load_settings().timezone == "Europe/Paris"
    assert exported(monkeypatch, "OPENAI_API_KEY") == ["sk-file"]
