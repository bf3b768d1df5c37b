"""Each person is spoken to in their language: in answers, reminders and notices, and many at once."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot import phrases
from bot.config.settings import AgentSettings
from bot.language.current import current_language, speaking
from bot.language.people import PeopleLanguages
from bot.messages import ChatId
from bot.models.protocol import ToolResult
from bot.state.database import State
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.harness import Harness, open_harness
from tests.fakes.scripted_model import shown_text
from tests.fakes.turns import NOW, message

ANNA, BEN = "telegram:1", "telegram:2"
"""An owner and somebody who may talk, and their private chats."""


def in_language(language: str, name: str) -> str:
    with speaking(language):
        return str(getattr(phrases, name))


async def say(house: Harness, text: str, person: str, *, language: str = "") -> str:
    return await house.say(text, chat=person, sender=person, language=language)


def notices(house: Harness) -> list[str]:
    return [parts[-1].text for key, parts in house.telegram.shown if key.startswith("notice-")]


async def test_an_answer_is_in_the_language_of_the_app(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        assert await say(house, "/stop", ANNA) == "There is nothing to stop right now."
        assert await say(house, "/stop", ANNA, language="de-AT") == in_language("de", "NOTHING_RUNS")
        assert await say(house, "/stop", BEN, language="zh-hans") == in_language("zh_Hans", "NOTHING_RUNS")
        # What comes without a code, such as a press, is answered as before.
        assert await say(house, "/stop", ANNA) == in_language("de", "NOTHING_RUNS")
        assert await say(house, "/stop", ANNA, language="fr") == in_language("en", "NOTHING_RUNS")
    assert current_language() == "en"


async def test_it_is_remembered_after_a_restart(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        await say(house, "/stop", ANNA, language="de")
        await say(house, "/language zh", BEN, language="de")
    async with open_harness(tmp_path) as house:
        assert await say(house, "/stop", ANNA) == in_language("de", "NOTHING_RUNS")
        assert await say(house, "/stop", BEN, language="de") == in_language("zh_Hans", "NOTHING_RUNS")


async def test_a_choice_wins_over_the_setting_and_the_setting_over_the_app(tmp_path: Path) -> None:
    async with open_harness(tmp_path, language="zh") as house:
        assert await say(house, "/stop", ANNA, language="de") == in_language("zh_Hans", "NOTHING_RUNS")
        told = await say(house, "/language de", ANNA, language="fr")
        assert told.startswith("Ab jetzt spreche ich mit dir Deutsch.")
        assert await say(house, "/stop", ANNA, language="fr") == in_language("de", "NOTHING_RUNS")
        assert await say(house, "/stop", BEN) == in_language("zh_Hans", "NOTHING_RUNS"), "for nobody else"
        assert (await say(house, "/language AUTO", ANNA)).endswith("我用简体中文和你交流。")
        assert await say(house, "/stop", ANNA) == in_language("zh_Hans", "NOTHING_RUNS")


async def test_language_tells_what_is_spoken_and_what_else_there_is(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        told = await say(house, "/language", ANNA)
        assert told.startswith("I speak English with you.\n\n")
        assert "Deutsch (`de`)" in told
        assert "简体中文 (`zh_Hans`)" in told
        assert "I don't speak `tlh`." in await say(house, "/language tlh", ANNA)
        await say(house, "/language de-CH", ANNA)
        assert "wie du es gewählt hast" in await say(house, "/language", ANNA)
        assert "`tlh` spreche ich nicht" in await say(house, "/language tlh", ANNA)
        assert "/language [CODE]" in await say(house, "/help", ANNA)
        assert "sagt, welche Sprache" in await say(house, "/help language", ANNA)


async def test_two_chats_are_answered_at_once_in_two_languages(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue("Hier", held=True)
        house.model.enqueue("Here", held=True)
        german = await house.accept("Hallo", language="de", alone=False, chat=ANNA, sender=ANNA)
        await house.wait_until_asked(1)
        english = await house.accept("Hello", language="en", alone=False, chat=BEN, sender=BEN)
        await house.wait_until_asked(2)
        await asyncio.gather(
            house.assistant.stop(ChatId.parse("telegram:1")), house.assistant.stop(ChatId.parse("telegram:2"))
        )
        await house.wait_until_idle()
        replies = house.telegram.replies()
        assert replies[german.id] == in_language("de", "STOPPED_HERE")
        assert replies[english.id] == in_language("en", "STOPPED_HERE")


async def test_a_choice_counts_for_what_was_said_right_after_it(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        await house.accept("/language de", chat=ANNA, sender=ANNA)
        await house.accept("/reminders", chat=ANNA, sender=ANNA)
        await house.wait_until_idle()
        assert house.reply(-1) == in_language("de", "REMINDERS_NONE")


async def test_a_reminder_and_what_is_asked_of_a_model_have_the_right_language(tmp_path: Path) -> None:
    time = NOW

    async with open_harness(tmp_path, now=lambda: time) as house:
        told = await say(house, "/remind tomorrow 9:00 Tee", ANNA, language="de")
        assert "Sonntag, 22. November 2026 um 09:00" in told
        await say(house, "/schedule tomorrow 9:00 Was steht an?", ANNA)
        await say(house, "/remind tomorrow 9:00 tea", BEN)
        time += timedelta(days=3)
        house.model.enqueue("Nichts.")
        tasks = house.run_in_background()
        try:
            async with asyncio.timeout(10):
                while not (len(notices(house)) == 2 and house.model.history):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await house.wait_until_idle()
        late = {text.split("\n")[0]: text.split("(")[1] for text in notices(house)}
        assert late["⏰ Tee"].startswith("fällig: ")
        assert late["⏰ tea"].startswith("due ")
        assert "(due " in shown_text(house.model.history[-1].messages[-1])


async def test_notes_and_what_models_read_stay_english_when_a_german_speaks(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        written, notes = {}, {}
        for who, language in ((ANNA, "de"), (BEN, "en")):
            await say(house, "/remember Der Schlüssel hängt am Haken", who, language=language)
            (log,) = (tmp_path / "memory").glob("2*.md")
            notes[language] = log.read_text()
            undone = await say(house, "/undo", who)
            assert ("rückgängig" in undone) == (language == "de")
            house.model.enqueue("Ja.", calls=[("remind", {"when": "yesterday", "text": "Tee"})])
            house.model.enqueue("Gut.")
            await say(house, "Erinnere mich gestern", who, language=language)
            results = [each for each in house.model.history[-1].messages if isinstance(each, ToolResult)]
            written[language] = [result.content for result in results]
        assert "in the past" in written["de"][0]
        assert written["de"] == written["en"]
    assert notes["de"] == notes["en"]
    assert "Der Schlüssel" in notes["de"]


async def test_a_flush_writes_the_same_note_for_everybody(tmp_path: Path) -> None:
    sections = {}
    for language in ("en", "de"):
        async with open_harness(tmp_path / language) as house:
            house.model.enqueue("I see.")
            await say(house, "My bike is green.", ANNA, language=language)
            house.model.enqueue("- Anna's bike is green.")
            told = await say(house, "/flush", ANNA)
            assert told.startswith("Notiert in" if language == "de" else "Noted in")
            (log,) = (tmp_path / language / "memory").glob("2*.md")
            sections[language] = log.read_text()
    assert sections["de"] == sections["en"]


async def test_strangers_and_owners_hear_of_each_other_in_their_own_language(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        await say(house, "/stop", ANNA, language="de")
        greeting = await house.say("Hello", chat="telegram:77", sender="telegram:77", language="zh-CN")
        assert "配对码" in greeting
        await house.assistant.resume()
        await house.wait_until_idle()
        (asked,) = notices(house)
        assert "möchte mit mir sprechen" in asked
        code = asked.split("`/pair ")[1].split("`")[0]
        assert "kann jetzt mit mir sprechen" in await say(house, f"/pair {code}", ANNA)
        await house.assistant.resume()
        await house.wait_until_idle()
        assert notices(house)[-1] == in_language("zh_Hans", "LET_IN")


async def test_in_a_room_each_is_answered_in_their_own_language(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        for sender, language in (("telegram:1", "de"), ("telegram:2", "zh"), ("telegram:1", "de")):
            told = await house.say("/stop", chat="telegram:-5", sender=sender, language=language)
            assert told == in_language("zh_Hans" if language == "zh" else "de", "NOTHING_RUNS")


async def test_what_cannot_be_stored_counts_all_the_same(tmp_path: Path) -> None:
    async with State(copy_fresh_state(tmp_path / "state.db"), is_ours=lambda: False) as state:
        people = PeopleLanguages(state)
        said = replace(message("Hallo", sender=ANNA), language="de")
        assert people.of(said) == "de"
        assert await people.load(said.sender, told="zh") == "zh_Hans"
        assert people.of(said) == "zh_Hans"
        assert await people.of_chat(ChatId.parse(ANNA)) == "en"


async def test_a_long_code_is_cut_and_a_strange_one_is_english(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        assert await say(house, "/stop", ANNA, language="x" * 5000) == in_language("en", "NOTHING_RUNS")
        stored = await house.state.read(lambda db: db.execute("SELECT max(length(told)) FROM languages").get)
        assert stored == 35


def test_the_setting_must_be_a_language_that_there_is() -> None:
    assert AgentSettings(language="de-AT").language == "de-AT"
    with pytest.raises(ValueError, match="one of en, de, zh_Hans"):
        AgentSettings(language="klingon")
