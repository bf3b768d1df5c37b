"""Documents that are filed in the memory: by command, by a model's tool, by the notebook."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.attachments.save_document import number_of
from bot.attachments.transcription import Transcriber
from bot.attachments.transcription_providers import TranscriptionProvider
from bot.maintenance.cleanup import clean_up
from bot.messages import Attachment, ChatId, PersonId, Quoted
from bot.models.breakers import Breakers
from bot.models.connection_pool import ConnectionPool
from bot.models.notebook.model import Notebook
from bot.models.protocol import ToolResult, UserMessage
from bot.models.user_text import user_text
from bot.state import documents, inbox
from bot.state.database import State
from memory.forgetting import FORGOTTEN
from tests.fakes.harness import Harness, open_harness
from tests.fakes.pdf_file import text_pdf
from tests.fakes.scripted_model import alone
from tests.fakes.transcription_server import KEY, MODEL, TranscriptionServer
from tests.fakes.turns import NOW, message
from tests.origins import TOOL_CALL

REPORT = Attachment("document", "f1", "Boiler report.txt", "text/plain", 30)
TEXT = b"The boiler was serviced in May.\nNext time in 2027."
FILED = "documents/2026-11-21-boiler-report.md"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        house.terminal.files["f1"] = house.telegram.files["f1"] = TEXT
        yield house


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[Harness]:
    """A house with no language model at all."""
    async with open_harness(tmp_path, chain_of=lambda state: alone(Notebook(), Breakers(state))) as house:
        house.terminal.files["f1"] = house.telegram.files["f1"] = TEXT
        yield house


def notes(base: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((base / "memory" / "documents").glob("*"))}


# -- by command ---------------------------------------------------------------------------------------------


async def test_remember_files_the_document_that_it_is_sent_with(house: Harness, tmp_path: Path) -> None:
    assert await house.say("/remember", attachments=(REPORT,)) == f"Filed in {FILED}."
    assert notes(tmp_path) == {
        "2026-11-21-boiler-report.md": "# Boiler report\n\nSent as `Boiler report.txt` on 2026-11-21.\n\n"
        "The boiler was serviced in May.\nNext time in 2027.\n"
    }
    found = await house.say("/recall when was the boiler serviced")
    assert FILED in found
    assert "serviced in May" in found


async def test_what_follows_is_the_title(house: Harness, tmp_path: Path) -> None:
    assert await house.say("/remember Heating", attachments=(REPORT,)) == (
        "Filed in documents/2026-11-21-heating.md."
    )
    assert notes(tmp_path)["2026-11-21-heating.md"].startswith("# Heating\n\nSent as `Boiler report.txt`")
    assert not (tmp_path / "memory" / "2026-11-21.md").exists()


async def test_more_than_a_title_is_noted_beside_it(house: Harness, tmp_path: Path) -> None:
    told = await house.say(f"/remember {'Call Meier first. ' * 10}", attachments=(REPORT,))
    assert told == f"Noted in 2026-11-21.md:3.\n\nFiled in {FILED}."
    assert "Call Meier first." in (tmp_path / "memory" / "2026-11-21.md").read_text()


async def test_a_title_is_not_lost_where_the_document_is(house: Harness, tmp_path: Path) -> None:
    lost = replace(REPORT, handle="gone")
    told = await house.say("/remember Heating", attachments=(lost,))
    assert told == "Noted in 2026-11-21.md:3.\n\nBoiler report.txt: That is gone."
    assert notes(tmp_path) == {}


async def test_several_documents_are_several_notes(house: Harness, tmp_path: Path) -> None:
    house.terminal.files["f2"] = b"# Oslo\n\nFish"
    house.terminal.files["f3"] = b"\x00\x01\x02\xff" * 100
    attached = (REPORT, Attachment("document", "f2", "../../x.md"), Attachment("document", "f3", "tool.exe"))
    told = (await house.say("/remember", attachments=attached)).split("\n\n")
    assert told[:2] == [f"Filed in {FILED}.", "Filed in documents/2026-11-21-oslo.md."]
    assert told[2].startswith("tool.exe: ")
    assert list(notes(tmp_path)) == ["2026-11-21-boiler-report.md", "2026-11-21-oslo.md"]


async def test_the_text_of_a_pdf_is_filed_whole(house: Harness, tmp_path: Path) -> None:
    house.terminal.files["f2"] = text_pdf("The first page.", "The rent is 900 euros.")
    await house.say("/remember", attachments=(Attachment("document", "f2", "contract.pdf"),))
    (text,) = notes(tmp_path).values()
    assert text.split("\n\n")[2:] == ["The first page.", "The rent is 900 euros.\n"]


async def test_with_neither_text_nor_document_it_says_what_it_wants(house: Harness) -> None:
    assert await house.say("/remember") == (
        "What should I note? Usage: `/remember TEXT`. To file a document, send it with `/remember`, or reply "
        "`/remember` to it."
    )


@pytest.mark.parametrize("kind", ["picture", "other"])
async def test_what_holds_no_text_is_not_kept_and_that_is_said(house: Harness, kind: str) -> None:
    thing = Attachment(kind, "f1")  # type: ignore[arg-type]
    assert "I can only keep text" in await house.say("/remember", attachments=(thing,))
    told = await house.say("/remember our house in 2019", attachments=(thing,))
    assert told.startswith("Noted in 2026-11-21.md:3.\n\nI can only keep text")


async def test_a_voice_message_that_nobody_can_write_down_is_told(house: Harness) -> None:
    told = await house.say("/remember", attachments=(Attachment("voice", "f1", seconds=3),))
    assert "speech" in told
    assert "Noted" not in told


async def test_what_is_said_in_a_voice_message_is_noted(tmp_path: Path) -> None:
    async with TranscriptionServer(words="Buy oat milk.") as server:
        provider = TranscriptionProvider("openai", server.base_url, MODEL, (KEY,), needs_key=True)
        connection = ConnectionPool(provider.base_url, connect_seconds=5)
        try:
            async with open_harness(tmp_path, speech=Transcriber(provider, connection)) as house:
                house.terminal.files["v1"] = b"OggS\0\x02" + bytes(100)
                voice = Attachment("voice", "v1", seconds=3)
                assert await house.say("/remember", attachments=(voice,)) == "Noted in 2026-11-21.md:3."
                assert await house.say("/remember for Anna", attachments=(voice,)) == (
                    "Noted in 2026-11-21.md:4-5."
                )
        finally:
            await connection.close()
    log = (tmp_path / "memory" / "2026-11-21.md").read_text()
    assert log == "# 2026-11-21\n\n- Buy oat milk.\n- for Anna\n- Buy oat milk.\n"


async def test_a_document_is_fetched_and_filed_once_whatever_is_tried_again(
    house: Harness, tmp_path: Path
) -> None:
    filing = house.filing
    said = message("", attachments=(REPORT,))
    first = await filing.save_sent(said, REPORT, key="k", origin=TOOL_CALL)
    assert await filing.save_sent(said, REPORT, key="k", origin=TOOL_CALL) == first
    assert house.terminal.fetched == ["f1"]


async def test_the_same_document_is_filed_once_as_long_as_it_stands_there(
    house: Harness, tmp_path: Path
) -> None:
    again = replace(REPORT, handle="f2", name="Another name.txt")
    house.terminal.files["f2"] = house.terminal.files["f1"]
    assert await house.say("/remember", attachments=(REPORT,)) == f"Filed in {FILED}."
    assert await house.say("/remember", attachments=(again,)) == f"Already filed in {FILED}."
    assert list(notes(tmp_path)) == ["2026-11-21-boiler-report.md"]
    house.model.enqueue(calls=[("keep_document", {"document": 1})])
    house.model.enqueue("It is there already.")
    await house.say("Keep it", attachments=(REPORT,))
    (result,) = [each for each in house.model.history[-1].messages if isinstance(each, ToolResult)]
    assert "already filed there" in result.content
    note = tmp_path / "memory" / FILED
    note.write_text(note.read_text().replace("Next time in 2027.", "That is gone."))
    assert await house.say("/remember", attachments=(REPORT,)) == (
        "Filed in documents/2026-11-21-boiler-report-2.md."
    )
    assert "boiler-report-2.md" in await house.say("/remember", attachments=(REPORT,))
    assert len(notes(tmp_path)) == 2


async def test_another_document_of_the_same_name_is_a_note_of_its_own(house: Harness, tmp_path: Path) -> None:
    await house.say("/remember", attachments=(REPORT,))
    house.terminal.files["f1"] = b"# Boiler report\n"
    for words in ("Filed in", "Already filed in"):
        markdown = replace(REPORT, name="Boiler report.md")
        told = await house.say("/remember", attachments=(markdown,))
        assert told == f"{words} documents/2026-11-21-boiler-report-2.md."


async def test_wishes_at_the_same_time_file_it_once(house: Harness, tmp_path: Path) -> None:
    said = message("", attachments=(REPORT,))
    filed = await asyncio.gather(
        *(house.filing.save_sent(said, REPORT, key="k", origin=TOOL_CALL) for _ in range(5))
    )
    assert {each.path for each in filed} == {FILED}
    assert len(notes(tmp_path)) == 1


async def test_guests_file_nothing(house: Harness, tmp_path: Path) -> None:
    told = await house.say("/remember", chat="telegram:3", sender="telegram:3", attachments=(REPORT,))
    assert "There is no /remember here" in told
    assert notes(tmp_path) == {}


@pytest.mark.thorough
async def test_it_is_searched_a_moment_later_however_long(house: Harness) -> None:
    house.terminal.files["f1"] = b"word " * 200_000 + b"\n\nThe spare key is at Ottokar's.\n"
    assert await house.say("/remember", attachments=(REPORT,)) == f"Filed in {FILED}."
    assert "Ottokar" in await house.say("/recall Ottokar spare key")


# -- by a model ---------------------------------------------------------------------------------------------


def result(house: Harness) -> ToolResult:
    last = house.model.history[-1].messages[-1]
    assert isinstance(last, ToolResult)
    return last


async def test_a_model_is_told_the_number_and_files_by_it(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue(calls=[("keep_document", {"document": 1, "title": "Heating"})])
    house.model.enqueue("It is in your notes.")
    assert await house.say("keep that", attachments=(REPORT,)) == "It is in your notes."
    asked = house.model.history[0].messages[-1]
    assert isinstance(asked, UserMessage)
    assert asked.documents[0].number == 1
    assert "[Attached document 1: Boiler report.txt" in user_text(asked)
    told = {"path": "documents/2026-11-21-heating.md", "line_start": 3, "line_end": 6}
    assert json.loads(result(house).content) == told
    assert len(notes(tmp_path)) == 1


async def test_a_document_of_another_chat_cannot_be_filed(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("A report.")
    await house.say("what is that?", attachments=(REPORT,))
    house.model.enqueue(calls=[("keep_document", {"document": 1})])
    house.model.enqueue("I cannot.")
    await house.say("keep document 1", chat="telegram:2", sender="telegram:2")
    assert json.loads(result(house).content) == {
        "error": "There is no document 1 here, or not any more. Please send it again."
    }
    assert notes(tmp_path) == {}


async def test_guests_are_shown_no_such_tool(house: Harness) -> None:
    house.model.enqueue("Hello.")
    await house.say("hello", chat="telegram:3", sender="telegram:3", attachments=(REPORT,))
    assert "keep_document" not in {tool.name for tool in house.model.history[0].tools}


async def test_what_is_not_all_of_it_is_told_the_model(house: Harness) -> None:
    house.terminal.files["f1"] = b"a line of text\n" * 150_000
    house.model.enqueue(calls=[("keep_document", {"document": 1})])
    house.model.enqueue("Kept in part.")
    await house.say("keep that", attachments=(REPORT,))
    assert json.loads(result(house).content)["note"].startswith("This is only its beginning: 1,999,")


# -- with no model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wish",
    [
        "Remember this",
        "please save this document",
        "Merk dir das",
        "Kannst du diese Datei speichern?",
        "Retiens ce document",
        "Guarda este archivo",
        "Ricorda questo",
        "Guarde este documento",
        "Запомни этот файл",
        "记住这个",
        "この書類を覚えておいて",
        "이 파일 저장해 줘",
        "यह दस्तावेज़ याद रखो",
        "احفظ هذا الملف",
        "เก็บเอกสารนี้ไว้",
    ],
)
async def test_the_notebook_keeps_a_document_that_it_is_told_to_remember(
    notebook: Harness, tmp_path: Path, wish: str
) -> None:
    told = await notebook.say(wish, attachments=(REPORT,))
    assert FILED in told
    assert list(notes(tmp_path)) == ["2026-11-21-boiler-report.md"]
    assert not (tmp_path / "memory" / "2026-11-21.md").exists(), "the document's own sentences are no facts"
    assert FILED in await notebook.say("When was the boiler serviced?")


async def test_the_notebook_says_how_a_document_is_kept_and_keeps_it_then(
    notebook: Harness, tmp_path: Path
) -> None:
    told = await notebook.say("", attachments=(REPORT,))
    assert "say “remember this”" in told
    assert notes(tmp_path) == {}
    assert FILED in await notebook.say("remember this")
    assert "What should I remember?" in await notebook.say("remember this"), "it is kept already"
    assert len(notes(tmp_path)) == 1


async def test_the_notebook_notes_what_is_said_besides(notebook: Harness, tmp_path: Path) -> None:
    told = await notebook.say("Remember this. My landlord is called Meier.", attachments=(REPORT,))
    assert FILED in told
    assert "My landlord is called Meier." in (tmp_path / "memory" / "2026-11-21.md").read_text()


async def test_the_notebook_takes_no_question_for_a_wish(notebook: Harness, tmp_path: Path) -> None:
    told = await notebook.say("What is in it?", attachments=(REPORT,))
    assert told.startswith("I can't read pictures, files or voice messages;")
    assert "say “remember this”" in told.partition("\n\n")[0]
    assert "found nothing" not in told
    for said in ("Where did I put the file?", "don't save this file", "What is in it?"):
        await notebook.say(said, attachments=(REPORT,))
    assert notes(tmp_path) == {}


async def test_the_notebook_remembers_what_is_replied_to(notebook: Harness, tmp_path: Path) -> None:
    quoted = Quoted("The spare key is at Tom's.", "Anna")
    await notebook.say("remember this", quoted=quoted)
    log = (tmp_path / "memory" / "2026-11-21.md").read_text()
    assert log == "# 2026-11-21\n\n- The spare key is at Tom's. (says Anna)\n"
    await notebook.say("remember this", quoted=quoted, attachments=(REPORT,))
    assert len(notes(tmp_path)) == 1
    assert (tmp_path / "memory" / "2026-11-21.md").read_text() == log


async def test_the_notebook_says_where_it_may_not(notebook: Harness, tmp_path: Path) -> None:
    told = await notebook.say("remember this", chat="telegram:3", sender="telegram:3", attachments=(REPORT,))
    assert "I can't note anything here" in told
    assert notes(tmp_path) == {}


# -- the list of documents ----------------------------------------------------------------------------------


async def test_a_document_has_one_number_for_ever(tmp_path: Path) -> None:
    async with State(tmp_path / "state.db") as state:
        said = message("", attachments=(REPORT,))
        other = replace(REPORT, handle="f2")
        assert [await number_of(state, said, each) for each in (REPORT, other, REPORT)] == [1, 2, 1]
        elsewhere = replace(said, chat=ChatId("telegram", "5"))
        assert await number_of(state, elsewhere, REPORT) == 3
        assert await number_of(state, said, Attachment("picture", "f9")) is None
        found = await state.read(lambda db: documents.find_document(db, "telegram:5", 3))
        assert found
        assert (found.attachment, found.sender, found.at) == (REPORT, PersonId("terminal", "owner"), NOW)
        assert await state.read(lambda db: documents.find_document(db, "telegram:5", 1)) is None
        await state.change(lambda db: db.execute("DELETE FROM documents"))
        assert await number_of(state, said, REPORT) == 4, "a number is not given away again"


async def test_only_the_latest_of_a_chat_are_kept_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_DOCUMENTS_PER_CHAT", 3)
    async with State(tmp_path / "state.db") as state:
        said = message("")
        for number in range(6):
            await number_of(state, said, replace(REPORT, handle=str(number)))
        elsewhere = replace(said, chat=ChatId("telegram", "5"), sent_at=NOW.replace(month=8))
        await number_of(state, elsewhere, REPORT)
        numbers = "SELECT number FROM documents ORDER BY number"
        assert await state.read(lambda db: db.execute(numbers).fetchall()) == [(4,), (5,), (6,), (7,)]
        await clean_up(state, NOW)
        assert await state.read(lambda db: db.execute(numbers).fetchall()) == [(4,), (5,), (6,)]


async def test_a_document_that_is_replied_to_is_from_whoever_sent_it(house: Harness, tmp_path: Path) -> None:
    theirs, quoted = replace(REPORT, quoted=True), Quoted("", "Bo")
    await house.say("/remember", attachments=(theirs,), quoted=quoted)
    assert "by `Bo`" in notes(tmp_path)["2026-11-21-boiler-report.md"]


async def test_a_document_has_the_same_number_sent_and_replied_to(house: Harness) -> None:
    said = message("")
    again = replace(message(""), quoted=Quoted("", said.sender_name))
    numbers = {
        await number_of(house.state, said, REPORT),
        await number_of(house.state, again, replace(REPORT, quoted=True)),
    }
    assert numbers == {1}


# -- forgotten ----------------------------------------------------------------------------------------------


async def test_nothing_of_a_document_survives_that_is_forgotten(house: Harness, tmp_path: Path) -> None:
    house.terminal.files["f1"] = b"The wombat Ottokar eats hay.\n\nThe rent is due in May.\n"
    wombat = replace(REPORT, name="Ottokar the wombat.txt")
    house.model.enqueue("A wombat.")
    await house.say("who is that?", attachments=(wombat,))
    assert "2026-11-21-ottokar-the-wombat.md" in await house.say("/remember", attachments=(wombat,))
    shown = await house.say("/forget wombat")
    code = shown.rpartition("/forget yes ")[2][:4]
    assert "Forgotten" in await house.say(f"/forget yes {code}")
    (name,) = notes(tmp_path)
    assert name == "2026-11-21-document.md"
    assert notes(tmp_path)[name].strip().endswith("The rent is due in May.")
    left = [
        str(path.relative_to(tmp_path))
        for path in tmp_path.rglob("*")
        if path.is_file() and b"ombat" in path.read_bytes() + path.name.encode()
    ]
    assert left == []
    assert await house.state.read(lambda db: documents.find_document(db, "terminal:main", 1)) is None
    assert "The rent is due in May" in await house.say("/recall rent May")


async def test_a_document_is_found_by_its_name_alone(house: Harness, tmp_path: Path) -> None:
    await house.say("/remember", attachments=(REPORT,))
    note = tmp_path / "memory" / FILED
    note.write_text("- nothing of it\n")
    shown = await house.say("/forget boiler report")
    code = shown.rpartition("/forget yes ")[2][:4]
    await house.say(f"/forget yes {code}")
    assert notes(tmp_path) == {"2026-11-21-document.md": "- nothing of it\n"}


async def test_what_a_waiting_message_replies_to_and_brings_along_is_forgotten(
    house: Harness, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir(exist_ok=True)
    (tmp_path / "memory" / "a.md").write_text("- the wombat\n")
    named = replace(REPORT, name="wombat.txt", media_type="text/wombat")
    said = message(
        "look", chat="elsewhere:1", attachments=(named, REPORT), quoted=Quoted("A wombat!", "Anna")
    )
    await house.state.change(lambda db: inbox.add(db, said, owner="", at=house.state.at()))
    shown = await house.say("/forget wombat")
    await house.say(f"/forget yes {shown.rpartition('/forget yes ')[2][:4]}")
    ((_, kept),) = await house.state.read(inbox.read_undelivered)
    assert kept.message.text == "look"
    assert kept.message.quoted == Quoted(FORGOTTEN, "Anna")
    assert kept.message.attachments == (replace(named, name=FORGOTTEN), REPORT)
