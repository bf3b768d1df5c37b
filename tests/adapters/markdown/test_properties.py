"""Whatever a model writes: the platform takes it, and no word of it is lost."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.markdown.platforms import Platform, assert_words_in_order, on_each_platform

pytestmark = pytest.mark.thorough

quick = settings(max_examples=25, deadline=timedelta(seconds=30), derandomize=True, database=None)
WORD = re.compile(r"[^\W_]+")
KEEPS_WORDS = 100
"""Least limit at which no word is cut in two, and no markup is lost."""


@on_each_platform
@quick
@given(st.data())
def test_no_word_of_hard_markdown_is_lost(platform: Platform, data: st.DataObject) -> None:
    markdown = data.draw(platform.hard_markdown)
    assert_words_in_order(markdown, platform.cut(markdown, platform.format.limit))


@on_each_platform
@quick
@given(st.data(), st.integers(2, 300))
def test_cuts_lose_no_word(platform: Platform, data: st.DataObject, limit: int) -> None:
    markdown = data.draw(platform.hard_markdown)
    shown = platform.cut(markdown, limit)
    if limit >= KEEPS_WORDS:
        assert_words_in_order(markdown, shown)


@on_each_platform
@quick
@given(st.text(max_size=400))
def test_no_word_of_any_text_is_lost(platform: Platform, text: str) -> None:
    shown = "".join(platform.cut(text, platform.format.limit))
    for word in WORD.findall(re.sub(r"[\x00-\x1f\x7f]", "", text)):
        assert word in shown


@on_each_platform
@quick
@given(st.data(), st.integers(0, 400))
def test_a_preview_can_always_be_sent(platform: Platform, data: st.DataObject, size: int) -> None:
    markdown = data.draw(platform.hard_markdown)[:size]
    platform.assert_sendable(platform.format.render_preview(markdown, limit=60), 60)


@on_each_platform
@settings(quick, max_examples=500)
@given(st.data(), st.integers(2, 300))
def test_no_word_of_much_hard_markdown_is_lost(platform: Platform, data: st.DataObject, limit: int) -> None:
    markdown = data.draw(platform.hard_markdown)
    platform.cut(markdown, limit)
    assert_words_in_order(markdown, platform.cut(markdown, platform.format.limit))
    platform.assert_sendable(platform.format.render_preview(markdown, limit=limit), limit)
