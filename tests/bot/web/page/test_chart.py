from hypothesis import given
from hypothesis import strategies as st

from bot.state.model_history import HOUR_SECONDS, ModelHour
from bot.web.page.chart import DOWN, HEIGHT, HOURS, MIN_HEIGHT, UP, WIDTH, draw_charts, first_hour

NOW = 500_000 * HOUR_SECONDS + 1800.0


def hour(ago: int, calls: int, failures: int = 0, mean: float = 1.0, slowest: float = 2.0) -> ModelHour:
    start = (NOW // HOUR_SECONDS - ago) * HOUR_SECONDS
    return ModelHour(start, "openai/gpt", calls, failures, mean, slowest)


def test_hours_stand_in_their_places_the_latest_at_the_end() -> None:
    charts = draw_charts([hour(23, 4), hour(0, 2)], now=NOW)
    assert [bar.x for bar in charts.bars] == [1, 231]
    assert [bar.up for bar in charts.bars] == [UP, UP / 2]


def test_what_is_older_than_a_day_does_not_count() -> None:
    charts = draw_charts([hour(24, 100, 100), hour(1, 3, 1)], now=NOW)
    assert (charts.calls, charts.failures) == (3, 1)
    assert first_hour(NOW) == NOW - 1800 - 23 * HOUR_SECONDS


def test_failures_hang_below_the_line_and_have_room_there() -> None:
    (bar,) = draw_charts([hour(3, 10, 10, mean=0, slowest=0)], now=NOW).bars
    assert (bar.up, bar.down) == (0, DOWN)


def test_one_failure_among_many_calls_can_be_seen() -> None:
    (bar,) = draw_charts([hour(3, 1000, 1)], now=NOW).bars
    assert bar.down == MIN_HEIGHT


def test_the_line_is_broken_where_an_hour_has_no_answer() -> None:
    charts = draw_charts([hour(9, 1), hour(8, 1), hour(6, 1), hour(4, 1), hour(3, 1), hour(2, 1)], now=NOW)
    assert [len(line.split(" ")) for line in charts.lines] == [2, 3]
    assert len(charts.waits) == 6


def test_the_mean_of_a_day_is_that_of_all_answers() -> None:
    charts = draw_charts([hour(5, 9, mean=1.0), hour(4, 2, 1, mean=11.0, slowest=12.0)], now=NOW)
    assert charts.mean_seconds == 2.0
    assert charts.slowest_seconds == 12.0
    assert charts.answered == 10 / 11


def test_without_calls_there_is_nothing_to_draw() -> None:
    charts = draw_charts([], now=NOW)
    assert (charts.bars, charts.waits, charts.lines, charts.calls, charts.answered) == ((), (), (), 0, 0.0)


@given(
    st.lists(
        st.builds(
            lambda ago, answered, failures, mean, more: hour(
                ago, answered + failures, failures, mean, mean + more
            ),
            st.integers(-2, 40),
            st.integers(0, 10**6),
            st.integers(0, 10**6),
            st.floats(0, 1e6),
            st.floats(0, 1e6),
        ),
        unique_by=lambda each: each.start,
        max_size=HOURS,
    )
)
def test_all_of_it_lies_within_the_drawing(hours: list[ModelHour]) -> None:
    charts = draw_charts(hours, now=NOW)
    assert all(0 <= bar.x < WIDTH and 0 <= bar.up <= UP and 0 <= bar.down <= DOWN for bar in charts.bars)
    assert all(0 <= wait.longest <= wait.mean <= HEIGHT for wait in charts.waits)
