"""What `/status` and `/memory status` tell of searching and of what goes on by itself."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from bot.access import Access, Standing
from bot.commands.command import run_command
from bot.commands.registry import COMMANDS
from bot.config.reload import LiveSettings
from bot.config.settings import AccessSettings, Settings
from bot.maintenance.background import Background
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.state.database import State
from bot.supervisor import TaskFailure
from memory.embeddings.embedder import Embedder
from memory.embeddings.factory import Embedding, open_embedding
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.services import ChannelsAt, services

MESSAGE = IncomingMessage(
    "1", ChatId("terminal", "main"), PersonId("terminal", "owner"), "", datetime.now(UTC)
)


OWNERS = timezone(timedelta(hours=5, minutes=45))
CLOCK = r"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d"


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer() as server:
        yield server


def memory_in(folder: Path, table: dict[str, Any] | None = None) -> Memory:
    settings = MemorySettings.model_validate({"embedding": table or {"provider": "none"}})
    embedding = open_embedding(settings.embedding, sections={}, environment={}) if table else Embedding()
    return Memory(settings, workspace=folder, now=lambda: datetime.now(UTC), embedding=embedding)


def by(server: EmbeddingServer, key: str = KEY) -> dict[str, Any]:
    return {"provider": "openai", "base_url": server.base_url("openai"), "api_key": key}


async def told(
    memory: Memory,
    *,
    background: Background | None = None,
    failures: Sequence[TaskFailure] = (),
    standing: Standing = Standing.OWNER,
    command: str = "status",
) -> list[str]:
    name, _, rest = command.partition(" ")
    with TemporaryDirectory() as folder:
        async with State(copy_fresh_state(Path(folder) / "state.db")) as state:
            given = services(
                commands=COMMANDS,
                memory=memory,
                state=state,
                access=Access(AccessSettings(), state),
                background=background,
                channels=ChannelsAt(dict),
                live_settings=LiveSettings(Settings()),
                supervisor=SimpleNamespace(failures=failures),
                now=lambda: datetime.now(OWNERS),
                model=alone(ScriptedModel()),
            )
            text = await run_command(
                name, rest, message=MESSAGE, standing=standing, key="message-1", services=given
            )
    assert isinstance(text, str)
    return text.splitlines()


async def test_without_vectors_the_owner_is_told_why(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        assert "Search: by words alone (no provider is set)" in await told(memory)
        assert "Search: by words alone" in await told(memory, standing=Standing.ALLOWED)


async def test_guests_are_told_model_and_chat_alone(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        lines = await told(memory, standing=Standing.GUEST)
        assert [line.partition(":")[0] for line in lines] == ["Model", "Chat"]


async def test_times_are_on_the_owners_clock(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        assert "Last indexed: never" in await told(memory, command="memory status")
        await memory.write("One note")
        begun = datetime.now(OWNERS)
        await memory.search("note")
        (line,) = (
            line for line in await told(memory, command="memory status") if line.startswith("Last indexed: ")
        )
        at = datetime.now(OWNERS)
        # Of yesterday it tells the date, too.
        assert line.rpartition(" ")[2] in {f"{begun:%H:%M}", f"{at:%H:%M}"}


@pytest.mark.parametrize("command", ["status", "memory status"])
async def test_with_vectors_it_tells_model_and_what_is_missing(
    tmp_path: Path, server: EmbeddingServer, command: str
) -> None:
    async with memory_in(tmp_path, by(server)) as memory:
        await memory.write("One note")
        lines = await told(memory, command=command)
        reason = "openai: set in memory.embedding.provider"
        assert f"Search: by meaning and by words, using text-embedding-3-small from {reason}" in lines
        assert "Vectors: 1 missing" in lines
        await memory.fill_vectors()
        assert "Vectors: complete" in await told(memory, command=command)


async def test_a_provider_that_fails_is_told_to_the_owner_alone(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    async with memory_in(tmp_path, by(server, key="wr0ng-key")) as memory:
        await memory.write("One note")
        await memory.search("note")
        lines = await told(memory)
        assert "Search: by words alone for now" in lines
        (line,) = (line for line in lines if line.startswith("Vectors: "))
        assert line.startswith("Vectors: 1 missing; openai answered 401: check memory.embedding.api_key")
        assert re.search(r"\(next try at (\d{4}-\d\d-\d\d )?\d\d:\d\d\)", line)
        assert "wr0ng-key" not in "\n".join(lines)
        others = "\n".join(await told(memory, standing=Standing.ALLOWED))
        assert "401" not in others
        assert "openai" not in others


async def test_the_owner_sees_the_watch_and_the_regular_look(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    async with memory, Background(memory, reindex_minutes=60, settle=0) as upkeep:
        (before,) = (line for line in await told(memory, background=upkeep) if line.startswith("Last scan"))
        assert re.fullmatch(rf"Last scan of all notes: (never|{CLOCK}); next: {CLOCK}", before)
    memory = memory_in(tmp_path)
    async with memory, Background(memory, reindex_minutes=0.005, settle=0) as upkeep:
        async with asyncio.timeout(20):
            while not (upkeep.reindex and upkeep.reindex.last_outcome):
                await memory.search("anything")
                await asyncio.sleep(0.02)
        lines = await told(memory, background=upkeep)
        assert any(line.startswith("Watching the folder: ") for line in lines)
        assert any(
            re.fullmatch(rf"Last scan of all notes: {CLOCK}, ok; next: {CLOCK}", line)
            or line.startswith("Scanning")
            for line in lines
        )
        others = await told(memory, background=upkeep, standing=Standing.ALLOWED)
        assert not any(line.startswith(("Watching", "Last scan")) for line in others)


async def test_the_owner_is_told_which_background_tasks_failed(tmp_path: Path) -> None:
    memory = Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC))
    failed = datetime(2026, 11, 21, 12, tzinfo=UTC)
    failures = [
        TaskFailure("reminders", "KeyError in menu.py, register", failed, 1, failed + timedelta(minutes=1)),
        TaskFailure("watcher", "OSError in memory.py, sync", failed, 2, None),
    ]
    async with memory:
        for command in ("status", "memory status"):
            first, second = [
                line
                for line in await told(memory, failures=failures, command=command)
                if line.startswith("The background task ")
            ]
            assert "“reminders” failed (KeyError in menu.py, register) and will restart at " in first
            assert "“watcher” failed at " in second
        others = await told(memory, failures=failures, standing=Standing.ALLOWED)
        assert not any("background task" in line for line in others)


@pytest.mark.parametrize("command", ["status", "memory status"])
async def test_while_a_fallback_stands_in_it_is_by_meaning(
    tmp_path: Path, server: EmbeddingServer, command: str
) -> None:
    async with with_fallback(tmp_path, server) as memory:
        await memory.write("One note")
        await memory.fill_vectors()
        assert (await memory.search("note")).notice == ""
        lines = await told(memory, command=command)
        assert any(line.startswith("Search: by meaning and by words, for now using ") for line in lines)
        assert any("openai answered 401" in line for line in lines)


async def test_why_it_was_by_words_is_told_to_the_owner_alone(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    async with memory_in(tmp_path, by(server, key="wr0ng-key")) as memory:
        await memory.write("One note")
        owner = "\n".join(await told(memory, command="recall note"))
        assert "One note" in owner
        assert "Searched by words alone: openai answered 401" in owner
        allowed = await told(memory, command="recall note", standing=Standing.ALLOWED)
        assert "> - One note" in allowed
        assert allowed[-1] == "Searched by words alone for now."
        assert "openai" not in "\n".join(allowed)


def with_fallback(folder: Path, server: EmbeddingServer) -> Memory:
    """A memory whose provider refuses its key, and whose fallback is well."""
    refused, well = (
        open_embedding(
            MemorySettings.model_validate({"embedding": by(server, key)}).embedding,
            sections={},
            environment={},
        )
        for key in ("wr0ng-key", KEY)
    )
    assert refused.primary
    assert well.primary
    embedder = Embedder(refused.primary, well.primary)
    embedding = Embedding(refused.choice, well.choice, refused.primary, embedder)
    return Memory(MemorySettings(), workspace=folder, now=lambda: datetime.now(UTC), embedding=embedding)


async def test_the_memory_command_warns_of_a_core_note_that_is_too_long(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        await memory.write("Short.", target="core")
        assert not [line for line in await told(memory, command="memory") if "MEMORY.md" in line]
        await memory.write("A fact that everybody should know. " * 300, target="core")
        [line] = [line for line in await told(memory, command="memory") if "MEMORY.md" in line]
    assert line.startswith("MEMORY.md is 10,5")
    assert "shorten it, or move" in line
