"""Conversations over HTTP: found by who has the token, and by nobody where there is none."""

from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.conversations.conversation import Conversation
from bot.messages import ChatId
from bot.models.protocol import UserMessage
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


async def fill(site: WebClient) -> None:
    talk = Conversation(site.services.state, ChatId("telegram", "1"))
    await talk.load()
    await talk.append(UserMessage("the boat is <said>"))
    await site.services.memory.write("the boat is noted")


async def rpc(site: WebClient, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "method": "memory.search", "params": params, "id": 1}
    async with site.client.post("/rpc", json=body, headers=site.token) as answer:
        document: dict[str, Any] = (await answer.json())["result"]
        return document


async def page(site: WebClient, address: str) -> HtmlPage:
    async with site.client.get(address, headers=site.token) as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


async def test_a_program_with_the_token_finds_what_was_said(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        await fill(site)
        assert [hit["source"] for hit in (await rpc(site, query="boat"))["results"]] == ["fts"]
        assert [hit["source"] for hit in (await rpc(site, query="boat", source="notes"))["results"]] == [
            "fts"
        ]
        (hit,) = (await rpc(site, query="boat", source="conversations"))["results"]
        assert (hit["source"], hit["ref"], hit["snippet"]) == ("conversation", "1:1", "the boat is <said>")
        both = (await rpc(site, query="boat", source="all"))["results"]
        assert sorted(hit["source"] for hit in both) == ["conversation", "fts"]


async def test_the_page_searches_them_too(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        await fill(site)
        shown = await page(site, "/search?q=boat&source=all")
        text = shown.by_id("found").text
        assert text.startswith("2 passages for “boat”")
        assert "the boat is <said>" in text
        assert "Telegram, " in text
        assert [each.text for each in shown.all("mark")] == ["boat", "boat"]
        chosen = [each.attributes["value"] for each in shown.all("option") if "selected" in each.attributes]
        assert chosen == ["all"]
        assert (
            "1 passage for" in (await page(site, "/search?q=boat&source=conversations")).by_id("found").text
        )
        assert "<said>" not in (await page(site, "/search?q=boat&source=web")).by_id("found").text
        assert (await page(site, "/")).by_id("source")


async def test_without_a_token_nobody_finds_them(tmp_path: Path) -> None:
    """Every account of the machine may call then, and the file is the user's alone."""
    async with open_web_client(tmp_path) as site:
        await fill(site)
        for source in ("conversations", "all"):
            found = await rpc(site, query="boat", source=source)
            assert "<said>" not in str(found["results"])
            assert found["notice"] == phrases.CONVERSATIONS_OVER_HTTP
        shown = await page(site, "/search?q=boat&source=all")
        assert "<said>" not in shown.by_id("found").text
        assert not list(shown.all("select"))


async def test_where_they_are_not_searched_that_is_said(tmp_path: Path) -> None:
    off = {"memory": {"conversations": {"enabled": False}}}
    async with open_web_client(tmp_path, token=TOKEN, **off) as site:
        await fill(site)
        found = await rpc(site, query="boat", source="conversations")
        assert found == {"query": "boat", "results": [], "notice": phrases.CONVERSATIONS_OFF}
        assert not list((await page(site, "/search?q=boat")).all("select"))
