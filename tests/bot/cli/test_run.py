"""`commonplace run` as a process: one service to a workspace."""

import subprocess
from pathlib import Path

import pytest

from tests.fakes.commonplace import Commonplace


def answered(process: "subprocess.Popen[str]", line: str) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline()


@pytest.mark.thorough
def test_a_second_service_on_a_workspace_says_which_process_to_stop(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    commonplace.environment["COMMONPLACE_SERVER__ENABLED"] = "false"
    with commonplace.start("run", stdin=subprocess.PIPE) as first:
        assert "Noted" in answered(first, "/remember the bins go out on Monday")
        line = commonplace.error_of("run", stdin="/remember nobody hears this\n")
        assert f"kill {first.pid}" in line
        assert str(tmp_path / "workspace") in line
        assert "bins" in commonplace.output_of("chat", "-m", "/recall bins"), "who only talks is welcome"
        commonplace.output_of("memory", "index")
        commonplace.output_of("backup")
        assert commonplace("doctor").returncode == 0
        first.kill()
    assert "Noted" in commonplace("run", stdin="/remember it goes on after a crash\n").stdout
    assert "nobody hears" not in "".join(path.read_text() for path in commonplace.memory.glob("*.md"))
