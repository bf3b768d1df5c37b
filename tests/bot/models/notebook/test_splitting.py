"""A message falls into lines and sentences where a reader would see them end."""

from typing import Any

from bot.models.notebook.languages.german import GERMAN
from bot.models.notebook.splitting import MessageLine, split_lines, split_sentences
from tests.fakes.table_test import table_test


@table_test(
    ("text", "wanted"),
    [
        ("one\r\n\n  two  words ", [("one", False), ("two words", False)]),
        ("d\n> e", [("d", False), ("e", True)]),
        ("# d\n> e \n\nf?", [("", True, (), "# d\n> e\n\nf?")]),
        ("d\n# e", [("d", False), ("# e", False)]),
        ("- a\n* b\n• c", [("", True, ("a", "b", "c"), "- a\n* b\n• c")]),
        ("1. a\n2. b\n3) c", [("", True, ("a", "b", "c"), "1. a\n2. b\n3) c")]),
        (
            "  - a\n    more\n\n    * b\nc",
            [("", True, ("a more", "b"), "- a\n  more\n\n  * b"), ("c", False)],
        ),
        (
            "- a\n  ```\n  x\n\n  y\n  ```\n",
            [("", True, ("a ``` x y ```",), "- a\n  ```\n  x\n\n  y\n  ```")],
        ),
        ("1. Mai ist Feiertag", [("1. Mai ist Feiertag", False)]),
        ("-5 degrees", [("-5 degrees", False)]),
        (
            "run:\n~~~ sh\na  b\n\nc\n~~~\nthen",
            [("run:", False), ("", False, (), "~~~ sh\na  b\n\nc\n~~~"), ("then", False)],
        ),
        ("```\nnever closed", [("", False, (), "```\nnever closed\n```")]),
        ("```\n```", []),
        ("``` is not a fence ```", [("``` is not a fence ```", False)]),
        ("", []),
    ],
)
def test_lines_lose_their_marks_and_lists_and_code_stay_whole(
    text: str, wanted: list[tuple[Any, ...]]
) -> None:
    assert split_lines(text) == [MessageLine(*each) for each in wanted]


@table_test(
    ("line", "wanted"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Berg at 3.30 p.m. on St. Olav's", ["Dr. Berg at 3.30 p.m. on St. Olav's"]),
        ("He said “Go. Now.” Then left. Bye.", ["He said “Go. Now.” Then left.", "Bye."]),
        ("See a.b/c?d=e. Then go.", ["See a.b/c?d=e.", "Then go."]),
        ("我在家。你呢？好", ["我在家。", "你呢？", "好"]),
        ("「はい。」と言った。次", ["「はい。」と言った。", "次"]),
        ("Yahoo! is old. it is", ["Yahoo! is old. it is"]),
        ("Wait... What now", ["Wait... What now"]),
        ("Good! 🎉 Next one", ["Good! 🎉", "Next one"]),
        ("A “quote. That never ends. Here", ["A “quote.", "That never ends.", "Here"]),
        ('A 55" screen. Where is it?', ['A 55" screen.', "Where is it?"]),
        ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien wrote it."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(line: str, wanted: list[str]) -> None:
    assert list(split_sentences(line)) == wanted


def test_a_german_date_does_not_end_a_sentence() -> None:
    assert list(split_sentences("Am 3. Mai. Dann im Juni.", language=GERMAN)) == [
        "Am 3. Mai.",
        "Dann im Juni.",
    ]


def test_small_letters_may_begin_sentences_where_all_do() -> None:
    assert list(split_sentences("i am here. you are there.", casual=True)) == ["i am here.", "you are there."]
