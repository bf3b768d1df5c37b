from bot.log.repeats import MOST_THINGS, REPEAT_SECONDS, Repeats


def test_the_same_is_told_once_a_minute_with_how_often_it_was_left_out() -> None:
    now = 0.0
    repeats = Repeats(clock=lambda: now)
    assert repeats.due("full") == ""
    assert [repeats.due("full") for _ in range(41)] == [None] * 41
    assert repeats.due("broken") == "", "something else is no repeat"
    now = REPEAT_SECONDS
    assert repeats.due("full") == " (41 more since the last line)"
    assert repeats.due("full") is None
    now = 2 * REPEAT_SECONDS
    assert repeats.due("broken") == "", "none was left out"


def test_things_that_all_differ_never_pile_up() -> None:
    repeats = Repeats(clock=lambda: 0.0)
    for number in range(10 * MOST_THINGS):
        assert repeats.due(number) == ""
    assert len(repeats._told) == MOST_THINGS
    assert repeats.due(10 * MOST_THINGS - 1) is None
