"""All steps of `commonplace init` one after the other."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from bot.process_lock import ProcessLock
from bot.setup.questions import Questions
from bot.setup.run import ask_steps
from bot.setup.settings_files import SettingsFiles
from bot.setup.setup import Setup
from bot.setup.steps import STEPS
from tests.bot.setup.setting_up import answer, closed_address, give, without_variables
from tests.fakes.typing_person import Typed, TypingPerson


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    without_variables(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_PROVIDERS__OLLAMA__BASE_URL", closed_address())
    return tmp_path


def answer_all(folder: Path, *answers: tuple[str, Typed]) -> bool:
    """Take all steps at a terminal; return whether they came to their end."""
    with closing(TypingPerson(*answers)) as person, asyncio.Runner() as runner:
        files = SettingsFiles(folder / "config.toml")
        return ask_steps(Setup(files, Questions({}, person), os.environ, runner), STEPS)


def contents(folder: Path) -> Mapping[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_enter_for_everything_changes_nothing_the_second_time(folder: Path) -> None:
    by_enter = (
        ("called", ""),
        ("time zone", ""),
        ("Number", ""),
        ("token", ""),
        ("token", ""),
        ("Number", ""),
        ("http://127.0.0.1:8321/", ""),
        ("Number", ""),
    )
    assert answer_all(folder, *by_enter)
    before = contents(folder)
    assert {file.name for file in before} == {"config.toml", "secrets.toml"}
    assert answer_all(folder, *by_enter[:6], ("Replace it with a new one", ""), ("Number", ""))
    assert contents(folder) == before


def test_a_step_that_fails_does_not_keep_others_from_being_taken(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.toml").write_text("agent = {\tname = 'A' }\nproviders = { a = { kind = 'openai' } }\n")
    finished = answer_all(
        folder,
        ("called", "Robin"),
        ("time zone", ""),
        ("Number", "server"),
        ("short name", "b"),
        ("Its address", "http://127.0.0.1:1/v1"),
        ("token", ""),
        ("token", ""),
        ("Number", ""),
        ("http://127.0.0.1:8321/", "n"),
        ("Number", ""),
    )
    assert finished
    said = capsys.readouterr().out
    assert 'Please set providers.b.kind = "openai" there yourself' in said
    assert (
        folder / "config.toml"
    ).read_text() == "agent = {\tname = \"Robin\" }\nproviders = { a = { kind = 'openai' } }\n"


def test_what_was_finished_before_ctrl_c_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key in (KeyboardInterrupt, EOFError):
        finished = answer_all(folder, ("called", "Robin"), ("time zone", "Asia/Tokyo"), ("Number", key))
        assert not finished
        assert "Saved so far: Name and time zone." in capsys.readouterr().out
        assert SettingsFiles(folder / "config.toml").settings().timezone == "Asia/Tokyo"


async def test_a_service_that_runs_is_to_be_restarted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProcessLock(folder / "workspace" / ".commonplace" / "locks"):
        await answer(folder, "you", ("called", "Robin"), ("time zone", ""))
        said = capsys.readouterr().out
        assert "Done." in said
        assert "restart it to apply this" in said
        assert "Start it with" not in said
        await answer(folder, "you", ("called", "Robin"), ("time zone", ""))
        said = capsys.readouterr().out
        assert "Nothing has changed." in said
        assert "Done." not in said
        assert "restart" not in said
        await give(folder, "model", model="ollama/a")
        await answer(folder, "model", ("Number", "none"))
        said = capsys.readouterr().out
        assert "send it /config reload" in said
        assert "restart" not in said
