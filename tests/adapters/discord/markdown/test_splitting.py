"""Where a long reply is cut into messages of Discord."""

import re
from pathlib import Path

import pytest
from wcwidth import iter_graphemes

from adapters.discord.markdown.messages import FORMAT
from adapters.markdown.blocks import BlockCache
from tests.adapters.discord.markdown.shown import assert_sendable, contents, kinds_of, seen_text, seen_texts
from tests.fakes.table_test import table_test

HARD = (Path(__file__).parents[2] / "markdown/hard.md").read_text(encoding="utf-8")


def cut(markdown: str, limit: int) -> list[str]:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    return contents(messages)


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_paragraphs_come_before_lines_and_lines_before_sentences_and_those_before_words() -> None:
    assert cut("one two\n\nthree\nfour", 18) == ["one two", "three\nfour"]
    assert cut("one. two\nthree four", 20) == ["one. two", "three four"]
    assert cut("one two. three four", 19) == ["one two.", "three four"]
    assert cut("one two three", 14) == ["one two", "three"]


def test_the_punctuation_of_chinese_is_a_place_to_cut() -> None:
    assert cut("先停下所有的程序，再复制文件", 16) == ["先停下所有的程序，", "再复制文件"]


def test_the_limit_counts_code_points() -> None:
    first, second = cut("😀" * 2500, 2000)
    assert 1990 <= len(first) <= 2000
    assert first + second == "😀" * 2500
    assert cut("😀" * 1990, 2000) == ["😀" * 1990]


@table_test("grapheme", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é", "Z̸̧", "각", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_no_character_that_people_see_is_cut_in_two(grapheme: str) -> None:
    for limit in (16, 17, 18, 19, 33):
        whole = list(iter_graphemes(grapheme * 40))
        assert [each for part in cut(grapheme * 40, limit) for each in iter_graphemes(part)] == whole


def test_markup_over_a_cut_is_closed_and_opened_again() -> None:
    words = " ".join(["word"] * 30)
    for markdown, kind in (
        (f"**{words}**", "bold"),
        (f"||{words}||", "spoiler"),
        (f"> {words}", "quote"),
        (f"# {words}", "heading 1"),
        (f"[{words}](https://a.org)", "https://a.org"),
    ):
        parts = cut(markdown, 100)
        assert len(parts) > 1
        for part in parts:
            ((found, _),) = kinds_of(part)
            assert found == kind
        assert " ".join(map(seen_text, parts)) == words


@table_test("fence", ["```", "~~~", "````````", "> ```", "- ```"])
def test_code_over_a_cut_is_opened_again_with_its_language(fence: str) -> None:
    lead = "> " if fence[0] == ">" else "  " if fence[0] == "-" else ""
    lines = [f"    line {number}" for number in range(12)]
    markdown = "\n".join(
        [f'{fence}python title="x.py"', *(lead + line for line in lines), lead + fence.strip("->" + " ")]
    )
    parts = [part for part in cut(markdown, 100) if part != "•"]
    assert len(parts) > 1
    assert all(part.replace("> ", "").removeprefix("•\n").startswith("```python\n") for part in parts)
    assert all(part.endswith("```") for part in parts)
    shown = "\n".join(seen_text(part).removeprefix("•\n").rstrip("\n") for part in parts)
    assert shown.split("\n") == lines


def test_code_that_fits_into_one_message_stays_whole_and_keeps_its_heading() -> None:
    code = "\n".join(["x = 1"] * 10)
    assert cut(f"Some words.\n\n## Head\n\n```\n{code}\n```\n\nAfter", 92) == [
        "Some words.",
        f"## Head\n\n```\n{code}\n```\n\nAfter",
    ]


def test_a_list_that_begins_within_a_part_keeps_its_numbers() -> None:
    (_, second) = cut("1. one two three\n2. two\n   - nested here\n3. three", 34)
    assert seen_text(second) == "[-]nested here\n\n[3.]three\n"


@pytest.mark.thorough
def test_room_is_counted_for_what_is_put_in() -> None:
    for text in (
        "a" + "*" * 3000,
        "a" + "`" * 3000,
        "a_ " * 1500,
        "> x\n" * 900,
        "- \\# a\n" * 600,
        "**a** *b* " * 500,
    ):
        for limit in (100, 2000):
            parts = cut(text, limit)
            assert sum(map(len, parts)) > len(parts) * limit * 0.4


def test_blank_lines_within_code_are_kept_and_blank_messages_are_not_sent() -> None:
    assert cut("```\na\n\n\nb\n```", 2000) == ["```\na\n\n\nb\n```"]
    assert squeezed("".join(map(seen_text, cut("```\na" + "\n" * 160 + "b\n```", 100)))) == "ab"


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [2000, 1000, 300, 100])
def test_twelve_thousand_characters_of_hard_markdown_arrive_whole(
    limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(HARD) >= 12_000
    caplog.set_level("INFO")
    messages = FORMAT.render(HARD, limit=limit)
    assert_sendable(messages, limit)
    assert not caplog.records  # nothing had to be shown as plain text
    shown = "\n".join(seen_texts(messages))
    at = 0
    for part in seen_texts(FORMAT.render(HARD, limit=10**6)):
        for word in re.findall(r"[^\W_]+", part):
            found = shown.find(word, at) if len(word) < 60 else at
            assert found >= 0, (word, shown[at - 60 : at])
            at = found


@pytest.mark.parametrize("step", [599, pytest.param(173, marks=pytest.mark.thorough)])
def test_messages_that_are_complete_stay_as_they_are_while_the_reply_grows(step: int) -> None:
    known: BlockCache = {}
    before = FORMAT.render_preview("")
    for size in range(0, len(HARD), step):
        now = FORMAT.render_preview(HARD[:size], known=known)
        assert now[: len(before) - 1] == before[:-1]
        before = now
    final = FORMAT.render(HARD)
    assert final[: len(before) - 1] == before[:-1]


def test_growing_code_never_changes_what_stands_before_it() -> None:
    lines = [f"    call({number})" for number in range(80)]
    for words in (3, 9, 15):
        begun = "word " * words + "\n\n## Head\n\n```python\n"
        before = FORMAT.render_preview(begun, limit=110)
        for size in range(0, len(lines), 2):
            grown = begun + "\n".join(lines[:size])
            now = FORMAT.render_preview(grown, limit=110)
            assert now[: len(before) - 1] == before[:-1]
            final = FORMAT.render(grown + "\n```\n", limit=110)
            assert final[: len(now) - 1] == now[:-1]
            before = now
