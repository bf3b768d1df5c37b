"""What is offered as a button fits on one."""

from bot.choices import LABEL_CHARS, SAYS_BYTES, fits, offered
from bot.messages import Choice


def test_a_line_that_does_not_fit_is_not_offered_and_a_label_is_cut() -> None:
    long = Choice("Let\n" + "x" * 100, "/pair " + "C" * 58)
    too_long = Choice("As guest", "/pair " + "C" * 59)
    (one,) = offered([long, too_long])
    assert one.says == long.says
    assert (one.label[:5], one.label[-1], len(one.label)) == ("Let x", "…", LABEL_CHARS)


def test_bytes_count_and_a_second_line_fits_nowhere() -> None:
    assert fits("ü" * (SAYS_BYTES // 2))
    assert not fits("ü" * (SAYS_BYTES // 2) + "x")
    assert not fits("/model a\nb")
    assert fits("\ud800")
