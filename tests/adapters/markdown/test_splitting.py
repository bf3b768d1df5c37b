"""Where a long reply is cut into messages, on every platform."""

import re

import pytest
from wcwidth import iter_graphemes

from adapters.markdown.blocks import BlockCache
from tests.adapters.markdown.platforms import HARD, Platform, on_each_platform

pytestmark = on_each_platform

CODE_LIMIT = 110
"""Characters with room for a fence."""


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("one two\n\nthree\nfour", 14, ["one two", "three\nfour"]),
        ("one. two\nthree four", 14, ["one. two", "three four"]),
        ("one two. three four", 15, ["one two.", "three four"]),
        ("one two three", 9, ["one two", "three"]),
        ("onetwothree", 5, ["onetw", "othre", "e"]),
        ("先停下所有的程序。再复制文件，然后检查", 12, ["先停下所有的程序。", "再复制文件，然后检查"]),
        ("先停下所有的程序，再复制文件", 12, ["先停下所有的程序，", "再复制文件"]),
        ("文字文字。\u0301文字", 6, ["文字文字。\u0301", "文字"]),
    ],
)
def test_the_best_place_to_cut_is_chosen(platform: Platform, text: str, limit: int, parts: list[str]) -> None:
    """Paragraphs before lines, lines before sentences, sentences before words; no character from its mark."""
    assert platform.cut(text, limit + platform.slack) == parts


@pytest.mark.parametrize("grapheme", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é", "Z̸̧", "ज़ि", "각", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_no_character_that_people_see_is_cut_in_two(platform: Platform, grapheme: str) -> None:
    for limit in (16, 17, 18, 19, 33):
        whole = list(iter_graphemes(grapheme * 40))
        parts = platform.cut(grapheme * 40, limit)
        assert [each for part in parts for each in iter_graphemes(part)] == whole


def test_a_heading_stays_with_what_follows(platform: Platform) -> None:
    first, second = platform.cut("one two three four\n\n## Head\n\nfive six seven eight", 33)
    assert first == "one two three four"
    assert second.startswith("Head")
    assert second.endswith("five six seven eight")


def test_blank_lines_within_code_are_kept_and_blank_messages_are_not_sent(platform: Platform) -> None:
    assert platform.cut("```\na\n\n\nb\n```", platform.format.limit) == ["a\n\n\nb"]
    parts = platform.cut("```\na" + "\n" * 160 + "b\n```", 100)
    assert re.sub(r"\s", "", "".join(parts)) == "ab"


@pytest.mark.parametrize("step", [599, pytest.param(173, marks=pytest.mark.thorough)])
def test_messages_that_are_complete_stay_as_they_are_while_the_reply_grows(
    platform: Platform, step: int
) -> None:
    known: BlockCache = {}
    before = platform.format.render_preview("")
    for size in range(0, len(HARD), step):
        now = platform.format.render_preview(HARD[:size], known=known)
        assert now[: len(before) - 1] == before[:-1]
        before = now
    final = platform.format.render(HARD)
    assert final[: len(before) - 1] == before[:-1]


def test_growing_code_never_changes_what_stands_before_it(platform: Platform) -> None:
    lines = [f"    call({number})" for number in range(80)]
    for words in (3, 9, 15):
        begun = "word " * words + "\n\n## Head\n\n```python\n"
        before = platform.format.render_preview(begun, limit=CODE_LIMIT)
        for size in range(0, len(lines), 2):
            grown = begun + "\n".join(lines[:size])
            now = platform.format.render_preview(grown, limit=CODE_LIMIT)
            assert now[: len(before) - 1] == before[:-1]
            final = platform.format.render(grown + "\n```\n", limit=CODE_LIMIT)
            assert final[: len(now) - 1] == now[:-1]
            before = now


@pytest.mark.thorough
def test_a_reply_that_grows_looks_the_same_with_and_without_what_is_known_of_it(platform: Platform) -> None:
    known: BlockCache = {}
    for size in range(0, len(HARD), 997):
        preview = platform.format.render_preview(HARD[:size])
        assert platform.format.render_preview(HARD[:size], known=known) == preview


def test_what_is_known_of_a_list_is_not_taken_for_one_that_is_pushed_in(platform: Platform) -> None:
    known: BlockCache = {}
    for markdown in ("- a\n  - b\n", " - a\n  - b\n", "text\n", "    text\n"):
        assert platform.format.render(markdown, known=known) == platform.format.render(markdown)
