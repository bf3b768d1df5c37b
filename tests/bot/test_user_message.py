"""What of an incoming message a model gets."""

from dataclasses import replace

import pytest

from bot.messages import Quoted
from bot.models.protocol import AttachedText, Image, UserMessage
from bot.user_message import user_message
from tests.fakes.turns import message

SAID = replace(message("Well?"), sender_name="Ann")
PICTURE = Image("image/png", b"x")
DOCUMENT = AttachedText("picture. It can't be opened.")


def test_a_message_keeps_what_it_quotes_forwards_and_brings() -> None:
    quoted = Quoted("The sky\nis blue.", "Bo")
    said = replace(SAID, quoted=quoted, forwarded_from="Cy")
    assert user_message(said, images=[PICTURE], documents=[DOCUMENT]) == UserMessage(
        "Well?", (PICTURE,), quoted=quoted, forwarded_from="Cy", documents=(DOCUMENT,)
    )


def test_only_in_a_room_it_says_who_speaks() -> None:
    assert user_message(SAID) == UserMessage("Well?")
    assert user_message(replace(SAID, in_room=True)) == UserMessage("Well?", speaker="Ann")


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_reply_to_a_message_without_words_quotes_nothing(text: str) -> None:
    assert user_message(replace(SAID, quoted=Quoted(text, "Bo"))).quoted is None
