import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.child_environment import child_environment


def test_a_process_that_reads_what_strangers_sent_is_told_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COMMONPLACE_WORKSPACE", "OPENAI_API_KEY", "DISCORD_BOT_TOKEN", "db_password", "X_SECRET_Y"):
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("LANG", "C.UTF-8")
    told = child_environment({"MORE": "1"})
    assert "hidden" not in told.values()
    assert (told["LANG"], told["MORE"]) == ("C.UTF-8", "1")
    assert list(child_environment(secrets=True).values()).count("hidden") == 5


def test_it_imports_what_we_can_and_nothing_of_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "json.py").write_text("raise RuntimeError('of the working folder')")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "only_there.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "beside"))
    run = subprocess.run(
        [sys.executable, "-P", "-c", "import json, only_there, sys; print(sys.path)"],
        env=child_environment(),
        cwd=tmp_path / "here",
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path / "beside") in run.stdout
    assert os.pathsep.join(filter(None, sys.path)) == child_environment()["PYTHONPATH"]
