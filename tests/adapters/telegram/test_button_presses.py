"""Which presses are one's own, and which only seem to be new."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.telegram import button_presses
from adapters.telegram.button_presses import REPEATED_PRESS_SECONDS, ButtonPresses
from bot.messages import ChatId, IncomingMessage, PersonId

ROOM = ChatId("telegram", "-100/4")
ANNA, GUS = PersonId("telegram", "2"), PersonId("telegram", "3")
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ASKED = IncomingMessage("7", ROOM, ANNA, "/reminders", NOW, in_room=True)
PRESS = replace(ASKED, id="press-1", text="/reminders cancel 1", handle="8")


def test_a_message_belongs_to_whoever_it_answers() -> None:
    known = ButtonPresses()
    known.record_answer(-100, ASKED, ["8"])
    assert known.find_owner(PRESS) == ANNA
    assert not known.is_anothers(PRESS)
    assert known.is_anothers(replace(PRESS, sender=GUS))
    # Of an old message Telegram does not tell the topic.
    assert known.find_owner(replace(PRESS, chat=ChatId("telegram", "-100"))) == ANNA


def test_what_is_not_known_is_nobodys() -> None:
    known = ButtonPresses()
    known.record_answer(
        -100, replace(ASKED, sender=PersonId("telegram", "-100")), ["8"]
    )  # anonymously, as the group
    known.record_answer(2, replace(ASKED, in_room=False), ["8"])
    known.record_answer(-100, None, ["8"])
    assert known.find_owner(PRESS) is None
    assert not known.is_anothers(replace(PRESS, sender=GUS))


def test_the_same_button_within_seconds_is_the_same_press() -> None:
    clock = [0.0]
    known = ButtonPresses(now=lambda: clock[0])
    assert not known.is_repeated(PRESS)
    known.record_press(PRESS)
    second = replace(PRESS, id="press-2")
    assert known.is_repeated(second)
    assert not known.is_repeated(PRESS), "Telegram brings it once more"
    assert not known.is_repeated(replace(second, sender=GUS))
    assert not known.is_repeated(replace(second, text="/reminders cancel 2"))
    clock[0] = REPEATED_PRESS_SECONDS
    assert not known.is_repeated(second)


def test_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(button_presses, "MAX_MESSAGES", 2)
    known = ButtonPresses()
    known.record_answer(-100, ASKED, ["8", "9", "10"])
    assert known.find_owner(PRESS) is None
    assert known.find_owner(replace(PRESS, handle="10")) == ANNA
