from bot.log.throttle import MAX_TRACKED, REPEAT_SECONDS, Throttle


def test_the_same_is_told_once_a_minute_with_how_often_it_was_left_out() -> None:
    now = 0.0
    repeats = Throttle(clock=lambda: now)
    assert repeats.check("full") == ""
    assert [repeats.check("full") for _ in range(41)] == [None] * 41
    assert repeats.check("broken") == "", "something else is no repeat"
    now = REPEAT_SECONDS
    assert repeats.check("full") == " (41 more since the last line)"
    assert repeats.check("full") is None
    now = 2 * REPEAT_SECONDS
    assert repeats.check("broken") == "", "none was left out"


def test_things_that_all_differ_never_pile_up() -> None:
    repeats = Throttle(clock=lambda: 0.0)
    for number in range(10 * MAX_TRACKED):
        assert repeats.check(number) == ""
    assert len(repeats._logged) == MAX_TRACKED
    assert repeats.check(10 * MAX_TRACKED - 1) is None
