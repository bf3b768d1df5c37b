"""Whatever a model writes: a cut changes nothing but white space, as Telegram's marks stand beside the text."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.telegram.markdown.messages import FORMAT
from tests.adapters.telegram.markdown.hard import hard_markdown
from tests.adapters.telegram.markdown.shown import assert_sendable, texts

pytestmark = pytest.mark.thorough

quick = settings(max_examples=25, deadline=timedelta(seconds=30), derandomize=True, database=None)


@quick
@given(hard_markdown, st.integers(8, 300))
def test_cuts_lose_nothing_but_white_space(markdown: str, limit: int) -> None:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    whole = "".join(texts(FORMAT.render(markdown, limit=10**6)))
    assert re.sub(r"\s", "", "".join(texts(messages))) == re.sub(r"\s", "", whole)
