from discord.ui import Button

from adapters.discord.buttons import LABEL_CHARS, MAX_BUTTONS, make_buttons
from bot.messages import Choice


async def test_what_a_button_says_is_its_custom_id() -> None:
    view = make_buttons([Choice("Let in", "/pair ABCD"), Choice("Block", "/deny discord:7")])
    assert view is not None
    shown = [(button.label, button.custom_id) for button in view.children if isinstance(button, Button)]
    assert shown == [("Let in", "/pair ABCD"), ("Block", "/deny discord:7")]
    assert view.is_finished(), "the library would keep it for ever"


async def test_no_choices_are_no_buttons() -> None:
    assert make_buttons([]) is None
    assert make_buttons([Choice(" ", "/help"), Choice("x", "/" + "y" * 100)]) is None


async def test_more_than_fit_or_twice_the_same_would_have_the_message_refused() -> None:
    choices = [Choice("a" * 100, f"/model {number // 2}") for number in range(100)]
    view = make_buttons(choices)
    assert view is not None
    buttons = [button for button in view.children if isinstance(button, Button)]
    assert len({button.custom_id for button in buttons}) == len(buttons) == MAX_BUTTONS
    assert {len(button.label or "") for button in buttons} == {LABEL_CHARS}
    assert [len(row["components"]) for row in view.to_components()] == [5] * 5
