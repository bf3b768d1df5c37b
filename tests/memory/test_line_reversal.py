"""A change is taken back in a note that has changed since."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory.charset import decode
from memory.line_diff import LineDiff, compare_lines, split_lines
from memory.line_reversal import DIFF_MAX_LINES, describe_edits, plan_reversal
from memory.note_edits import replace_lines

LINES = st.lists(st.sampled_from(["", "- a", "- b", "# c", "d"]), max_size=8)


def apply(text: str, change: LineDiff) -> str | None:
    """Return a text without a change; None if its lines are not there."""
    planned = plan_reversal(text, change)
    if planned is None:
        return None
    edited = replace_lines(
        decode(text.encode()), line=planned.line, old=planned.old, new=planned.new, path="a.md"
    )
    return edited.data.decode()


@given(LINES, LINES)
def test_taken_back_at_once_it_gives_the_earlier_version(before: list[str], after: list[str]) -> None:
    one, other = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    assert apply(other, compare_lines(one, other)) == one


@given(LINES, LINES, st.lists(st.sampled_from(["- x", "- y", "z"]), max_size=4))
def test_lines_added_above_and_below_stay(before: list[str], after: list[str], more: list[str]) -> None:
    one, other = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    change = compare_lines(one, other)
    # Of equal runs of lines, nobody can tell which one it was once the lines above have changed.
    runs = range(len(after) - len(change.new) + 1)
    assume(sum(tuple(after[at : at + len(change.new)]) == change.new for at in runs) == 1)
    added = "".join(f"{line}\n" for line in more)
    taken = apply(f"{added}{other}{added}", change)
    if change.new and any(change.new):
        assert taken is not None
        left = [line for line in split_lines(taken) if line.strip()]
        assert left == [line for line in [*more, *before, *more] if line.strip()]


@pytest.mark.parametrize(
    ("now", "taken"),
    [
        ("# Day\n\n- tea\n- a\n- milk\n", "# Day\n\n- tea\n- milk\n"),
        ("# Day\n\n- tea\n- A\n", None),
        ("", None),
        ("- a\n- a\n- tea\n- a\n", "- a\n- a\n- tea\n"),
    ],
)
def test_an_added_line_is_found_by_its_text(now: str, taken: str | None) -> None:
    assert apply(now, compare_lines("# Day\n\n- tea\n", "# Day\n\n- tea\n- a\n", starts_at=4)) == taken


def test_removed_lines_go_to_the_end_if_their_place_is_gone() -> None:
    removed = compare_lines("# A\n\n- tea\n- milk\n", "# A\n\n- milk\n")
    assert apply("# A\n\n- milk\n- bread\n", removed) == "# A\n\n- tea\n- milk\n- bread\n"
    assert apply("Something else.\n", removed) == "Something else.\n\n- tea\n"
    assert apply("- bread\n", removed) == "- bread\n- tea\n"
    assert apply("", removed) == "- tea\n"


def test_the_diff_is_short() -> None:
    before, after = "x\n", "x\n" + "".join(f"- line number {number}\n" for number in range(60))
    edited = after.replace("number", "no.") + "y" * 5_000
    shown = describe_edits(edited, compare_lines(before, after)).split("\n")
    assert len(shown) == DIFF_MAX_LINES + 1
    assert max(map(len, shown)) < 200
    assert shown[0] == "- - line number 0"
