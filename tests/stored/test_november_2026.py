"""A workspace as the code of November 2026 stored it (commit bff69b8) opens, loses nothing and goes on."""

import gzip
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest

from bot.config.settings import MemorySection
from bot.note_writes import OnceWriter
from bot.tools.toolbox import tool
from memory.embeddings.factory import open_embedding
from memory.memory import Memory
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.harness import Harness, open_harness
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import NOW, message
from tests.origins import TOOL_CALL
from tests.stored.differences import differences
from tests.stored.write_workspace import DIMENSIONS

STORED = Path(__file__).parent / "november_2026"
TOLD = json.loads((STORED / "told.json").read_text("utf-8"))
"""What commit bff69b8 told of a copy, by its own commands."""
NOTES = 6
VECTORS = 13
STORED_IDS = 100
"""Ids of messages below that are known to it: a message with one of them is no new one."""
OWNER = "telegram:1"


@tool
async def weather() -> dict[str, str]:
    """The tool that a turn was waiting for."""
    return {"weather": "dry"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    copy = tmp_path / "workspace"
    shutil.copytree(STORED / "workspace", copy)
    return copy


@pytest.fixture
async def house(workspace: Path) -> AsyncIterator[Harness]:
    """The assistant, just started on it, once it has answered the two turns that go on and the message that waits."""
    model = ScriptedModel()
    for _ in range(3):
        model.enqueue("That is all.")
    while int(message("").id) < STORED_IDS:
        pass
    async with open_harness(workspace, model=model, tools=[weather]) as house:
        await house.wait_until_idle()
        yield house


def note(workspace: Path, path: str) -> str:
    return (workspace / "memory" / path).read_text("utf-8")


# -- conversations and messages -------------------------------------------------------------------------------


async def test_turns_that_were_cut_off_go_on_and_do_nothing_twice(house: Harness, workspace: Path) -> None:
    replies = house.telegram.replies()
    assert replies["19"] == "I note that. \n\nThat is all."
    assert replies["21"] == "One moment. \n\nThat is all."
    log = note(workspace, "2026-11-21.md")
    assert log.count("The meter stands at 4711.") == 1
    assert log.count("The fuse box is in the cellar.") == 1
    assert house.model.left == 0


async def test_a_message_that_waited_is_answered(house: Harness) -> None:
    assert "And what did it say last year?" in await house.history("telegram:-100900")


async def test_a_reply_that_was_not_delivered_is_shown_once(house: Harness) -> None:
    shown = [parts[-1].text for key, parts in house.telegram.shown if key == "18"]
    assert shown == ["This reply was never shown."]


async def test_a_notice_waits_for_its_channel(house: Harness) -> None:
    query = "SELECT text FROM outbox WHERE NOT delivered"
    assert await house.state.read(lambda db: db.execute(query).fetchall()) == [("Reminder: tea",)]


async def test_conversations_are_remembered_with_their_summary(house: Harness) -> None:
    house.model.enqueue("In Bergen.")
    assert await house.say("Where does Anna live?") == "In Bergen."
    asked = [getattr(each, "text", "") for each in house.model.history[-1].messages]
    assert "Anna lives in Bergen; the room in Oslo is 405." in asked[0]
    assert "Room 405 it is." in asked


# -- people -------------------------------------------------------------------------------------------------


async def test_people_keep_their_standing(house: Harness, workspace: Path) -> None:
    house.model.enqueue("Hello Ben.")
    assert await house.say("Hi.", chat="telegram:10", sender="telegram:10") == "Hello Ben."
    await house.accept("Hi.", chat="telegram:12", sender="telegram:12")
    await house.wait_until_idle()
    assert house.model.left == 0  # nobody asked a model for the one who is kept out
    await house.say("/remember The guest was here.", chat="telegram:11", sender="telegram:11")
    assert "The guest was here." not in note(workspace, "2026-11-21.md")


async def test_the_code_of_who_has_asked_lets_them_in(house: Harness) -> None:
    query = "SELECT code FROM pairing"
    (code,) = (await house.state.read(lambda db: db.execute(query).fetchall()))[0]
    await house.say(f"/pair {code}", chat=OWNER, sender=OWNER)
    house.model.enqueue("Welcome.")
    assert await house.say("Hi.", chat="telegram:77", sender="telegram:77") == "Welcome."


async def test_a_removal_that_was_asked_for_is_carried_out(house: Harness, workspace: Path) -> None:
    query = "SELECT code FROM forgetting WHERE chat = 'telegram:1'"
    (code,) = (await house.state.read(lambda db: db.execute(query).fetchall()))[0]
    await house.say(f"/forget yes {code}", chat=OWNER, sender=OWNER)
    assert "tram" not in note(workspace, "trips/oslo.md")
    query = "SELECT count(*) FROM forgetting WHERE unfinished"
    assert await house.state.read(lambda db: db.execute(query).get) == 0


# -- reminders, documents, models, channels ------------------------------------------------------------------


async def test_reminders_are_still_to_come(house: Harness) -> None:
    here = await house.say("/reminders")
    assert "tea" in here
    assert "water the plants" in here
    assert "What is on today?" in here
    assert [line for line in TOLD["reminders"] if line not in here.splitlines()] == []
    assert "cancelled one" not in here
    assert "bins" in await house.say("/reminders", chat=OWNER, sender=OWNER)


async def test_a_document_is_known_by_its_number(house: Harness) -> None:
    house.terminal.files["manual-1"] = b"Boiler manual. Press the red button for three seconds to reset."
    house.model.enqueue("", calls=[("keep_document", {"document": 1})])
    house.model.enqueue("It is there.")
    assert await house.say("Keep the manual.") == "It is there."
    result = house.model.history[-1].messages[-1]
    assert "documents/2026-11-21-boiler.md" in getattr(result, "content", "")


async def test_models_keep_their_statistics_and_the_chat_its_choice(house: Harness) -> None:
    assert await house.state.read_chosen_model("terminal:main") == "scripted/model"
    known = {health.route.model: health for health in await house.state.read_model_health()}
    assert (known["openai/gpt-4.1"].failures, known["openai/gpt-4.1"].last_error_kind) == (1, "rate_limit")
    assert {each.model for each in await house.state.read_usage("2026-11-21")} == {"scripted/model"}


async def test_channels_know_what_they_noted(house: Harness) -> None:
    facts = "SELECT value FROM channel_facts WHERE channel = 'telegram' AND key = 'offset'"
    assert await house.state.read(lambda db: db.execute(facts).get) == "4711"
    assert (
        await house.state.read(lambda db: db.execute("SELECT raw FROM unread").get) == '{"update_id": 4710}'
    )
    moves = "SELECT old, new FROM moves"
    assert await house.state.read(lambda db: db.execute(moves).fetchall()) == [
        ("telegram:-600", "telegram:-100600")
    ]


# -- writes that a crash left open ---------------------------------------------------------------------------


async def test_open_writes_are_settled_by_the_next_one(house: Harness, workspace: Path) -> None:
    journal = OnceWriter(house.memory, house.state)
    await journal.append(
        "2026-11-20.md", "- A later line.", key="later", title="2026-11-20", origin=TOOL_CALL
    )
    assert note(workspace, "2026-11-20.md") == (
        "# 2026-11-20\n\n- Written, not noted.\n- A line that was torn in the middle.\n- A later line.\n"
    )
    await journal.edit("trips/oslo.md", "room 405", "room 406", key="another edit", origin=TOOL_CALL)
    query = "SELECT key FROM effects WHERE result IS NULL"
    open_still = {key for (key,) in await house.state.read(lambda db: db.execute(query).fetchall())}
    assert open_still == {"not-done"}


def test_what_an_edit_removed_is_still_in_the_trash(workspace: Path) -> None:
    kept = "".join(file.read_text("utf-8") for file in (workspace / ".commonplace" / "trash").iterdir())
    assert "room 402" in kept
    assert "tram 12" in kept


# -- the index ----------------------------------------------------------------------------------------------


def embedding_settings(server: EmbeddingServer) -> MemorySection:
    embedding = {
        "provider": "openai",
        "base_url": server.base_url("openai"),
        "api_key": KEY,
        "model": "text-embedding-3-small",
        "dimensions": DIMENSIONS,
    }
    return MemorySection.model_validate({"embedding": embedding, "watch": {"enabled": False}})


def stored_vectors(workspace: Path) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(workspace / ".commonplace" / "index.db"))) as db:
        return db.execute("SELECT * FROM vectors ORDER BY rowid").fetchall()


async def test_the_vectors_of_an_index_are_kept(workspace: Path) -> None:
    """The address is another one, so a sample of the texts is asked for once: the same vectors, the same model."""
    before = stored_vectors(workspace)
    async with EmbeddingServer() as server:
        settings = embedding_settings(server)
        embedding = open_embedding(settings.embedding, sections={}, environment={})
        async with Memory(settings, workspace=workspace, now=lambda: NOW, embedding=embedding) as memory:
            await memory.sync()
            await memory.fill_vectors()
            status = await memory.status()
            found = await memory.search("Who serviced the boiler?")
        asked = [each.texts for each in server.requests]
    assert (status.files, status.chunks_with_embedding) == (NOTES, status.total_chunks)
    assert [each.path for each in found.hits][:1] == ["2026-11-19.md"]
    assert asked[1:] == [("Who serviced the boiler?",)]
    assert before
    assert stored_vectors(workspace) == before


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if not find_programs():
        pytest.skip(NEEDS)
    server = PostgresServer()
    yield server
    server.close()


async def test_an_index_on_postgresql_opens_with_its_vectors(
    postgres: PostgresServer, workspace: Path
) -> None:
    from memory.postgres.server import Server

    async with EmbeddingServer() as service:
        settings = embedding_settings(service)
        embedding = partial(open_embedding, settings.embedding, sections={}, environment={})
        with postgres.database() as url:
            postgres.restore(url, gzip.decompress((STORED / "postgres.sql.gz").read_bytes()).decode())
            async with Memory(
                settings, workspace=workspace, now=lambda: NOW, embedding=embedding(), server=Server(url)
            ) as memory:
                await memory.sync()
                await memory.fill_vectors()
                status = await memory.status()
                found = await memory.search("Who serviced the boiler?")
        asked = [each.texts for each in service.requests]
    assert (status.files, status.chunks_with_embedding) == (NOTES, status.total_chunks)
    assert [each.path for each in found.hits][:1] == ["2026-11-19.md"]
    assert asked[1:] == [("Who serviced the boiler?",)]


# -- the command --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("workspace")
def test_the_command_tells_what_the_one_of_then_told(tmp_path: Path) -> None:
    commonplace = CommonplaceHere(tmp_path)
    exported = [json.loads(line) for line in commonplace.output_of("export", "--json").splitlines()]
    assert differences(TOLD["export"], exported) == []
    for query, hits in TOLD["search"].items():
        found = json.loads(commonplace.output_of("memory", "search", query, "--json"))["results"]
        places = [[each["path"], each["line_start"], each["snippet"]] for each in found]
        assert [hit for hit in hits if hit not in places] == [], query


@pytest.mark.thorough
def test_the_command_opens_it_and_goes_on(workspace: Path, tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    assert "water the plants" in commonplace.output_of(
        "chat", "-m", "/reminders", "--workspace", str(workspace)
    )
    status = json.loads(commonplace.output_of("memory", "status", "--json", "--workspace", str(workspace)))
    assert status["files"] == NOTES
    found = json.loads(
        commonplace.output_of("memory", "search", "钥匙", "--json", "--workspace", str(workspace))
    )
    assert [each["path"] for each in found["results"]] == ["2026-11-19.md"]
    written = commonplace.output_of("memory", "write", "A new line.", "--workspace", str(workspace))
    assert ".md" in written
