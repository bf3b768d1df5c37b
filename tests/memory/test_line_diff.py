"""The lines in which two versions of a note differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.line_diff import compare_lines, split_lines


@pytest.mark.parametrize(
    ("before", "after", "line", "old", "new"),
    [
        ("", "# Day\n\n- a\n", 1, (), ("# Day", "", "- a")),
        ("- a\n", "- a\n- a\n", 2, (), ("- a",)),
        ("- a\n- b\n- c\n", "- a\n- x\n- c\n", 2, ("- b",), ("- x",)),
        ("- a\n- b\n- c\n", "- a\n- c\n", 2, ("- b",), ()),
        ("- a", "- a\n", 2, (), ()),
        ("a\n\nb\n", "a\n\nb\n\nc\n", 4, (), ("", "c")),
        ("a\n", "", 1, ("a",), ()),
    ],
)
def test_one_run_of_lines_differs(
    before: str, after: str, line: int, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    found = compare_lines(before, after)
    assert (found.line, found.old, found.new, found.lead) == (line, old, new, 0)


def test_what_leads_up_to_the_added_text_is_told_apart() -> None:
    assert compare_lines("", "# Day\n\n- a\n- b\n", starts_at=3).lead == 2
    assert compare_lines("a\n", "a\n\nb\n", starts_at=3).lead == 1
    assert compare_lines("- a\n", "- a\n- b\n", starts_at=2).lead == 0


LINES = st.lists(st.sampled_from(["", "- a", "- b", "# c"]), max_size=8)


@given(LINES, LINES)
def test_the_change_made_again_gives_the_later_version(before: list[str], after: list[str]) -> None:
    one, other = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    change = compare_lines(one, other)
    made = split_lines(one)
    at = change.line - 1
    assert tuple(made[at : at + len(change.old)]) == change.old
    made[at : at + len(change.old)] = change.new
    assert made == split_lines(other)
