"""A reply that claims what no tool has done gets a line that says so; one that tells the truth does not."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot import phrases
from tests.fakes.harness import Harness, open_harness

STATES = "My sister's name is Ada"
CLAIMS = "Lovely! I've saved that to your notes."
LOG = "2026-11-21.md"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as opened:
        yield opened


async def answer(house: Harness, reply: str, said: str = STATES, *, guest: bool = False) -> str:
    """Return what the person sees below the model's reply."""
    house.model.enqueue(reply)
    shown = await house.say(said, chat="telegram:3", sender="telegram:3") if guest else await house.say(said)
    assert shown.startswith(reply)
    return shown[len(reply) :].strip()


async def test_a_claim_without_a_write_is_denied(house: Harness) -> None:
    assert await answer(house, CLAIMS) == phrases.NOT_REALLY_NOTED
    assert await answer(house, "I've deleted that note.", "Delete it") == phrases.NOT_REALLY_CHANGED
    assert await answer(house, "I've set a reminder for 5 pm.", "call Tom") == phrases.NOT_REALLY_REMINDED
    assert (await house.history())[-1] == "I've set a reminder for 5 pm.", "the line is not the model's"


async def test_a_claim_after_a_write_is_not(house: Harness) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": STATES, "target": "daily"})])
    assert await answer(house, CLAIMS) == ""
    house.model.enqueue(calls=[("remind", {"when": "tomorrow 9:00", "text": "call Tom"})])
    assert await answer(house, "I've set a reminder.", "Remind me tomorrow at 9 to call Tom") == ""


async def test_a_write_that_failed_makes_no_claim_true(house: Harness) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": " ", "target": "daily"})])
    assert await answer(house, CLAIMS) == phrases.NOT_REALLY_NOTED


async def test_a_write_does_not_set_a_reminder(house: Harness) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": STATES, "target": "daily"})])
    told = await answer(house, f"{CLAIMS} I've set a reminder for tomorrow.")
    assert told == phrases.NOT_REALLY_REMINDED


async def test_a_claim_to_have_noted_what_was_asked_for_is_made_true(house: Harness) -> None:
    told = await answer(house, CLAIMS, f"Remember that {STATES}")
    assert told == phrases.REMEMBERED.format(place=f"{LOG}:3")


async def test_a_claim_to_have_noted_what_a_note_says_already_is_true(house: Harness) -> None:
    await house.memory.write(STATES)
    told = await answer(house, CLAIMS, f"Remember that {STATES}")
    assert told == phrases.ALREADY_NOTED.format(place=f"{LOG}:3")


async def test_an_answer_to_a_question_may_mean_an_earlier_write(house: Harness) -> None:
    assert await answer(house, "Yes, I've saved that.", "Did you save that?") == phrases.NOT_REALLY_NOTED
    await answer(house, "I see.", f"Remember that {STATES}")
    assert await answer(house, "Yes, I've saved that.", "Did you save that?") == ""
    told = await answer(house, CLAIMS, "Tom has got the spare key.")
    assert told == phrases.NOT_REALLY_NOTED, "this is something new"


@pytest.mark.parametrize(
    ("order", "reply"),
    [
        ("Delete the note about my sister please", "I've deleted the note about your sister."),
        ("Remove the last note", "I have removed that note."),
        ("Lösch die Notiz über meine Schwester", "Ich habe die Notiz gelöscht."),
        ("Supprime la note sur ma sœur", "J'ai supprimé la note."),
        ("删除关于我妹妹的笔记", "我已经删除了那条笔记。"),
        ("Удали заметку про сестру", "Я удалил заметку."),
    ],
)
async def test_an_earlier_write_is_not_what_was_ordered_now(house: Harness, order: str, reply: str) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": STATES, "target": "daily"})])
    assert await answer(house, CLAIMS) == ""
    assert await answer(house, reply, order) == phrases.NOT_REALLY_CHANGED


async def test_without_the_memory_no_command_is_named(house: Harness) -> None:
    assert await answer(house, CLAIMS, guest=True) == phrases.NOT_REALLY_NOTED_HERE


async def test_noted_claims_something_only_where_that_was_asked_for(house: Harness) -> None:
    assert (
        await answer(house, "Noted!", f"Remember that {STATES}", guest=True) == phrases.NOT_REALLY_NOTED_HERE
    )
    assert await answer(house, "Noted!", guest=True) == ""
    assert await answer(house, "Noted!") == ""


async def test_retry_of_a_true_claim_is_true(house: Harness) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": STATES, "target": "daily"})])
    await answer(house, CLAIMS)
    assert await answer(house, CLAIMS, "/retry") == ""
