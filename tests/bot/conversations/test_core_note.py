from bot.conversations.core_note import (
    CORE_CHARS,
    count_visible_lines,
    is_too_long,
    length_warning,
    visible_part,
)

LINE = "- What is known about the boiler in the cellar.\n"


def test_a_short_note_is_at_hand_whole_and_nothing_is_told_of_it() -> None:
    text = f"\n\n# Memory\n\n{LINE}\n\n"
    assert visible_part(text, the_rest="?") == text.strip()
    assert length_warning(text) == ""
    assert not is_too_long("\n" * 20 + "x" * CORE_CHARS + "\n" * 20)


def test_of_a_long_note_the_lines_that_have_room_are_at_hand() -> None:
    text = f"\n# Memory\n\n{LINE * 200}"
    shown = visible_part(text, the_rest="ask for it")
    last = count_visible_lines(text)
    assert shown.startswith("# Memory\n\n- What is known")
    assert shown.endswith(f"cellar.\n[cut here: line {last + 1} and what follows is left out; ask for it]")
    assert len("\n".join(text.split("\n")[1:last])) <= CORE_CHARS
    assert len("\n".join(text.split("\n")[1 : last + 1])) > CORE_CHARS


def test_a_warning_tells_how_long_it_is_how_far_is_at_hand_and_what_to_do() -> None:
    text = f"# Memory\n\n{LINE * 200}"
    assert length_warning(text) == (
        f"MEMORY.md is {len(text.strip()):,} characters long, but I only keep the first 6,000 in mind at all times (up "
        f"to line {count_visible_lines(text)}); I have to search for the rest. Please shorten it, or move what I don't "
        "always need to know into other notes."
    )


def test_one_line_that_is_too_long_is_cut_within_it() -> None:
    text = "x" * 9_000
    assert visible_part(text, the_rest="ask").startswith("x" * CORE_CHARS + "\n[cut here: line 2 ")
    assert count_visible_lines(text) == 1
