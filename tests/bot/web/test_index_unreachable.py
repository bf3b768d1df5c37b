"""What is told of a memory whose index is on a server, there and away: an unknown number is no 0."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot import phrases
from bot.access import Standing
from bot.commands.command import CommandCall
from bot.commands.general import show_status
from bot.commands.memory import manage_memory
from bot.maintenance.background import Background
from memory.errors import IndexUnavailable
from memory.postgres.url import format_url
from tests.bot.cluster.relay import Relay
from tests.fakes.html_page import HtmlPage
from tests.fakes.turns import message
from tests.fakes.web_client import WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

ONLY_THE_INDEX_KNOWS = (
    "memory_chunks",
    "memory_chunks_with_vector",
    "memory_chunks_without_vector",
    "memory_missing_vectors",
    "memory_cache_entries",
    "memory_cache_hits",
    "memory_last_indexed_timestamp_seconds",
)


DEGRADED = {"status": "degraded", "files": 1, "total_chunks": None, "vectors": "off"}
AWAY = "postgresql://me:s3cret@127.0.0.1:9/none"


class Site:
    """A website whose index is on a server."""

    def __init__(self, website: WebClient) -> None:
        self.website = website

    async def memory_health(self) -> object:
        answer = await self.website.client.get("/healthz")
        assert answer.status == 200, "to start it anew would mend nothing"
        return (await answer.json())["memory"]

    async def page(self, path: str = "/") -> HtmlPage:
        return HtmlPage(await (await self.website.client.get(path)).text())

    async def metrics(self) -> dict[str, float]:
        text = await (await self.website.client.get("/metrics")).text()
        return {
            family.name.removeprefix("commonplace_"): family.samples[0].value
            for family in text_string_to_metric_families(text)
            if family.samples
        }

    async def asked(self, command: str) -> str:
        """What the assistant says to a command."""
        parts = [part async for part in self.website.assistant.answer(message(f"/{command}"))]
        return parts[-1].text

    async def told(self, command: str, **parts: Any) -> list[str]:
        """What an owner is told in a chat."""
        services = replace(self.website.services, **parts)
        call = CommandCall(message(f"/{command}"), Standing.OWNER, {}, "k")
        told = await (show_status if command == "status" else manage_memory)(call, services)
        assert isinstance(told, str)
        return told.splitlines()


@asynccontextmanager
async def opened(folder: Path, url: str) -> AsyncIterator[Site]:
    (folder / "memory").mkdir()
    (folder / "memory" / "house.md").write_text("The boiler is blue.\n")
    async with open_web_client(folder, index={"url": url}) as website:
        yield Site(website)


@pytest.fixture
async def away(tmp_path: Path) -> AsyncIterator[Site]:
    async with opened(tmp_path, AWAY) as site:
        yield site


async def test_while_the_server_answers_all_is_known(tmp_path: Path, database: str) -> None:
    async with opened(tmp_path, database) as site:
        (site.website.settings.private_folder / "index.db").write_text("left from before")
        health = {"status": "ok", "files": 1, "total_chunks": 1, "vectors": "off"}
        assert await site.memory_health() == health
        metrics = await site.metrics()
        assert (metrics["index_up"], metrics["memory_chunks"]) == (1, 1)
        assert "index_bytes" not in metrics, "that file is not the index"
        assert "state_bytes" in metrics
        assert format_url(database) in (await site.page("/system")).by_id("index-facts").text
        assert "Chunks: 1" in await site.told("status")


async def test_forgetting_says_that_other_instances_have_conversations_of_their_own(
    tmp_path: Path, database: str
) -> None:
    async with opened(tmp_path, database) as site:
        (code,) = re.findall(r"/forget yes (\w+)", await site.asked("forget boiler"))
        told = await site.asked(f"forget yes {code}")
        assert told.startswith("Forgotten.")
        assert phrases.FORGET_OTHER_INSTANCES in told


@pytest.mark.thorough
async def test_a_server_that_goes_is_told_of_also_while_it_is_still_waited_for(
    tmp_path: Path, database: str
) -> None:
    relay = Relay(database)
    async with opened(tmp_path, await relay.open()) as site:
        assert (await site.metrics())["index_up"] == 1
        relay.cut()
        async with asyncio.timeout(20):
            while True:
                health = await site.memory_health()
                assert health in ({"status": "busy"}, {"status": "degraded"}, DEGRADED)
                if health == DEGRADED:
                    break
        assert (await site.metrics())["index_up"] == 0
        await relay.close()


async def test_while_it_is_away_what_only_it_knows_is_not_known(away: Site) -> None:
    assert await away.memory_health() == DEGRADED
    metrics = await away.metrics()
    assert metrics["index_up"] == 0
    assert metrics["memory_up"] == 1
    assert metrics["memory_files"] == 1
    assert not metrics.keys() & set(ONLY_THE_INDEX_KNOWS)
    page = await away.page()
    assert "The index can't be used, so I search the files one by one" in page.by_id("attention").text
    shown = page.by_id("memory-facts").text
    assert "note1 chunks? with vectors? without?" in shown
    assert "Last indexedunknown" in (await away.page("/system")).by_id("index-facts").text
    answer = await away.website.client.post(
        "/rpc", json={"jsonrpc": "2.0", "id": 1, "method": "memory.status"}
    )
    told = (await answer.json())["result"]
    assert (told["files"], told["total_chunks"], told["missing_vectors"]) == (1, None, None)
    assert (told["last_indexed_at"], told["cache"]["entries"], told["problems"]) == (None, None, [])
    assert "does not answer" in told["index_problem"]
    assert "s3cret" not in str(told)


@pytest.mark.parametrize("command", ["status", "memory"])
async def test_a_chat_is_told_that_it_is_away_and_not_where_it_is(away: Site, command: str) -> None:
    told = await away.told(command)
    assert "Notes: 1" in told
    assert "Chunks: unknown" in told
    assert "Search: by words alone for now, reading the files one by one" in told
    assert any(line.startswith("Index: I can't use its server right now.") for line in told)
    assert "127.0.0.1" not in "\n".join(told)
    assert "postgresql://" not in "\n".join(told)
    if command == "memory":
        assert "Last indexed: unknown" in told


@pytest.mark.thorough
async def test_nor_by_what_a_job_or_a_command_failed_of(away: Site) -> None:
    memory = away.website.services.memory
    async with Background(memory, reindex_minutes=0.02, settle=0) as upkeep:
        async with asyncio.timeout(10):
            while True:
                if (reindex := upkeep.reindex) and reindex.last_outcome:
                    break
                await asyncio.sleep(0.02)
        assert "127.0.0.1" in reindex.last_outcome, "the page may tell"
        for command in ("status", "memory"):
            told = "\n".join(await away.told(command, background=upkeep))
            assert "the index server does not answer" in told
            assert "127.0.0.1" not in told
    with pytest.raises(IndexUnavailable) as raised:
        await memory.sync()
    said = away.website.assistant._dispatcher.explain_error(message("/reindex"), raised.value)
    assert said == "the index server does not answer"


async def test_nor_by_the_servers_own_words(away: Site) -> None:
    told = (
        "postgresql://me@127.0.0.1:9/none does not answer (failed to resolve host 'db.lan': (-2) not known)"
    )
    unplaced = away.website.services.memory.redact_server_address
    assert unplaced(f"failed: {told}; again soon") == "failed: the index server does not answer; again soon"
    assert unplaced("a note (of mine) cannot be read") == "a note (of mine) cannot be read"


async def test_nor_by_what_could_not_be_forgotten(away: Site) -> None:
    found = await away.asked("forget boiler")
    (code,) = re.findall(r"/forget yes (\w+)", found)
    told = await away.asked(f"forget yes {code}")
    assert "house.md was not changed" in told
    assert "the index server does not answer; try again" in told
    assert "127.0.0.1" not in told
