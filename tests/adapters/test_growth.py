"""Replies of any shape are rendered in a time that grows with their length, and no faster."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from adapters.discord.markdown import messages as discord
from adapters.telegram.markdown import messages as telegram
from adapters.terminal.rendering import show
from tests.adapters.markdown.shapes import QUICK, REPEATED, SHAPES
from tests.fakes.table_test import table_test
from tests.growth import QUICK_SIZES, Case, assert_grows_linearly, cases, nested, repeated


def shown_in_terminal(markdown: str) -> None:
    show(Console(file=io.StringIO(), force_terminal=True, width=80), markdown)


CHANNELS = (("Telegram", telegram.FORMAT.render), ("Discord", discord.FORMAT.render))
TERMINAL = (("the terminal", shown_in_terminal),)
GROWING = (
    ("Telegram, growing", telegram.FORMAT.render_preview),
    ("Discord, growing", discord.FORMAT.render_preview),
)
quick_shapes = {name: SHAPES[name] for name in QUICK}
pieces = st.lists(st.sampled_from(sorted(set(REPEATED.values()))), min_size=1, max_size=4).map("".join)


def name_of(case: Case) -> str:
    return case.name


@table_test("case", cases((*CHANNELS, *TERMINAL), {"mixed": SHAPES["mixed"]}))
def test_a_mixed_reply_four_times_as_long_takes_little_more_than_four_times_as_long(case: Case) -> None:
    assert_grows_linearly(case, QUICK_SIZES)


@pytest.mark.thorough
@pytest.mark.parametrize("case", cases((*CHANNELS, *TERMINAL), quick_shapes), ids=name_of)
def test_a_reply_four_times_as_long_takes_little_more_than_four_times_as_long(case: Case) -> None:
    assert_grows_linearly(case, QUICK_SIZES)


@pytest.mark.thorough
@pytest.mark.parametrize("case", [*cases(CHANNELS, SHAPES), *cases(GROWING, quick_shapes)], ids=name_of)
def test_a_very_long_reply_takes_no_longer_than_its_length_asks_for(case: Case) -> None:
    assert_grows_linearly(case)


@pytest.mark.thorough
@pytest.mark.parametrize("case", cases(TERMINAL, quick_shapes), ids=name_of)
def test_a_very_long_reply_is_shown_in_a_terminal_in_time(case: Case) -> None:
    assert_grows_linearly(case, (25_000, 100_000))


@pytest.mark.thorough
@settings(max_examples=60)
@given(pieces, pieces)
def test_no_mixture_of_shapes_grows_faster_than_its_length(one: str, other: str) -> None:
    for shape in (repeated(one), nested(one, other)):
        for name, call in CHANNELS:
            assert_grows_linearly(Case(f"{name}: {one!r} {other!r}", call, shape), (5_000, 20_000))
