"""Whatever a model writes: Telegram takes it, and no word of it is lost."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markdown.layout import FileMessage
from adapters.telegram.markdown.messages import FORMAT, TextMessage
from tests.adapters.telegram.markdown.shown import assert_sendable, texts

pytestmark = pytest.mark.thorough

quick = settings(max_examples=25, deadline=timedelta(seconds=30), derandomize=True, database=None)
WORD = re.compile(r"[^\W_]+")
# Words that no markup takes for itself: not in a link's address, not the name of a tag, a language or an entity.
words = st.integers(0, 10**6).map(lambda number: f"wörd{number}") | st.sampled_from(["重要", "שלום", "слово"])
inline = st.recursive(
    words
    | st.sampled_from(
        ["「", "」", "。", "😀", "👨‍👩‍👧", "vector<", ">", "<b>", "&", "$", "||", "2*3", "\\", "[", "]("]
    ),
    lambda inner: st.builds(
        lambda mark, parts: mark[0] + "".join(parts) + mark[1],
        st.sampled_from(
            [
                *(("**", "**"), ("*", "*"), ("_", "_"), ("~~", "~~"), ("`", "`"), ("||", "||"), ("$", "$")),
                *(
                    ("<u>", "</u>"),
                    ("[", "](https://a.org)"),
                    ("[", "](tg://user?id=1)"),
                    ("``````", "``````"),
                ),
                *(("", " "), (" ", "\n")),
            ]
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=8,
)
line = st.builds(lambda parts: "".join(parts), st.lists(inline, max_size=4))
lead = st.sampled_from(
    [
        "",
        "# ",
        "- ",
        "  - ",
        "    ",
        "1. ",
        "> ",
        "> > ",
        "- [x] ",
        "```\n",
        "~~~\n",
        "|",
        "[^1]: ",
        "<div>",
        "***\n",
        "$$",
    ]
)
block = st.builds(
    lambda lead, text, end: lead + text + end, lead, line, st.sampled_from(["\n", "\n\n", "|\n|-|\n"])
)
hard_markdown = st.lists(block, max_size=8).map("".join)


def assert_words_in_order(source: str, messages: list[TextMessage | FileMessage]) -> None:
    shown = "\n".join(texts(messages))
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
@given(hard_markdown, st.integers(8, 300))
def test_cuts_lose_nothing_but_white_space(markdown: str, limit: int) -> None:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    whole = "".join(texts(FORMAT.render(markdown, limit=10**6)))
    assert re.sub(r"\s", "", "".join(texts(messages))) == re.sub(r"\s", "", whole)


@quick
@given(st.text(max_size=400))
def test_no_word_of_any_text_is_lost(text: str) -> None:
    messages = FORMAT.render(text)
    assert_sendable(messages)
    shown = "".join(texts(messages))
    for word in WORD.findall(re.sub(r"[\x00-\x1f\x7f]", "", text)):
        assert word in shown


@quick
@given(hard_markdown, st.integers(0, 400))
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
