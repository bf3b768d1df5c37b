"""Who an instance is, and what it remembers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cluster.instance import INSTANCE_FILE, known_peers, load_instance, remember_peers, workspace_id

ROOT = Path(__file__).parents[3]


def test_a_workspace_keeps_its_id_and_each_process_has_its_own(tmp_path: Path) -> None:
    private = tmp_path / ".commonplace"
    first, second = load_instance(private, name="a"), load_instance(private)
    assert first.workspace == second.workspace == workspace_id(private)
    assert first.id != second.id
    assert first.name == "a"
    assert second.name
    assert [file.name for file in private.iterdir()] == [INSTANCE_FILE]
    assert (private / INSTANCE_FILE).stat().st_mode & 0o022 == 0


def test_a_copy_is_the_same_workspace_and_another_holder(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    first = load_instance(one)
    other.mkdir()
    (other / INSTANCE_FILE).write_bytes((one / INSTANCE_FILE).read_bytes())
    assert load_instance(other).workspace == first.workspace
    assert load_instance(other).id != first.id


@pytest.mark.thorough
def test_processes_that_begin_together_agree(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bot.cluster.instance import load_instance;"
        "sys.stdin.readline(); print(this_instance(Path(sys.argv[1])).workspace)"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "p")],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for each in started:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()
    told = {each.communicate()[0].strip() for each in started}
    assert told == {workspace_id(tmp_path / "p")}


@pytest.mark.parametrize(
    "torn", ["", "{", "[]", '{"id": "x", "company": null}', '{"id": 5, "company": false}', "\udcff"]
)
def test_what_cannot_be_understood_is_made_anew(
    torn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / INSTANCE_FILE).write_text(torn, errors="surrogateescape")
    assert workspace_id(tmp_path) == ""
    made = load_instance(tmp_path)
    assert made.workspace == workspace_id(tmp_path) != ""
    assert "writing a new one" in caplog.text
    assert known_peers(tmp_path) is None


def test_that_there_was_company_is_never_forgotten(tmp_path: Path) -> None:
    assert workspace_id(tmp_path) == ""
    made = load_instance(tmp_path)
    assert known_peers(tmp_path) is None
    remember_peers(tmp_path, False)
    assert known_peers(tmp_path) is False
    remember_peers(tmp_path, True)
    remember_peers(tmp_path, False)
    assert known_peers(tmp_path) is True
    assert (
        json.loads((tmp_path / INSTANCE_FILE).read_text())["id"] == made.workspace == workspace_id(tmp_path)
    )


def test_where_nothing_can_be_read_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / INSTANCE_FILE).mkdir()
    assert workspace_id(tmp_path) == ""
    assert known_peers(tmp_path) is None
    with pytest.raises(OSError, match=INSTANCE_FILE):
        load_instance(tmp_path)
