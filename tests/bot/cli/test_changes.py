"""`commonplace memory changes`, `undo` and `redo`."""

import json
from pathlib import Path

import pytest

from tests.fakes.commonplace import Commonplace, CommonplaceHere


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return CommonplaceHere(tmp_path)


def note(commonplace: Commonplace, *texts: str) -> str:
    """Note some texts from the terminal, and return the note's name."""
    for text in texts:
        commonplace.output_of("chat", "-m", f"/remember {text}")
    (file,) = commonplace.memory.iterdir()
    return file.name


def test_changes_are_listed_and_shown_in_full(commonplace: Commonplace) -> None:
    name = note(commonplace, "bread", "milk")
    second, first = commonplace.output_of("memory", "changes").splitlines()
    assert second.startswith("#2  ")
    assert second.endswith(f"  you  {name}  added “milk”")
    assert first.startswith("#1  ")
    assert commonplace.output_of("memory", "changes", "1") == f"{second}\n"
    assert commonplace.output_of("memory", "changes", "today") == f"{second}\n{first}\n"
    assert commonplace.output_of("memory", "changes", name.removesuffix(".md")) == f"{second}\n{first}\n"
    for words in (["#1"], ["--number", "1"]):
        shown = commonplace.output_of("memory", "changes", *words).splitlines()
        assert shown[0].startswith(f"Change 1 to {name}, line 3, today at ")
        assert shown[0].endswith(", by you in the terminal, with a command.")
        assert shown[1:] == [f"+# {name.removesuffix('.md')}", "+", "+- bread"]


def test_if_nothing_is_listed_it_says_of_what(commonplace: Commonplace) -> None:
    note(commonplace, "bread")
    done = commonplace("memory", "changes", "yesterday")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "commonplace: There is no note yesterday.md.\n",
    )
    (commonplace.memory / "oslo.md").write_text("# Oslo\n")
    assert commonplace.output_of("memory", "changes", "oslo") == "No changes to oslo.md are recorded.\n"
    assert json.loads(commonplace.output_of("memory", "changes", "oslo", "--json")) == {"changes": []}


def test_changes_as_json(commonplace: Commonplace) -> None:
    name = note(commonplace, "bread", "milk")
    (shown,) = json.loads(commonplace.output_of("memory", "changes", "1", "--json"))["changes"]
    at = shown.pop("at")
    assert at.endswith("+00:00")
    assert shown == {
        "number": 2,
        "path": name,
        "line": 4,
        "old": [],
        "new": ["- milk"],
        "who": "you",
        "person": "terminal:owner",
        "chat": "terminal:main",
        "made_by": "command",
        "client": "",
        "model": "",
        "says": [],
        "undoes": 0,
        "undone_by": 0,
        "stands": True,
        "forgotten": False,
        "moved_from": "",
        "moved_to": "",
    }


def test_a_change_is_taken_back_and_done_again(commonplace: Commonplace) -> None:
    name = note(commonplace, "bread", "milk")
    file = commonplace.memory / name
    after = file.read_text()
    assert commonplace.output_of("memory", "undo") == f"Undid change 2 in {name}.\n-- milk\n"
    assert file.read_text() == after.replace("- milk\n", "")
    assert commonplace.output_of("memory", "redo") == f"Redid change 2 in {name}:4.\n+- milk\n"
    assert file.read_text() == after
    undone = json.loads(commonplace.output_of("memory", "undo", "#1", "--json"))
    assert undone == {
        "number": 1,
        "change": 5,
        "redone": False,
        "path": name,
        "line_start": 3,
        "line_end": 2,
        "removed": ["- bread"],
        "put_back": [],
    }


def test_what_was_edited_since_stays_and_the_difference_is_printed(commonplace: Commonplace) -> None:
    name = note(commonplace, "The key is under the mat.")
    file = commonplace.memory / name
    file.write_text(file.read_text().replace("mat", "doormat"))
    done = commonplace("memory", "undo")
    assert done.returncode == 1
    assert done.stdout == (
        "- marks what the change wrote, + what is there now:\n"
        "- - The key is under the mat.\n+ - The key is under the doormat.\n"
    )
    assert done.stderr.endswith(" `commonplace memory undo N` undoes an earlier change\n")
    assert done.stderr.count("\n") == 1
    assert "earlier" not in commonplace("memory", "undo", "1").stderr
    assert "doormat" in file.read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["undo"], "commonplace: you have no change of your own to undo; "),
        (["undo", "9"], "commonplace: "),
        (["redo"], "commonplace: there is nothing to redo; "),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_without_changes_nothing_is_done(
    commonplace: Commonplace, words: list[str], told: str, *, begun: bool
) -> None:
    if begun:
        commonplace.output_of("chat", "-m", "/status")
    done = commonplace("memory", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1
    assert commonplace.output_of("memory", "changes") == "No changes to the notes are recorded.\n"
    assert json.loads(commonplace.output_of("memory", "changes", "--json")) == {"changes": []}


@pytest.mark.parametrize("words", [["undo", "two"], ["undo", "0"], ["changes", "--number", "x"]])
def test_what_is_no_number_is_wrong_usage(commonplace: Commonplace, words: list[str]) -> None:
    assert commonplace("memory", *words).returncode == 2
