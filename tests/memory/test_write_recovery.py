"""Recovering interrupted writes: same results as trying every position, in linear time."""

from hypothesis import given
from hypothesis import strategies as st

from memory.write_recovery import (
    BeforeAppend,
    BeforeReplacement,
    before_replacement,
    find_block,
    find_missing_rest,
    is_replacement_done,
    make_addition,
)
from tests.fakes.table_test import table_test
from tests.growth import Case, assert_grows_linearly

LINES = st.lists(st.sampled_from(["", "a", "aa", "b", "- a"]), min_size=1, max_size=12).map("\n".join)


@given(text=LINES, block=LINES.filter(str.strip))
def test_every_occurrence_is_found_even_if_they_overlap(text: str, block: str) -> None:
    lines, wanted = text.split("\n"), block.split("\n")
    expected = [
        sum(len(line) + 1 for line in lines[:at])
        for at in range(len(lines) - len(wanted) + 1)
        if lines[at : at + len(wanted)] == wanted
    ]
    assert find_block(text, block) == expected


@given(note=LINES, block=LINES.filter(str.strip), length=st.integers(0, 40))
def test_a_partial_block_is_completed_wherever_it_was_cut(note: str, block: str, length: int) -> None:
    before = f"{note}\n".encode()
    whole = b"".join(make_addition(before, block, title="T"))
    torn = before + whole[:length]
    rest = find_missing_rest(torn, block, BeforeAppend(0, len(before), True), title="T")
    assert rest == (whole[length:] if 0 < length < len(whole) else b"")


@given(note=LINES, block=LINES.filter(str.strip), length=st.integers(1, 40))
def test_a_partial_block_is_completed_in_a_note_that_has_grown(note: str, block: str, length: int) -> None:
    added = f"{block}\n".encode()
    torn = f"{note}\n".encode() + added[:length]
    rest = find_missing_rest(torn, block, BeforeAppend(0, len(torn) + 9, True), title="T")
    above = {at: torn[: len(torn) - at] for at in range(1, min(len(added), len(torn) + 1))}
    candidates = [
        at for at, text in above.items() if torn.endswith(added[:at]) and (not text or text.endswith(b"\n"))
    ]
    is_torn = length < len(added) and not added[:length].endswith(b"\n")
    assert rest == (added[max(candidates) :] if is_torn and candidates else b"")


def test_a_note_of_one_repeated_letter_is_searched_quickly() -> None:
    for name, call in {
        "one line": lambda text: find_block(text, text[: len(text) // 2]),
        "few letters": lambda text: find_block(text, text[:20]),
        "many lines": lambda text: find_block(text.replace("aa", "a\n"), "a\n" * (len(text) // 8) + "a"),
        "torn": lambda text: find_missing_rest(
            text.encode(), f"{text}b", BeforeAppend(0, len(text) + 9, True), title="T"
        ),
        "torn lines": lambda text: find_missing_rest(
            text.replace("aa", "a\n").encode() + b"a",
            f"{text.replace('aa', chr(97) + chr(10))}b",
            BeforeAppend(0, len(text) + 9, True),
            title="T",
        ),
    }.items():
        assert_grows_linearly(Case(name, call, lambda size: "a" * (size // 2 * 2)))


SECTION = ("## 12:00 Ada", "", "- tea", "- milk", "- rice")


@table_test(
    ("becomes", "is_done"),
    [
        # The lines are removed; somebody else has written meanwhile.
        ("# Day\n\n{section}\n- more\n", False),
        ("# Day\n\n- more\n", True),
        ("# Day\n\n## 12:00 Ada\n\n- tea\n- oat milk\n- rice\n", False),
        ("# Day\n\n## 12:00 Ada\n\n- tea\n- in between\n- milk\n- rice\n", False),
        ("# Day\n\n## 12:00 Ada\n\n- of another section\n", True),
    ],
)
def test_lines_of_which_others_have_edited_some_were_removed_or_not(becomes: str, is_done: bool) -> None:
    section = "\n".join(SECTION)
    was = f"# Day\n\n{section}\n".encode()
    before = before_replacement(was, b"# Day\n", old=SECTION, new=())
    now = becomes.format(section=section).encode()
    assert is_replacement_done(now, before, old=SECTION, new=()) is is_done


@table_test(
    ("becomes", "is_done"),
    [
        ("# Day\n\n- more\n", False),
        ("# Day\n\n{section}\n- more\n", True),
        ("# Day\n\n## 12:00 Ada\n\n- tea\n- oat milk\n- rice\n", True),
        ("# Day\n\n## 12:00 Ada\n\n- tea\n- in between\n- milk\n- rice\n", True),
        ("# Day\n\n## 12:00 Ada\n\n- of another section\n", False),
    ],
)
def test_lines_of_which_others_have_edited_some_were_put_back_or_not(becomes: str, is_done: bool) -> None:
    section = "\n".join(SECTION)
    before = before_replacement(b"# Day\n", f"# Day\n\n{section}\n".encode(), old=(), new=SECTION)
    now = becomes.format(section=section).encode()
    assert is_replacement_done(now, before, old=(), new=SECTION) is is_done


def test_what_an_earlier_version_has_stored_is_decided_by_the_whole_run_of_lines() -> None:
    before = BeforeReplacement("1", "2", old_count=1, new_count=0)
    assert is_replacement_done(b"- milk\n", before, old=("- tea", "- rice"), new=())
    assert not is_replacement_done(b"- tea\n- rice\n- milk\n", before, old=("- tea", "- rice"), new=())
