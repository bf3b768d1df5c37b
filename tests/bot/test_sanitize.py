import json

from hypothesis import given
from hypothesis import strategies as st

from bot.sanitize import escape_json_controls, one_line, strip_controls
from tests.fakes.table_test import table_test


@table_test(
    ("text", "shown"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\after", "after"),
        ("\x1b]52;c;never ended\nnext line", "\nnext line"),
        ("\x1bc reset", " reset"),
        ("over\rwritten", "over\nwritten"),
        ("dos\r\nlines", "dos\nlines"),
        ("back\x08\x7fspace\x00", "backspace"),
        ("half \ud83d a pair", "half  a pair"),
        ("日本語 ไทย ü 👩‍👩‍👧", "日本語 ไทย ü 👩‍👩‍👧"),
    ],
)
def test_nothing_that_drives_a_terminal_is_left(text: str, shown: str) -> None:
    assert strip_controls(text) == shown


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    assert not [
        letter
        for letter in strip_controls(text)
        if not letter.isprintable() and ord(letter) < 0xA0 and letter not in "\n\t"
    ]


@given(st.text(st.characters(min_codepoint=0xA0, exclude_categories=["Cs"])))
def test_words_of_any_script_are_left_as_they_are(text: str) -> None:
    assert strip_controls(text) == text


@given(st.text())
def test_json_for_terminals_says_the_same(text: str) -> None:
    document = escape_json_controls(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(document) == {"text": text}
    assert not [letter for letter in document if ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0]


def test_one_line_is_one_and_short() -> None:
    assert one_line("a\n  b\x1b[1m c ", limit=5) == "a b c"
    assert one_line("abcdefgh", limit=5) == "abcd…"
