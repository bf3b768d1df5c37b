"""The keys of one model, as each attempt with one of them fails."""

from bot.models.candidate import Route
from bot.models.health import RouteName
from bot.models.key_rotation import KeyRotation
from bot.models.notebook.model import Notebook
from bot.models.retry import NextStep, RetryDecision

FIRST, SECOND, THIRD = (Route(Notebook("a/model"), RouteName("a/model", key)) for key in "123")
NOW = 1_000.0


def rotation() -> KeyRotation:
    return KeyRotation([FIRST, SECOND, THIRD])


def test_keys_come_in_order_without_a_wait() -> None:
    keys = rotation()
    assert keys.take_next(NOW) == (FIRST, 0.0)
    keys.apply(RetryDecision(NextStep.OTHER_KEY), FIRST, NOW)
    assert keys.take_next(NOW) == (SECOND, 0.0)
    keys.apply(RetryDecision(NextStep.OTHER_KEY), SECOND, NOW)
    assert keys.take_next(NOW) == (THIRD, 0.0)
    assert not keys.is_exhausted
    keys.apply(RetryDecision(NextStep.OTHER_KEY), THIRD, NOW)
    assert keys.is_exhausted


def test_any_key_is_the_one_that_is_ready_first() -> None:
    keys = rotation()
    for route, wait in ((FIRST, 5.0), (SECOND, 3.0), (THIRD, 4.0)):
        assert keys.take_next(NOW) == (route, 0.0)
        keys.apply(RetryDecision(NextStep.ANY_KEY, wait), route, NOW)
    assert keys.take_next(NOW + 1) == (SECOND, 2.0)


def test_a_key_whose_wait_is_over_comes_after_those_that_have_not_been_tried() -> None:
    keys = rotation()
    keys.take_next(NOW)
    keys.apply(RetryDecision(NextStep.ANY_KEY, 1.0), FIRST, NOW)
    assert keys.take_next(NOW + 2) == (SECOND, 0.0)


def test_the_same_key_alone_stays() -> None:
    keys = rotation()
    keys.take_next(NOW)
    keys.apply(RetryDecision(NextStep.SAME_KEY, 2.0), FIRST, NOW)
    assert keys.take_next(NOW + 0.5) == (FIRST, 1.5)
    assert (keys.tries(FIRST), keys.tries(SECOND)) == (2, 0)
    keys.apply(RetryDecision(NextStep.OTHER_KEY), FIRST, NOW)
    assert keys.is_exhausted


def test_another_model_leaves_no_key() -> None:
    keys = rotation()
    keys.take_next(NOW)
    keys.apply(RetryDecision(NextStep.OTHER_MODEL), FIRST, NOW)
    assert keys.is_exhausted
