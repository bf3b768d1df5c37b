"""What was typed in the terminal is forgotten like all else."""

import re
import subprocess
from pathlib import Path

import pytest
from prompt_toolkit.history import FileHistory

from adapters.terminal.history import delete_lines
from memory.forgetting import WordsToForget
from tests.fakes.commonplace import Commonplace


def typed(path: Path) -> list[str]:
    return list(FileHistory(str(path)).load_history_strings())[::-1]


def history(path: Path, *inputs: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in inputs:
        FileHistory(str(path)).store_string(each)
    return path


def test_only_what_is_to_be_forgotten_goes(tmp_path: Path) -> None:
    inputs = ["# no comment", "Anna's beetle\nis called Quentin", "+1", "", "beetle", "Ben likes tea"]
    path = history(tmp_path / "history", *inputs)
    path.chmod(0o600)
    assert delete_lines(path, WordsToForget("beetle quentin")) == 1
    assert typed(path) == [each for each in inputs if "Quentin" not in each]
    assert "Quentin" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert delete_lines(path, WordsToForget("beetle quentin")) == 0
    assert delete_lines(path, WordsToForget("tea beetle", ["Ben likes tea"])) == 1
    history(path, "more")
    assert typed(path) == ["# no comment", "+1", "", "beetle", "more"]
    assert [file.name for file in tmp_path.iterdir()] == ["history"]


def test_without_a_history_there_is_nothing_to_forget(tmp_path: Path) -> None:
    assert delete_lines(tmp_path / "none", WordsToForget("beetle")) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_forget_reaches_what_was_typed(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "a.md").write_text("- The beetle is called Quentin\n")
    path = history(tmp_path / "workspace" / ".commonplace" / "chat_history", "note the beetle Quentin", "tea")
    with commonplace.start("chat", stdin=subprocess.PIPE) as chat:
        assert chat.stdin
        assert chat.stdout
        chat.stdin.write("/forget beetle Quentin\n")
        chat.stdin.flush()
        shown = ""
        while not (found := re.search(r"/forget yes \w{4}", shown)):
            shown = chat.stdout.readline()
            assert shown
        chat.stdin.write(f"{found[0]}\n")
        chat.stdin.close()
        assert "Forgotten." in chat.stdout.read()
        assert chat.wait(10) == 0
    assert typed(path) == ["tea"]
