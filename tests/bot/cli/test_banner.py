"""What a person at the terminal reads first."""

from pathlib import Path

import pytest

from tests.fakes.commonplace import Commonplace
from tests.fakes.terminal_window import TerminalWindow


def window_of(tmp_path: Path, *arguments: str, **environment: str) -> TerminalWindow:
    commonplace = Commonplace(tmp_path)
    return TerminalWindow(
        [*commonplace.command, *arguments],
        cwd=tmp_path,
        environment=commonplace.environment | environment,
        columns=200,
    )


@pytest.mark.thorough
def test_a_chat_begins_with_where_the_notes_are_and_that_the_notebook_answers(tmp_path: Path) -> None:
    with window_of(tmp_path, "chat") as window:
        shown = window.wait_for("›")
        first = shown.splitlines()[0]
        assert first == f"Commonplace: your notes are in {tmp_path / 'workspace' / 'memory'}"
        assert "`commonplace init model` adds a language model" in shown.replace("\n", " ")
        assert "Status page" not in shown
        window.type("exit\r")
        assert window.wait_exit() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["one", pytest.param("two", marks=pytest.mark.thorough)])
def test_a_chat_in_another_folder_says_that_its_memory_is_another_one(tmp_path: Path, name: str) -> None:
    """And so does its answer to a code that the first folder's bot gave."""
    folder = tmp_path / name
    folder.mkdir()
    with window_of(folder, "chat") as window:
        first = window.wait_for("›").splitlines()[0]
        assert first == f"Commonplace: your notes are in {folder / 'workspace' / 'memory'}"
        window.type("/pair CCCCCCCC\r")
        window.wait_for(f"I looked in {folder / 'workspace'}. If your bot uses another folder")
        window.type("exit\r")
        assert window.wait_exit() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("0.0.0.0", marks=pytest.mark.thorough)])
def test_a_service_at_a_terminal_names_the_model_and_the_status_page(tmp_path: Path, host: str) -> None:
    settings = {
        "COMMONPLACE_SERVER__PORT": "0",
        "COMMONPLACE_SERVER__HOST": host,
        "COMMONPLACE_SERVER__TOKEN": "let-me-in-please-0123456789",
        "COMMONPLACE_MODELS__CHAIN": '["ollama/qwen3"]',
    }
    with window_of(tmp_path, "run", **settings) as window:
        shown = window.wait_for("›")
        assert "Model: ollama/qwen3\n" in shown
        assert "Status page: http://127.0.0.1:" in shown
        window.type("/quit\r")
        assert window.wait_exit() == 0
