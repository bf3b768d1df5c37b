import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import date
from pathlib import Path

import apsw
import pytest

from bot.conversations import related_notes as related_notes_module
from bot.conversations.conversation import Entry
from bot.conversations.core_note import CORE_CHARS
from bot.conversations.log_section import RAW_MARK
from bot.conversations.related_notes import (
    QUERIES,
    RELATED_CHARS,
    LineRange,
    SearchBudget,
    queries_of,
    related_notes,
    section_lines,
)
from bot.conversations.transcript import add_day_lines, split_pieces
from bot.messages import Quoted
from bot.models.errors import Unreachable
from bot.models.protocol import Answer, AssistantMessage, AttachedText, Image, ModelRequest, UserMessage
from bot.models.user_text import user_text
from tests.fakes.conversation_harness import NOON, ConversationHarness, open_conversation_harness
from tests.fakes.scripted_model import ScriptedModel, alone

DENTIST = "Anna's dentist is Dr Weber in Elm Street."


class NotesWhatItDoesNotSee:
    """Writes down each sentence that people said and that stands nowhere in its instruction."""

    name = "attentive/model"

    def __init__(self) -> None:
        self.away = False
        self.instructions: list[str] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer, None]:
        if self.away:
            raise Unreachable("away", model=self.name)
        *said, instruction = [each.text for each in request.messages if isinstance(each, UserMessage)]
        self.instructions.append(instruction)
        sentences = [line for text in said for line in text.splitlines() if line.endswith(".")]
        fresh = [f"- {sentence}" for sentence in sentences if sentence not in instruction]
        yield Answer(AssistantMessage("\n".join(fresh) or "NOTHING", (), self.name))


@pytest.fixture
def model() -> NotesWhatItDoesNotSee:
    return NotesWhatItDoesNotSee()


@pytest.fixture
async def talk(tmp_path: Path, model: NotesWhatItDoesNotSee) -> AsyncIterator[ConversationHarness]:
    (tmp_path / "memory").mkdir()
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        yield talk


def filled(chars: int) -> str:
    """A core note of so many characters, of lines that have nothing to do with each other."""
    lines = "".join(f"- Inventory item {number} stands on shelf {number % 89}.\n" for number in range(1000))
    return f"# Memory\n\n{lines}"[:chars].rpartition("\n")[0] + "\n"


async def test_a_fact_far_down_in_the_core_note_is_not_noted_a_second_time(
    talk: ConversationHarness, model: NotesWhatItDoesNotSee
) -> None:
    before = filled(9_000)
    core = f"{before}- {DENTIST}\n{filled(3_000).partition('- ')[2]}"
    assert 8_900 < core.index(DENTIST) < 9_100
    (talk.folder / "memory" / "MEMORY.md").write_text(core)
    await talk.take_turn("The boiler is serviced on 3 December 2026.")
    await talk.take_turn(DENTIST)
    await talk.compactor.flush(talk.conversation)
    assert talk.note() == "# 2026-11-21\n\n## 12:00 Anna\n\n- The boiler is serviced on 3 December 2026.\n"
    assert talk.note("MEMORY.md") == core
    (instruction,) = model.instructions
    assert len(instruction) < CORE_CHARS + RELATED_CHARS + 2_500


async def test_a_fact_in_any_other_note_is_not_noted_a_second_time_either(talk: ConversationHarness) -> None:
    (talk.folder / "memory" / "people.md").write_text(f"# People\n\n- {DENTIST}\n")
    await talk.take_turn(DENTIST)
    flushed = await talk.compactor.flush(talk.conversation)
    assert flushed.result == "nothing"
    assert talk.note() == ""


async def test_what_stands_raw_is_not_taken_for_noted_when_it_is_sorted_at_last(
    talk: ConversationHarness, model: NotesWhatItDoesNotSee
) -> None:
    await talk.take_turn(DENTIST)
    model.away = True
    await talk.compactor.flush(talk.conversation)
    assert RAW_MARK in talk.note()
    model.away = False
    talk.clock.pass_(hours=1)
    await talk.compactor.resume()
    assert talk.note() == f"# 2026-11-21\n\n## 12:00 Anna\n\n- {DENTIST}\n"


@pytest.mark.thorough
async def test_a_long_talk_is_searched_for_piece_by_piece_within_bounds(talk: ConversationHarness) -> None:
    facts = [f"- Person{number} lives in city{number}.\n" for number in range(400)]
    (talk.folder / "memory" / "people.md").write_text("".join(facts))
    said = [UserMessage(f"Person{number} has called.") for number in range(300)]
    found = await related_notes(talk.memory, said, core="")
    assert RELATED_CHARS / 2 < len(found) <= RELATED_CHARS
    assert len(queries_of(said)) <= QUERIES + 1
    assert "people.md:" in found


async def test_searches_that_take_long_are_cut_off_once_for_all_pieces_of_a_flush(
    tmp_path: Path,
    model: NotesWhatItDoesNotSee,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The index is held by another program, for longer than the flush has for all its searches."""
    monkeypatch.setattr(related_notes_module, "SEARCH_SECONDS", 0.1)
    monkeypatch.setattr("memory.synced_index.MIN_SYNC_INTERVAL", 0.0)  # all want to index what is new
    (tmp_path / "memory").mkdir()
    async with open_conversation_harness(tmp_path, alone(model), threshold=1000) as talk:
        await talk.memory.search("anything")
        for number in range(40):
            await talk.take_turn(
                f"{'It was a long day, they said ' * 8}\nPerson{number} lives in city{number}."
            )
        index = apsw.Connection(str(tmp_path / ".commonplace" / "index.db"))
        index.execute("BEGIN IMMEDIATE")
        (tmp_path / "memory" / "new.md").write_text("# New\n")  # which is to be indexed first
        began = time.monotonic()
        await talk.compactor.flush(talk.conversation)
        assert time.monotonic() - began < 3
        index.execute("ROLLBACK")
        index.close()
    assert len(model.instructions) > 2
    (told,) = [each.getMessage() for each in caplog.records if "before a flush" in each.getMessage()]
    assert re.search(r"was stopped after \d+ searches", told)
    assert "- Person39 lives in city39." in talk.note()


@pytest.mark.thorough
async def test_the_pieces_of_a_flush_share_the_time_for_searches(talk: ConversationHarness) -> None:
    within = SearchBudget(60)
    said = [UserMessage(f"Person{number} has called.") for number in range(300)]
    await related_notes(talk.memory, said, core="", search_time=within)
    first, made = within.left, within.searches
    assert first < 60
    assert made == len(queries_of(said))
    await related_notes(talk.memory, said, core="", search_time=within)
    assert within.left < first
    assert within.searches == 2 * made


def test_what_is_searched_for_is_peoples_own_words() -> None:
    document = AttachedText("document: a.txt", "The king is dead.", "aaaaaaaaaaaa")
    voice = AttachedText("voice message", "Buy milk.", spoken=True)
    asked = UserMessage(
        "Where is it?",
        (Image("image/png", b"x"),),
        "Ann",
        quoted=Quoted("Here."),
        documents=(document, voice),
    )
    said = [Entry(1, asked), Entry(2, AssistantMessage("In the blue folder."))]
    dated = add_day_lines(said, [(1, NOON.isoformat())], zone=None)
    assert isinstance(dated[0], UserMessage)
    assert user_text(dated[0]).startswith("[said on ")
    assert queries_of(dated) == ["Where is it?\nBuy milk."]
    (piece,) = split_pieces(dated, 1000)
    assert queries_of(piece) == ["Where is it?\n[a picture]\nBuy milk."]


async def test_what_is_at_hand_of_the_core_note_is_not_shown_twice(talk: ConversationHarness) -> None:
    core = f"# Memory\n\n- {DENTIST}\n"
    (talk.folder / "memory" / "MEMORY.md").write_text(core)
    assert await related_notes(talk.memory, [UserMessage(DENTIST)], core=core) == ""


async def test_a_section_is_left_out_where_it_stands(talk: ConversationHarness) -> None:
    (talk.folder / "memory" / "log.md").write_text(f"# Log\n\nabove\n\n## 12:00\n\n- {DENTIST}\n\nbelow\n")
    own = await section_lines(talk.memory, "log.md", f"## 12:00\n\n- {DENTIST}")
    assert own == LineRange("log.md", 5, 7)
    assert await section_lines(talk.memory, "log.md", "") is None
    assert await section_lines(talk.memory, "none.md", "x") is None
    said = [UserMessage(DENTIST)]
    assert DENTIST in await related_notes(talk.memory, said, core="")
    assert DENTIST not in await related_notes(talk.memory, said, core="", leave_out=[own])


async def test_notes_that_cannot_be_read_do_not_keep_a_flush_from_its_work(
    tmp_path: Path,
) -> None:
    model = ScriptedModel()
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await talk.take_turn(DENTIST)
        await talk.memory.write("Something.")
        (tmp_path / "memory" / "MEMORY.md").mkdir()
        model.enqueue(f"- {DENTIST}")
        assert (await talk.compactor.flush(talk.conversation)).result == "noted"


def test_the_day_of_a_message_that_fills_several_pieces_is_not_searched_for() -> None:
    long = UserMessage("I like tea. " * 500, said_on=date(2026, 11, 21))
    first, *others = split_pieces([long], 500)
    assert others
    assert isinstance(first[0], UserMessage)
    assert user_text(first[0]).startswith("[said on Saturday, 2026-11-21]\nI like tea.")
    assert not any("said on" in query for query in queries_of(first))
