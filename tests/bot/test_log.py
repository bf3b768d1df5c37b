import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.config import Settings
from bot.log import log_to_file, log_to_stderr, secrets_of


@pytest.fixture(autouse=True)
def root_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.raiseExceptions = raising


def test_a_secret_never_reaches_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", secrets=["hunter2", "hunter2-longer", ""])
    try:
        raise ValueError("the key is hunter2-longer")
    except ValueError:
        logging.getLogger("x").exception("asked with %s", "hunter2")
    shown = capsys.readouterr().err
    assert "asked with ***" in shown
    assert "the key is ***\n" in shown
    assert "hunter2" not in shown


def test_a_line_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info")
    logging.getLogger("x").warning("name: %s", "\x1b]0;owned\x07Bob")
    assert capsys.readouterr().err.endswith(" WARNING x: name: Bob\n")


def test_the_level_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("warning")
    logging.getLogger("x").info("small talk")
    assert capsys.readouterr().err == ""


def test_a_talk_writes_its_log_only_when_something_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "chat.log"
    log_to_file(file)
    logging.getLogger("x").info("all is well")
    assert not file.exists()
    logging.getLogger("x").error("it is not")
    assert "ERROR x: it is not" in file.read_text("utf-8")
    assert file.stat().st_mode & 0o077 == 0
    logging.getLogger().handlers[0].close()


def test_keys_are_secrets_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", " from-the-environment ")
    monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
    monkeypatch.setenv("HF_ENDPOINT", "https://me:of-the-hub@hub.example")
    address = "https://me:of-the-address@host/v1"
    tables: dict[str, Any] = {
        "server": {"token": " of-the-server\n"},
        "memory": {"embedding": {"api_key": "of-the-memory", "base_url": address}},
        "providers": {"openai": {"api_keys": ["the-first", "the-second"]}},
    }
    found = secrets_of(Settings(**tables))
    wanted = {"from-the-environment", "of-the-memory", "the-first", "the-second"}
    assert wanted | {"hf_t0ken", "of-the-hub", "of-the-address", "of-the-server"} <= set(found)
    assert "" not in found


def test_no_request_of_a_library_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("debug")
    for name in ("httpx", "httpcore.http11"):
        logging.getLogger(name).info("HTTP Request: POST https://host/?key=k")
    assert capsys.readouterr().err == ""
