"""Which presses are one's own, and which only seem to be new."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.telegram import presses
from adapters.telegram.presses import AGAIN_SECONDS, Presses
from bot.messages import ChatId, IncomingMessage, PersonId

ROOM = ChatId("telegram", "-100/4")
ANNA, GUS = PersonId("telegram", "2"), PersonId("telegram", "3")
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ASKED = IncomingMessage("7", ROOM, ANNA, "/reminders", NOW, in_room=True)
PRESS = replace(ASKED, id="press-1", text="/reminders cancel 1", handle="8")


def test_a_message_belongs_to_whoever_it_answers() -> None:
    known = Presses()
    known.note_answer(-100, ASKED, ["8"])
    assert known.owner_of(PRESS) == ANNA
    assert not known.is_anothers(PRESS)
    assert known.is_anothers(replace(PRESS, sender=GUS))
    # Of an old message Telegram does not tell the topic.
    assert known.owner_of(replace(PRESS, chat=ChatId("telegram", "-100"))) == ANNA


def test_what_is_not_known_is_nobodys() -> None:
    known = Presses()
    known.note_answer(
        -100, replace(ASKED, sender=PersonId("telegram", "-100")), ["8"]
    )  # anonymously, as the group
    known.note_answer(2, replace(ASKED, in_room=False), ["8"])
    known.note_answer(-100, None, ["8"])
    assert known.owner_of(PRESS) is None
    assert not known.is_anothers(replace(PRESS, sender=GUS))


def test_the_same_button_within_seconds_is_the_same_press() -> None:
    clock = [0.0]
    known = Presses(now=lambda: clock[0])
    assert not known.is_again(PRESS)
    known.note_press(PRESS)
    second = replace(PRESS, id="press-2")
    assert known.is_again(second)
    assert not known.is_again(PRESS), "Telegram brings it once more"
    assert not known.is_again(replace(second, sender=GUS))
    assert not known.is_again(replace(second, text="/reminders cancel 2"))
    clock[0] = AGAIN_SECONDS
    assert not known.is_again(second)


def test_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presses, "MESSAGES_KEPT", 2)
    known = Presses()
    known.note_answer(-100, ASKED, ["8", "9", "10"])
    assert known.owner_of(PRESS) is None
    assert known.owner_of(replace(PRESS, handle="10")) == ANNA
