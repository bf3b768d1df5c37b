"""Write a workspace that holds a row of every kind, as the code beside it stores them: FOLDER [postgres.sql].

`PYTHONPATH=. python tests/stored/write_workspace.py tests/stored/november_2026` wrote the workspace of that name.
A release that changes what is stored writes another one beside it; the older ones stay as they are.
"""

import asyncio
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import apsw

from bot.config.settings import MemorySection
from bot.messages import Attachment, ChatId
from bot.models.errors import RateLimited
from bot.models.health import CallOutcome, RouteName
from bot.state import access, channels, chat_migration, forgetting, imports, note_effects
from bot.state.channels import Unread
from bot.state.imports import ImportedNote, NewConversation, NewMessage
from bot.state.inbox import add_notice
from bot.tools.toolbox import tool
from memory.embeddings.factory import open_embedding
from memory.formatting import format_block
from memory.locked_note import LockedNote
from memory.memory import Memory
from memory.postgres.server import Server
from memory.write_result import WriteResult
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.harness import Harness, open_harness
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import NOW

OWNER, FRIEND, STRANGER = "telegram:1", "telegram:2", "telegram:77"
MANUAL = Attachment("document", "manual-1", "boiler.txt", "text/plain", 58)
NOTES = {
    "MEMORY.md": "# Memory\n\n- Anna is allergic to peanuts.\n",
    "2026-11-19.md": "# 2026-11-19\n\n- The boiler was serviced by Mr Lang.\n- 备用钥匙在门口的花盆下面。\n",
    "trips/oslo.md": "# Oslo\n\nWe stay at the Grand Hotel, room 402.\n\n- Take the tram 12 to Majorstuen.\n",
}
DIMENSIONS = 16
NOTE_KINDS: tuple[Literal["file", "lines"], ...] = ("file", "lines")


asking_for_the_weather = asyncio.Event()


@tool
async def weather() -> dict[str, Any]:
    """Tell the weather, which takes for ever."""
    asking_for_the_weather.set()
    await asyncio.Event().wait()
    return {}


async def main(folder: Path, dump: Path) -> None:
    """Write `folder`/workspace and the dump of a PostgreSQL index of its notes."""
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        for path, text in NOTES.items():
            (note := workspace / "memory" / path).parent.mkdir(parents=True, exist_ok=True)
            note.write_text(text, "utf-8")
        model = ScriptedModel()
        async with open_harness(workspace, model=model, tools=[weather], pauses=[60.0]) as house:
            house.terminal.files["manual-1"] = (
                b"Boiler manual. Press the red button for three seconds to reset."
            )
            await talk(house, model)
            await people(house)
            await channel_rows(house)
            await removals(house)
            await effects(house, workspace / "memory")
            await import_rows(house)
            await break_off_in_the_middle_of_turns(house, model)
            await asyncio.to_thread(keep, workspace, folder / "workspace")
        await index(folder / "workspace", dump)
    shutil.rmtree(folder / "workspace" / ".commonplace" / "locks")


async def talk(house: Harness, model: ScriptedModel) -> None:
    """Conversations with tools, a summary, a flush, reminders, a document, a chosen model, statistics."""
    model.enqueue("Anna lives in Bergen, noted.", calls=())
    await house.say("Anna has moved to Bergen.", chat=OWNER, sender=OWNER)
    write = ("memory_write", {"content": "Anna lives in Bergen.", "target": "daily"})
    model.enqueue("I look it up. ", calls=[("memory_search", {"query": "boiler"}), write])
    model.enqueue("Mr Lang serviced the boiler.")
    await house.say("Who serviced the boiler? And note where Anna lives.")
    edit = {"path": "trips/oslo.md", "old": "room 402", "new": "room 405"}
    model.enqueue("", calls=[("memory_edit", edit), ("remind", {"when": "2027-05-04 09:00", "text": "tea"})])
    model.enqueue("Room 405 it is.")
    await house.say("It is room 405 after all, and remind me of tea on 4 May 2027 at 9.")
    await house.say("/remind 2027-05-05 10:00 water the plants")
    await house.say("/remind every monday 8:00 bins", chat=OWNER, sender=OWNER)
    await house.say("/remind 2027-05-06 10:00 cancelled one")
    await house.say("/reminders cancel 4")
    await house.say("/schedule every day 7:30 What is on today?")
    await house.say("/model scripted/model")
    model.enqueue("- Anna lives in Bergen.")
    await house.say("/flush")
    model.enqueue("Anna lives in Bergen; the room in Oslo is 405.")
    await house.say("/compact")
    model.enqueue("- Nothing new was said.")
    await house.say("/new", chat=OWNER, sender=OWNER)
    model.enqueue("A new conversation.")
    await house.say("Hello again.", chat=OWNER, sender=OWNER)
    await house.say("/remember", attachments=(MANUAL,))
    at = NOW.timestamp()
    failed = CallOutcome(
        RouteName("openai/gpt-4.1", "1a2b"), at, error=RateLimited("slow down", retry_after=5)
    )
    await house.state.record_outcomes([failed])


async def people(house: Harness) -> None:
    """Somebody let in, a guest, one kept out, one who asks, a wrong code, a room with an open memory."""
    at = house.state.at()

    def write(db: apsw.Connection) -> None:
        access.save_decision(db, "telegram:10", "allowed", name="Ben", by=OWNER, at=at)
        access.save_decision(db, "telegram:11", "guest", name="Cleo", by=OWNER, at=at)
        access.save_decision(db, "telegram:12", "denied", name="Mallory", by=OWNER, at=at)
        access.open_memory(db, "telegram:-500", memory=True)

    await house.state.change(write)
    await house.say("Let me in!", chat=STRANGER, sender=STRANGER)
    await house.say("/pair WRONG234", chat=OWNER, sender=OWNER)


async def channel_rows(house: Harness) -> None:
    """What channels note for themselves, what could not be read, a chat that got another id."""
    at = house.state.at()

    def write(db: apsw.Connection) -> None:
        channels.save_fact(db, "telegram", "offset", "4711")
        channels.save_unread(db, Unread("telegram", "4710", '{"update_id": 4710}', "KeyError", at))
        chat_migration.save_move(db, ChatId.parse("telegram:-600"), ChatId.parse("telegram:-100600"), at=at)
        chat_migration.mark_moved(db, ChatId.parse("telegram:-600"))

    await house.state.change(write)


async def effects(house: Harness, notes: Path) -> None:
    """Writes to the notes at every stage at which a crash may leave one."""
    path = "2026-11-20.md"
    state, memory = house.state, house.memory
    loop = asyncio.get_running_loop()

    def change(work: Callable[[apsw.Connection], None]) -> None:
        asyncio.run_coroutine_threadsafe(state.change(work), loop).result()

    def append(note: LockedNote, key: str, block: str, write: Callable[[LockedNote], None]) -> None:
        intent: Mapping[str, Any] = {
            "append": {"block": block, "title": "2026-11-20", "at": ""},
            "before": asdict(note.before_append(block)),
        }
        change(lambda db: note_effects.save_intent(db, key, note.path, intent, at=state.at()))
        write(note)

    async def leave(key: str, text: str, write: Callable[[LockedNote, str], None]) -> None:
        block = format_block(text)
        step = partial(append, key=key, block=block, write=lambda note: write(note, block))
        await memory.hold(path, step, existing=False)

    await leave("done-but-not-noted", "- Written, not noted.", note_it)
    await leave("not-done", "- Intended, not written.", lambda note, block: None)
    await state.change(lambda db: note_effects.mark_not_done(db, "not-done"))
    await leave("torn", "- A line that was torn in the middle.", partial(tear, notes / path))

    def edit(note: LockedNote) -> WriteResult:
        old, new = "tram 12", "tram 13"
        intent = {"edit": {"old": old, "new": new}, "before": asdict(note.plan_edit(old, new)[0])}
        change(
            lambda db: note_effects.save_intent(
                db, "edit-done-but-not-noted", note.path, intent, at=state.at()
            )
        )
        return note.edit(old, new)

    await memory.hold("trips/oslo.md", edit, existing=True)


def note_it(note: LockedNote, block: str) -> None:
    note.append(block, title="2026-11-20", at="", before=note.before_append(block))


def tear(file: Path, note: LockedNote, block: str) -> None:
    del note
    with file.open("a", encoding="utf-8") as half:
        half.write(block[: len(block) // 2])


async def removals(house: Harness) -> None:
    """A removal that waits for its confirmation, and one that was confirmed and not carried out to its end."""
    await house.say("/forget tram", chat=OWNER, sender=OWNER)
    asked = await house.state.read(lambda db: forgetting.read_request(db, OWNER, OWNER))
    assert asked is not None
    other = replace(asked, chat="telegram:2", person=FRIEND, key="message-0", unfinished=True)
    await house.state.change(lambda db: forgetting.save_request(db, other))


async def import_rows(house: Harness) -> None:
    """A conversation and notes that were imported, and an import that was interrupted."""
    at = house.state.at()

    def write(db: apsw.Connection) -> None:
        begin = partial(imports.begin_run, db, at=at)
        run = begin(chat=f"imported:{OWNER}", format="auto", source="/home/anna/export.zip")
        message = NewMessage(4711, "user", '{"text": "Where is the violin?", "documents": []}', at)
        imports.add_conversation(db, run, NewConversation("chatgpt", "c1", "The violin", at, [message]))
        imports.end_run(db, run.run, at=at, format="chatgpt")
        notes = begin(chat="", format="markdown", source="/home/anna/vault")
        for kind in NOTE_KINDS:
            imports.save_note(
                db, ImportedNote(notes.run, f"{kind}.md", "00ff", f"{kind}.md", kind, ("00ff",))
            )

    await house.state.change(write)


async def break_off_in_the_middle_of_turns(house: Harness, model: ScriptedModel) -> None:
    """Two turns cut off, after a step and within one; a message that waits; a reply and a notice not delivered."""
    house.telegram.breaks_on = str(int(house.sent[-1].id) + 1)
    model.enqueue("This reply was never shown.")
    await house.accept("Can you hear me?", chat=FRIEND, sender=FRIEND, alone=False)
    await house.wait_until_asked(len(model.history) + 1)
    write = ("memory_write", {"content": "The meter stands at 4711.", "target": "daily"})
    model.enqueue("I note that. ", calls=[write])
    model.enqueue("Half of an ans", hang=True)
    asked = len(model.history)
    await house.accept("The meter stands at 4711.", chat="telegram:-100900", sender=OWNER)
    await house.wait_until_asked(asked + 2)
    await house.accept("And what did it say last year?", chat="telegram:-100900", sender=OWNER)
    write = ("memory_write", {"content": "The fuse box is in the cellar.", "target": "daily"})
    model.enqueue("One moment. ", calls=[write, ("weather", {})])
    await house.accept("The fuse box is in the cellar; will it rain?", chat="telegram:-100901", sender=OWNER)
    await asking_for_the_weather.wait()
    await until_noted(house, "effects", "result IS NOT NULL AND key LIKE 'call-6-%'")
    await until_noted(house, "inbox", "reply = 'This reply was never shown.'")
    at = house.state.at()
    await house.state.change(
        lambda db: add_notice(db, "discord:5", "Reminder: tea", key="reminder-9", owner="", at=at)
    )


async def until_noted(house: Harness, table: str, where: str) -> None:
    async with asyncio.timeout(5):
        query = f"SELECT count(*) FROM {table} WHERE {where}"
        while not await house.state.read(lambda db: db.execute(query).get):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def keep(workspace: Path, target: Path) -> None:
    """Copy the notes, and state.db as it is at this moment, as a crash would leave it."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(workspace / "memory", target / "memory")
    (target / ".commonplace").mkdir(mode=0o700)
    with (
        closing(apsw.Connection(str(workspace / ".commonplace" / "state.db"))) as source,
        closing(apsw.Connection(str(target / ".commonplace" / "state.db"))) as copy,
        copy.backup("main", source, "main") as backup,
    ):
        backup.step()
    shutil.copytree(workspace / ".commonplace" / "trash", target / ".commonplace" / "trash")


async def index(workspace: Path, dump: Path) -> None:
    """Index the notes with vectors, in SQLite and in PostgreSQL; keep the latter as a dump."""
    async with EmbeddingServer() as server:
        embedding = {
            "provider": "openai",
            "base_url": server.base_url("openai"),
            "api_key": KEY,
            "model": "text-embedding-3-small",
            "dimensions": DIMENSIONS,
        }
        settings = MemorySection.model_validate({"embedding": embedding, "watch": {"enabled": False}})
        opened = partial(open_embedding, settings.embedding, sections={}, environment={})
        async with Memory(settings, workspace=workspace, now=lambda: NOW, embedding=opened()) as memory:
            await memory.sync()
            await memory.fill_vectors()
            print(json.dumps((await memory.status()).total_chunks))
        postgres = PostgresServer()
        try:
            with postgres.database() as url, tempfile.TemporaryDirectory() as name:
                elsewhere = Path(name, "workspace")
                shutil.copytree(workspace / "memory", elsewhere / "memory")
                async with Memory(
                    settings, workspace=elsewhere, now=lambda: NOW, embedding=opened(), server=Server(url)
                ) as memory:
                    await memory.sync()
                    await memory.fill_vectors()
                dump.write_bytes(gzip.compress(postgres.dump(url).encode(), mtime=0))
        finally:
            postgres.close()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    asyncio.run(main(target, target / "postgres.sql.gz"))
