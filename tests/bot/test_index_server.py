import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.config.settings import Settings, load_settings
from bot.index_server import index_server
from bot.log import collect_secrets
from memory.errors import IndexUnavailable
from memory.settings import IndexSettings
from tests.fakes.commonplace import Commonplace

URL = "postgresql://me:s3cret-Value@127.0.0.1:1/notes?sslpassword=0ther-Secret"


def put_settings(folder: Path) -> Path:
    file = folder / "config.toml"
    file.write_text(f'[index]\nurl = "{URL}"\n[memory.embedding]\nprovider = "none"\n')
    file.chmod(0o600)
    return file


def test_without_an_address_there_is_no_server(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("")
    assert index_server(load_settings(file)) is None


def test_every_secret_of_the_address_is_known_to_the_log(tmp_path: Path) -> None:
    assert {URL, "s3cret-Value", "0ther-Secret"} <= set(
        collect_secrets(load_settings(put_settings(tmp_path)))
    )


def test_an_address_without_a_password_stays_readable_and_so_does_its_user() -> None:
    settings = Settings(index=IndexSettings(url=SecretStr("postgresql://commonplace@db/commonplace")))
    assert not any("commonplace" in secret for secret in collect_secrets(settings))


def test_without_the_library_one_line_says_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(put_settings(tmp_path))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(IndexUnavailable, match=r"index\.url is set, but .*make postgres"):
        index_server(settings)


@pytest.mark.thorough
def test_commands_go_on_without_the_server_and_tell_no_secret(tmp_path: Path) -> None:
    put_settings(tmp_path)
    commonplace = Commonplace(tmp_path)
    told = commonplace.output_of("memory", "write", "the boiler is blue")
    told += commonplace.output_of("memory", "search", "boiler")
    assert "Searched the files one by one" in told
    told += commonplace.output_of("memory", "status")
    assert "127.0.0.1:1/notes does not answer" in told
    line = commonplace.error_of("memory", "index")
    assert "does not answer" in line
    doctor = commonplace("doctor")
    for text in (told, line, doctor.stdout, doctor.stderr):
        assert "s3cret" not in text
        assert "0ther" not in text


@pytest.mark.thorough
def test_the_service_does_not_start_without_the_library(tmp_path: Path) -> None:
    put_settings(tmp_path)
    for name in ("psycopg", "psycopg_pool"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    commonplace = Commonplace(tmp_path)
    commonplace.environment |= {
        "PYTHONPATH": f"{commonplace.environment['PYTHONPATH']}:{tmp_path}",
        "COMMONPLACE_SERVER__PORT": "0",
    }
    line = commonplace.error_of("run", "--config", "config.toml")
    assert "make postgres" in line
