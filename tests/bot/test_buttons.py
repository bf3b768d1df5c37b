"""What is offered as a button fits on one."""

from bot.buttons import MAX_COMMAND_BYTES, MAX_LABEL_CHARS, buttons_for, fits_on_button
from bot.messages import Choice


def test_a_line_that_does_not_fit_is_not_offered_and_a_label_is_cut() -> None:
    long = Choice("Let\n" + "x" * 100, "/pair " + "C" * 58)
    too_long = Choice("As guest", "/pair " + "C" * 59)
    (one,) = buttons_for([long, too_long])
    assert one.says == long.says
    assert (one.label[:5], one.label[-1], len(one.label)) == ("Let x", "…", MAX_LABEL_CHARS)


def test_bytes_count_and_a_second_line_fits_nowhere() -> None:
    assert fits_on_button("ü" * (MAX_COMMAND_BYTES // 2))
    assert not fits_on_button("ü" * (MAX_COMMAND_BYTES // 2) + "x")
    assert not fits_on_button("/model a\nb")
    assert fits_on_button("\ud800")
