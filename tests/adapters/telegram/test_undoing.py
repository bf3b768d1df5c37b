"""A change of the notes over Telegram: noted by the model, listed, explained, undone and redone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.telegram.life import Life, life
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi

NOTE = "memory/2026-11-21.md"
NOTED = "# 2026-11-21\n\n- The key is under the mat.\n"


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(webhook_pause=0.02) as api:
        api.bot.inbox.conflict_pause = 0.02
        yield api


async def ask(person: Person, text: str) -> str:
    """Say something, and return the answer's text."""
    return (await person.chat.answer(await person.say(text))).text


async def have_key_noted(here: Life, person: Person) -> None:
    here.model.enqueue(calls=[("memory_write", {"content": "The key is under the mat.", "target": "daily"})])
    here.model.enqueue("Noted.")
    assert await ask(person, "Please remember where the key is: under the mat") == "Noted."


async def test_what_the_model_noted_is_listed_explained_taken_back_and_done_again(
    api: BotApi, tmp_path: Path
) -> None:
    anna = api.person(2, "Anna")
    async with life(api, tmp_path) as here:
        await have_key_noted(here, anna)
        assert (tmp_path / NOTE).read_text() == NOTED
        assert "#1 12:00, you, 2026-11-21.md: added “The key is under the mat.”" in await ask(
            anna, "/changes"
        )
        told = await ask(anna, "/why 2026-11-21:3")
        assert "It comes from your message in this chat, today at 12:00:" in told
        assert "Please remember where the key is: under the mat" in told
        answer = await anna.chat.answer(await anna.say("/undo"))
        assert answer.text.startswith("Undid change 1 in 2026-11-21.md.")
        assert not (tmp_path / NOTE).exists()
        await anna.press(answer, "Redo")
        await anna.chat.watch(lambda: (tmp_path / NOTE).exists(), what="the note")
        await here.house.wait_until_idle()
        assert (tmp_path / NOTE).read_text() == NOTED
        assert "redid #1: added “The key is under the mat.”" in await ask(anna, "/changes")
        assert [call for call in api.refusals if call.method != "setMyCommands"] == []


async def test_an_owner_reads_who_wrote_a_line_by_name_but_not_in_which_words(
    api: BotApi, tmp_path: Path
) -> None:
    olga, anna = api.person(1, "Olga"), api.person(2, "Anna")
    async with life(api, tmp_path) as here:
        await have_key_noted(here, anna)
        told = await ask(olga, "/why 2026-11-21:3")
        assert "It comes from Anna's message in a private chat on Telegram, today at 12:00." in told
        assert "Please remember" not in told
        assert "#1 12:00, Anna, 2026-11-21.md" in await ask(olga, "/changes")
        assert (await ask(olga, "/undo")).startswith("You have no change of your own to undo.")
        assert (await ask(olga, "/undo 1")).startswith("Undid change 1 in 2026-11-21.md, made by Anna.")
