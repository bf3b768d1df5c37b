"""`make run` keeps the notes of a clone in the clone, unless settings say where they are."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def arguments_of_run(folder: Path, *arguments: str, **environment: str) -> list[str]:
    """Return what `make run` would call `commonplace run` with, in a clone in `folder`."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    command = ["make", "--no-print-directory", "-n", "-o", ".venv/project", "-f", str(ROOT / "Makefile")]
    done = subprocess.run(
        [*command, "run", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    program, run, *rest = done.stdout.splitlines()[-1].removeprefix("exec ").split()
    assert (program, run) == (".venv/bin/commonplace", "run")
    return rest


def test_a_clone_keeps_its_notes_in_itself(tmp_path: Path) -> None:
    assert arguments_of_run(tmp_path) == ["--workspace", "workspace"]


def test_what_is_asked_for_wins(tmp_path: Path) -> None:
    assert arguments_of_run(tmp_path, "ARGS=--workspace there")[-2:] == ["--workspace", "there"]


def test_settings_say_where_the_notes_are(tmp_path: Path) -> None:
    assert arguments_of_run(tmp_path, "ARGS=--config mine.toml") == ["--config", "mine.toml"]
    assert arguments_of_run(tmp_path, COMMONPLACE_CONFIG="mine.toml") == []
    assert arguments_of_run(tmp_path, COMMONPLACE_WORKSPACE="/srv/notes") == []
    (tmp_path / "config.toml").touch()
    assert arguments_of_run(tmp_path) == []
