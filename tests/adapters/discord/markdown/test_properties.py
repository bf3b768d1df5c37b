"""Whatever a model writes: Discord shows what was meant."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord.markdown.messages import FORMAT
from tests.adapters.discord.markdown.shown import content_of, contents, kinds_of, seen_texts

pytestmark = pytest.mark.thorough

quick = settings(max_examples=25, deadline=timedelta(seconds=30), derandomize=True, database=None)
literal = st.text(alphabet="ab_*~|`\\[]()<>#-1. \n:@&é重/", max_size=80)


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
