import io
import json
import logging
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bot.log import RecentErrors, log_context, log_to_file, log_to_stderr, redact_logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_programs_read_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info")
    with log_context("message-7", chat="telegram:5") as turn:
        logging.getLogger("bot.x").info("two\nlines, %s and %s", "ü", "\u2028")
    try:
        raise TypeError("it does not fit")
    except TypeError:
        logging.getLogger("bot.x").exception("broken")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {
        "level": "info",
        "logger": "bot.x",
        "message": "two\nlines, ü and \u2028",
        "turn": turn,
        "chat": "telegram:5",
    }
    assert list(second) == ["time", "level", "logger", "message", "exception"]
    assert second["exception"].startswith("Traceback (most recent call last):\n")
    assert second["exception"].endswith("\nTypeError: it does not fit")


def test_people_read_text_that_bears_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    log_to_stderr("info")
    with log_context("message-7") as turn:
        logging.getLogger("bot.x").warning("slow")
    logging.getLogger("bot.x").info("well")
    first, second = terminal.getvalue().splitlines()
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d WARNING bot\.x: \[{turn}\] slow", first)
    assert second.endswith(" INFO bot.x: well")


def test_every_line_of_a_marked_process_says_which_one_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    redact_logs([], mark="attic for cellar")
    log_to_stderr("info", format="json")
    logging.getLogger("bot.x").info("hello")
    thread = threading.Thread(target=logging.getLogger("other").warning, args=("from a thread",))
    thread.start()
    thread.join()
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first["instance"] == second["instance"] == "attic for cellar"
    log_to_stderr("info", format="text")
    with log_context("message-7") as turn:
        logging.getLogger("bot.x").info("two\nlines")
    text = capsys.readouterr().err
    assert f" INFO bot.x: (attic for cellar) [{turn}] two\n    lines\n" in text


@pytest.mark.parametrize(("form", "is_json"), [("auto", True), ("json", True), ("text", False)])
def test_the_form_can_be_set(capsys: pytest.CaptureFixture[str], form: Any, is_json: bool) -> None:
    log_to_stderr("info", format=form)
    logging.getLogger("x").info("hello")
    assert capsys.readouterr().err.startswith("{") is is_json


def test_a_line_cannot_drive_the_terminal_nor_pass_for_another(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", format="text")
    logging.getLogger("x").warning("name: %s", "\x1b]0;owned\x07Bob\n2026-01-01 00:00:00 INFO x: forged")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith(" WARNING x: name: Bob")
    assert lines[1] == "    2026-01-01 00:00:00 INFO x: forged"


def test_the_level_is_kept_and_can_be_changed(capsys: pytest.CaptureFixture[str]) -> None:
    log = log_to_stderr("error", recent_errors=RecentErrors())
    logging.getLogger("x").warning("small talk")
    assert capsys.readouterr().err == ""
    log.configure(level="debug", format="text")
    logging.getLogger("x").debug("smaller talk")
    assert capsys.readouterr().err.endswith("DEBUG x: smaller talk\n")


def test_a_talk_writes_its_log_only_when_something_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "chat.log"
    log_to_file(file)
    logging.getLogger("x").info("all is well")
    assert not file.exists()
    logging.getLogger("x").error("it is not")
    assert "ERROR x: it is not" in file.read_text("utf-8")
    assert file.stat().st_mode & 0o077 == 0


def test_no_request_of_a_library_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("debug")
    for name in ("httpx", "httpcore.http11"):
        logging.getLogger(name).info("HTTP Request: POST https://host/?key=k")
    assert capsys.readouterr().err == ""


def test_a_line_whose_arguments_do_not_fit_is_still_told(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", format="text")
    logging.getLogger("x").info("%d of %s", "one")
    assert "%d of %s (its arguments do not fit)" in capsys.readouterr().err
