"""Tasks in lists."""

import pytest

from memory.tasks import is_task, set_task, task_mark


@pytest.mark.parametrize(
    ("open_line", "done"),
    [
        ("- [ ] milk", "- [x] milk"),
        ("  * [ ] [x] both", "  * [x] [x] both"),
        ("12. [ ]  tea ", "12. [x]  tea "),
        ("> - [ ] quoted", "> - [x] quoted"),
        ("- + [ ]\tdeep", "- + [x]\tdeep"),
    ],
)
def test_only_the_mark_changes(open_line: str, done: str) -> None:
    assert set_task(open_line, is_done=True) == done
    assert set_task(done, is_done=False) == open_line
    assert set_task(done, is_done=True) == done
    assert set_task(done.replace("[x]", "[X]", 1), is_done=False) == open_line
    assert task_mark(open_line) != task_mark(done)


@pytest.mark.parametrize(
    "line", ["", "[ ] x", "- [] x", "- [ ]x", "- [y] x", "-[ ] x", "text - [ ] x", "- a [ ] x"]
)
def test_other_lines_are_no_tasks(line: str) -> None:
    assert not is_task(line)
    assert set_task(line, is_done=True) == line
