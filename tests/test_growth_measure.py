"""What the measure of growth lets through, and what it does not."""

import pytest

from tests.growth import Case, assert_grows_linearly, repeated


def quadratic(text: str) -> int:
    return sum(text.count("b") for _ in range(len(text) // 8))


def linear(text: str) -> int:
    return sum(char == "b" for char in text * 20)


def test_twice_the_time_for_twice_the_input_is_let_through() -> None:
    assert len(assert_grows_linearly(Case("linear", linear, repeated("a")), (10_000, 20_000, 40_000))) == 3


def test_four_times_the_time_is_not() -> None:
    with pytest.raises(AssertionError, match=r"quadratic: [\d,]+ characters took"):
        assert_grows_linearly(Case("quadratic", quadratic, repeated("a")), (20_000, 40_000, 80_000))
