import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.chunker import split_passages
from memory.errors import NothingToWrite
from memory.formatting import clean_text, escape_headings, format_entry, format_lead_in
from tests.fakes.table_test import table_test

MARKDOWN_PIECES = st.one_of(
    st.sampled_from(
        ["- ", "* ", "• ", "+ ", "1. ", "# ", "## x", "---", "===", "```", "~~~~", "> ", "\\", "`", "_"]
    ),
    st.sampled_from(["\n", "\n\n", "  ", "    ", "\t", "\r\n", "| a | b |", "|---|---|", "<!--"]),
    st.sampled_from(["word", "Übung", "明日", "ไทย", "😀"]),
    st.sampled_from(["\x00", "\x1b", "\ud800", "\u2028", "\ufeff", "\r", "\x85", "\x0c"]),
)
TEXTS = st.text() | st.lists(MARKDOWN_PIECES, max_size=20).map("".join)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


@table_test(
    ("text", "entry"),
    [
        ("Anna's passport is in the blue folder.", "- Anna's passport is in the blue folder."),
        ("  padded \n", "- padded"),
        ("- has one already", "- has one already"),
        ("* has a star", "- has a star"),
        ("• from a phone", "- from a phone"),
        ("-5 degrees", "- -5 degrees"),
        ("+ 1 for pizza", "- + 1 for pizza"),
        ("#hashtag stays", "- #hashtag stays"),
        ("# of guests is 12", "- \\# of guests is 12"),
        ("---", "- \\---"),
        ("- - -", "- \\- - -"),
        ("--", "- \\--"),
        ("***", "- \\***"),
        ("**bold** claim", "- **bold** claim"),
        ("护照在蓝色文件夹里。", "- 护照在蓝色文件夹里。"),
        ("[ ] buy milk", "- [ ] buy milk"),
    ],
)
def test_one_line_becomes_one_bullet(text: str, entry: str) -> None:
    assert format_entry(text) == entry


def test_plain_lines_become_one_bullet_with_continuation_lines() -> None:
    assert (
        format_entry("Anna Meier\nBahnhofstr. 5\n8001 Zürich")
        == "- Anna Meier\n  Bahnhofstr. 5\n  8001 Zürich"
    )


def test_paragraphs_become_bullets() -> None:
    assert format_entry("One thing.\n\n\nAnother,\nlonger one.") == "- One thing.\n- Another,\n  longer one."


def test_a_list_stays_a_list() -> None:
    for text in ("- milk\n- eggs\n  - six", "1. wash\n2. dry", "* a\n* b"):
        assert format_entry(f"\n{text}\n\n") == text
    assert format_entry("• milk\n• eggs") == "- milk\n- eggs"


def test_a_list_under_a_line_hangs_beneath_it() -> None:
    assert format_entry("Shopping:\n- milk\n  - oat\n- eggs") == "- Shopping:\n  - milk\n    - oat\n  - eggs"
    assert format_entry("Shopping:\n\n  - milk\n  - eggs") == "- Shopping:\n- milk\n- eggs"


@table_test(
    "text",
    [
        "# Trip to Oslo\n\n- tickets\n- hotel",
        "Run this:\n```sh\n# not a heading\nmake run\n```",
        "> Whoever is not against us\n> is for us.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "Before.\n\n## After\nmore",
    ],
)
def test_real_markdown_is_kept_as_it_is(text: str) -> None:
    assert format_entry(text) == text


def test_an_open_fence_is_closed_so_that_it_swallows_nothing_later() -> None:
    assert format_entry("````py\nx = 1\n```") == "````py\nx = 1\n```\n````"
    assert format_entry("- run\n  ~~~\n  make") == "- run\n  ~~~\n  make\n  ~~~"


def test_lines_do_not_become_headings_by_accident() -> None:
    assert format_entry("Steps\n# install\n---\n=====") == "- Steps\n  \\# install\n  \\---\n  \\====="
    assert format_entry("- a\n# b\n- c") == "- a\n\\# b\n- c"


@table_test(
    ("text", "entry"),
    [
        ("# Plan\r\n\r\npaint the fence", "- \\# Plan\n- paint the fence"),
        ("a\n\n## B\nmore", "- a\n- \\## B\n  more"),
        ("> quoted\n\nTitle\n---", "> quoted\n\nTitle\n\\---"),
        ("Title\n===\n> quoted", "Title\n\\===\n> quoted"),
        ("```\n# code\n```\n# Plan", "```\n# code\n```\n\\# Plan"),
        ("| a |\n|---|\n| b |\n\n#", "| a |\n|---|\n| b |\n\n\\#"),
        ("#tag stays\n- too", "- #tag stays\n  - too"),
    ],
)
def test_headings_can_be_written_as_words(text: str, entry: str) -> None:
    assert format_entry(escape_headings(text)) == entry


@example(" 0\n\n    # 0")
@given(TEXTS)
def test_what_follows_a_text_without_headings_is_not_part_of_it(text: str) -> None:
    try:
        entry = format_entry(escape_headings(text))
    except NothingToWrite:
        return
    assert words(entry) == words(text)
    *_, last = split_passages(f"# Day\n\n{entry}\n\n- last\n")
    assert last.heading == "Day"


@table_test("text", ["", " \n\t\n", "\x00", "\ud800", "\ufeff", "\u200b\u2060", "\x1b\x07"])
def test_blank_text_is_refused(text: str) -> None:
    with pytest.raises(NothingToWrite):
        format_entry(text)


def test_controls_and_surrogates_are_made_safe() -> None:
    assert (
        format_entry("a\x00b \x1b[31m \ud83d\ude00 \udc00 c\x7f") == "- a\ufffdb \ufffd[31m 😀 \ufffd c\ufffd"
    )
    assert format_entry("one\u2028two\x0bthree\rfour") == "- one\n  two\n  three\n  four"


@given(TEXTS)
def test_no_word_is_changed_or_dropped(text: str) -> None:
    try:
        entry = format_entry(text)
    except NothingToWrite:
        assert not words(text)
        return
    assert words(entry) == words(text)
    assert entry.strip("\n") == entry
    entry.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", entry)


@given(TEXTS)
def test_a_text_without_blocks_opens_no_heading_rule_or_fence(text: str) -> None:
    lines = [line for line in re.sub(r"[`~>|]", "", clean_text(text)).split("\n") if line.strip()]
    try:
        entry = format_entry("\n".join(lines))
    except NothingToWrite:
        return
    if not re.match(r" {0,3}#{1,6}\s", entry):
        assert not re.search(r"^ *(#{1,6}(\s|$)|=+ *$|-+ *$)", entry, re.MULTILINE)


@table_test(
    ("before", "entry", "between"),
    [
        ("", "- a", "# T\n\n"),
        ("\n", "- a", "# T\n\n"),
        ("# T\n\n", "- a", ""),
        ("# T\n", "- a", "\n"),
        ("- a\n", "- b", ""),
        ("- a", "- b", "\n"),
        ("- a\n  more\n", "- b", ""),
        ("- a\n\n  a paragraph of it\n", "- b", ""),
        ("- a\n", "# Block", "\n"),
        ("- a", "# Block", "\n\n"),
        ("```\nx\n```\n", "- b", "\n"),
        ("words\n", "- b", "\n"),
        ("words\n\n", "- b", ""),
        ("* * *\n", "- b", "\n"),
        ("1. one\n", "- b", "\n"),
        ("---", "- b", "\n\n"),
    ],
)
def test_what_stands_before_a_new_entry(before: str, entry: str, between: str) -> None:
    assert format_lead_in(before, entry, title="T") == between


def test_a_title_is_one_line() -> None:
    assert format_lead_in("", "- a", title="a\nb\x00") == "# a b\ufffd\n\n"
    assert format_lead_in("", "- a", title="  ") == ""


FLUSHED = "# 2026-11-21\n\n- early\n\n## 12:00 Anna\n\n- from a talk\n"


@table_test(
    ("before", "entry", "between"),
    [
        (FLUSHED, "- a", "\n## 14:05\n\n"),
        (FLUSHED.rstrip("\n"), "- a", "\n\n## 14:05\n\n"),
        (f"{FLUSHED}\n### Deeper\n\n- b\n", "- a", "\n## 14:05\n\n"),
        (FLUSHED, "> quoted", "\n## 14:05\n\n"),
        (FLUSHED, "## Own heading\n\ntext", "\n"),
        (FLUSHED, "### Deeper heading\n\ntext", "\n## 14:05\n\n"),
        (f"{FLUSHED}\n## 13:00\n\n- later\n", "- a", ""),
        (f"{FLUSHED}\n## Ideas\n\n- by hand\n", "- a", ""),
        ("# 2026-11-21\n\n- early\n", "- a", ""),
        ("", "- a", "# T\n\n"),
    ],
)
def test_after_a_conversation_section_an_entry_gets_its_own_section(
    before: str, entry: str, between: str
) -> None:
    assert format_lead_in(before, entry, title="T", at="14:05") == between
    if "##" in between:
        assert format_lead_in(before, entry, title="T") in ("", "\n", "\n\n"), "a time is needed for it"
