"""Where a long reply is cut into messages of Discord."""

import re
from pathlib import Path

import pytest

from adapters.discord.markdown.messages import FORMAT
from tests.adapters.discord.markdown.shown import assert_sendable, contents, kinds_of, seen_text, seen_texts
from tests.fakes.table_test import table_test

HARD = (Path(__file__).parents[2] / "markdown/hard.md").read_text(encoding="utf-8")


def cut(markdown: str, limit: int) -> list[str]:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    return contents(messages)


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_the_limit_counts_code_points() -> None:
    first, second = cut("😀" * 2500, 2000)
    assert 1990 <= len(first) <= 2000
    assert first + second == "😀" * 2500
    assert cut("😀" * 1990, 2000) == ["😀" * 1990]


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
