import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.config import Settings
from bot.log import CHAT_LOGS_KEPT, _ToSharedFile, log_to_file, log_to_stderr, secrets_of
from tests.fakes.commonplace import ROOT


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
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "12:t0ken")
    monkeypatch.setenv("HF_ENDPOINT", "https://me:of-the-hub@hub.example")
    address = "https://me:of-the-address@host/v1"
    tables: dict[str, Any] = {
        "server": {"token": " of-the-server\n"},
        "memory": {"embedding": {"api_key": "of-the-memory", "base_url": address}},
        "providers": {"openai": {"api_keys": ["the-first", "the-second"]}},
    }
    found = secrets_of(Settings(**tables))
    wanted = {"from-the-environment", "of-the-memory", "the-first", "the-second"}
    assert wanted | {"hf_t0ken", "12:t0ken", "of-the-hub", "of-the-address", "of-the-server"} <= set(found)
    assert "" not in found


def test_no_request_of_a_library_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("debug")
    for name in ("httpx", "httpcore.http11"):
        logging.getLogger(name).info("HTTP Request: POST https://host/?key=k")
    assert capsys.readouterr().err == ""


def log_of_talks(path: Path, *, most_bytes: int) -> logging.Logger:
    log = logging.Logger("talk")
    log.addHandler(_ToSharedFile(path, most_bytes=most_bytes, kept=CHAT_LOGS_KEPT))
    return log


def test_a_log_that_has_grown_is_put_aside_and_three_are_kept(tmp_path: Path) -> None:
    log = log_of_talks(tmp_path / "chat.log", most_bytes=100)
    for number in range(60):
        log.error("line %02d", number)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files in (
        ["chat.log", "chat.log.1", "chat.log.2", "chat.log.3"],
        ["chat.log.1", "chat.log.2", "chat.log.3"],
    )
    lines = [line for name in reversed(files) for line in (tmp_path / name).read_text().splitlines()]
    assert lines == [f"line {number:02}" for number in range(60 - len(lines), 60)]
    assert len(lines) >= 3 * 13
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_another_process_has_put_aside_is_not_put_aside_twice(tmp_path: Path) -> None:
    file = tmp_path / "chat.log"
    file.write_text("full\n")
    handler = _ToSharedFile(file, most_bytes=1, kept=3)
    with file.open("ab") as ours:  # opened, and written to, just before the other one renames it
        file.rename(tmp_path / "chat.log.1")
        file.write_text("new\n")
        handler._rotate(ours.fileno())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "chat.log": "new\n",
        "chat.log.1": "full\n",
    }


WRITES = """
import logging, sys
from pathlib import Path
from bot.log import _ToSharedFile
log = logging.Logger("talk")
log.addHandler(_ToSharedFile(Path(sys.argv[1]), most_bytes=20_000, kept=40))
for number in range(2000):
    log.error("%s %04d", sys.argv[2], number)
"""


@pytest.mark.thorough
def test_several_processes_lose_no_line_of_the_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITES, str(tmp_path / "chat.log")]
    running = [subprocess.Popen([*command, name], cwd=ROOT) for name in "abc"]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted(lines) == [f"{name} {number:04}" for name in "abc" for number in range(2000)]
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 20_000 + 3 * 100
