import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.imports.merge_lines import find_lines, hash_lines, missing_lines

LOG = "# 2026-03-03\n\n- The boiler was serviced.\n- Anna called.\n"


@pytest.mark.parametrize(
    ("incoming", "missing"),
    [
        (LOG, ""),
        ("", ""),
        ("- Anna called.\n- Ben called.\n", "- Ben called."),
        ("# 2026-03-03\n\n## 10:00\n\n- Anna called.\n\n## 11:00\n\n- New.", "## 11:00\n\n- New."),
        ("- Anna called.\n- Anna called.", "- Anna called."),
        ("- Anna called.\n  - from Oslo\n  - at noon", "- Anna called.\n  - from Oslo\n  - at noon"),
        ("- X\n\n- Y\n", "- X\n\n- Y"),
        ("# Other title\n\n- X", "# Other title\n\n- X"),
        ("```\n- Anna called.\n```\n", "```\n- Anna called.\n```"),
        ("~~~\nopen", "~~~\nopen"),
        ("Plain text\nof two lines", "Plain text\nof two lines"),
    ],
)
def test_only_what_is_missing_comes_with_what_is_above_it(incoming: str, missing: str) -> None:
    assert missing_lines(LOG, incoming) == missing


def test_code_is_there_or_not_as_a_whole() -> None:
    code = "```py\nprint(1)\n\nprint(2)\n```"
    assert missing_lines(f"{LOG}\n{code}\n", code) == ""
    assert missing_lines(f"{LOG}\n{code}\n", code.replace("2", "3")) == code.replace("2", "3")


LINES = st.lists(
    st.sampled_from(["", "# T", "## A", "## B", "- a", "- b", "  - c", "    d", "text", "```", "x"]),
    max_size=12,
).map("\n".join)


@given(LINES, LINES)
def test_nothing_comes_twice_and_no_line_is_lost(existing: str, incoming: str) -> None:
    merged = f"{existing}\n\n{missing_lines(existing, incoming)}"
    if "```" not in existing + incoming:
        assert missing_lines(merged, incoming) == ""
        assert {*incoming.split("\n")} - {*merged.split("\n")} <= {"", "# T", "## A", "## B"}


def test_added_lines_are_found_again() -> None:
    block = "- one\n\n- two"
    digests = hash_lines(block)
    assert find_lines(f"- zero\n{block}\n- three", digests) == (frozenset({1, 2, 3}), 0)
    assert find_lines(f"{block}\n- zero\n{block}", digests) == (frozenset({4, 5, 6}), 0)
    assert find_lines("- one\n- 2\n- zero", digests) == (frozenset({0}), 1)
    assert find_lines("- zero", digests) == (frozenset(), 2)


def test_of_changed_lines_the_heading_stays() -> None:
    digests = hash_lines("## A\n\n- one\n- two")
    assert find_lines("## A\n\n- one\n- changed", digests) == (frozenset({2}), 1)


def test_of_changed_code_nothing_is_taken() -> None:
    digests = hash_lines("- one\n\n```\nx = 1\ny = 2\n```")
    changed = "- one\n\n```\nx = 3\ny = 2\n```"
    assert find_lines(changed, digests) == (frozenset({0}), 4)


@pytest.mark.parametrize("own", ["```\nmine\n```", "---", "~~~\nx = 1\nmine\n~~~", "| - | - |\n| a | b |"])
def test_fences_and_rules_of_ones_own_stay(own: str) -> None:
    digests = hash_lines("- one\n- two\n\n---\n\n| - | - |\n\n```\nx = 1\n```")
    text = f"- one\n- changed\n\n---\n\n```\nx = 2\n```\n\n{own}"
    numbers, _ = find_lines(text, digests)
    rest = "\n".join(line for number, line in enumerate(text.split("\n")) if number not in numbers)
    assert rest == text.removeprefix("- one\n")
