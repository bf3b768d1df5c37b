"""Whatever a model writes: Discord takes it, shows what was meant, and no word of it is lost."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord.markdown.messages import FORMAT, TextMessage
from adapters.markdown.layout import FileMessage
from tests.adapters.discord.markdown.shown import assert_sendable, content_of, contents, kinds_of, seen_texts

pytestmark = pytest.mark.thorough

quick = settings(max_examples=25, deadline=timedelta(seconds=30), derandomize=True, database=None)
WORD = re.compile(r"[^\W_]+")
pieces = st.sampled_from(
    [
        *(
            "*",
            "**",
            "_",
            "__",
            "~~",
            "~",
            "||",
            "|",
            "`",
            "``",
            "```",
            "\\",
            "[",
            "]",
            "](",
            ")",
            "<",
            ">",
            "#",
        ),
        *(
            "https://a.org/x_y*",
            "https://b.org/_",
            "snake_case",
            "a:b:c",
            "👍",
            "`x_`",
            "`|| y`",
            "**b**",
            "*i*",
        ),
        *(
            "<u>",
            "</u>",
            "[l](https://a.org)",
            "[👍](https://a.org)",
            "@everyone",
            "<@123>",
            "<t:12:R>",
            "<:a:1>",
        ),
        *(
            "重",
            "。",
            " ",
            "\n",
            "\n\n",
            "- ",
            "  - ",
            "1. ",
            "3. ",
            "> ",
            "# ",
            "-# ",
            "    ",
            "- [x] ",
            "\n```py\n",
            "$x^2$",
        ),
    ]
)
words = st.integers(0, 10**6).map(lambda number: f"wörd{number}") | st.sampled_from(["重要", "שלום", "слово"])
hard_markdown = st.lists(pieces | words, max_size=30).map("".join)
literal = st.text(alphabet="ab_*~|`\\[]()<>#-1. \n:@&é重/", max_size=80)


def assert_words_in_order(source: str, messages: list[TextMessage | FileMessage]) -> None:
    shown = "\n".join(seen_texts(messages))
    source = re.sub(
        r"^[^\n]*(?:~{3,}|`{3,})[^\n]*$", "", source, flags=re.MULTILINE
    )  # languages are not text
    at = 0
    for word in re.findall("wörd[0-9]+|重要|שלום|слово", source):
        found = shown.find(word, at)
        assert found >= 0, (word, source, shown)
        at = found + len(word)


@quick
@given(hard_markdown)
def test_no_word_of_hard_markdown_is_lost(markdown: str) -> None:
    messages = FORMAT.render(markdown)
    assert_sendable(messages)
    assert_words_in_order(markdown, messages)


@quick
@given(hard_markdown, st.integers(2, 300))
def test_cuts_lose_nothing_but_white_space(markdown: str, limit: int) -> None:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    if limit >= 100:
        assert_words_in_order(markdown, messages)


@quick
@given(literal)
def test_text_in_a_code_fence_is_shown_to_the_letter(text: str) -> None:
    lines = text.strip().replace("\n\n", "\n")
    if lines:
        fence = "`" * 90
        assert kinds_of(content_of(f"{fence}py\n{lines}\n{fence}")) == [("code py", lines)]


@quick
@given(literal)
def test_escaped_text_is_shown_to_the_letter(text: str) -> None:
    line = " ".join(re.sub(r"[()\[\]]", "", text).split())  # what stands in escaped ones may be a formula
    escaped = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", line)
    messages = FORMAT.render(escaped)
    assert "".join(seen_texts(messages)).split() == line.split()
    assert [kinds for content in contents(messages) for kinds in kinds_of(content)] == []


@quick
@given(st.text(max_size=400))
def test_no_word_of_any_text_is_lost(text: str) -> None:
    messages = FORMAT.render(text)
    assert_sendable(messages)
    shown = "".join(seen_texts(messages))
    for word in WORD.findall(re.sub(r"[\x00-\x1f\x7f]", "", text)):
        assert word in shown


@quick
@given(hard_markdown, st.integers(0, 100))
def test_a_preview_can_always_be_sent(markdown: str, size: int) -> None:
    assert_sendable(FORMAT.render_preview(markdown[:size], limit=60), 60)


@pytest.mark.thorough
@settings(quick, max_examples=500)
@given(hard_markdown, st.integers(2, 300))
def test_no_word_of_much_hard_markdown_is_lost(markdown: str, limit: int) -> None:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    assert_words_in_order(markdown, FORMAT.render(markdown))
    assert_sendable(FORMAT.render_preview(markdown, limit=limit), limit)
