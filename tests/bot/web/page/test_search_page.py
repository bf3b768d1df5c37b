from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from bot import phrases
from bot.web.page.search import MAX_PASSAGES, MAX_QUERY_CHARS
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path) as site:
        notes = tmp_path / "memory"
        notes.mkdir()
        (notes / "the house #1.md").write_text("# House\n\n## Boiler\n\nIts code is E119.\n", "utf-8")
        (notes / "护照.md").write_text("我的护照在北京大学里。\n", "utf-8")
        yield site


async def search(site: WebClient, query: str, **more: str) -> HtmlPage:
    async with site.client.get("/search", params={"q": query, **more}) as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


def marked(shown: HtmlPage) -> list[str]:
    return [each.text for each in shown.all("mark")]


async def test_a_passage_is_shown_with_its_place_its_words_and_its_scores(site: WebClient) -> None:
    shown = await search(site, "boiler codes")
    found = shown.by_id("found")
    link, *_ = [each for each in shown.all("a") if each.attributes["href"].startswith("/notes/t")]
    assert link.text == "the house #1.md:5"
    assert link.attributes["href"] == f"/notes/{quote('the house #1.md')}#L5"
    assert marked(shown)[:2] == ["Boiler", "code"]
    assert found.text.startswith("2 passages for “boiler codes” Searched by words alone.")
    scores = [each.text for each in shown.all("dd")]
    assert scores[1] == "not compared"
    assert scores[0] == scores[2] != "0.00"
    assert shown.by_id("q").attributes["value"] == "boiler codes"


async def test_a_fact_that_changed_says_since_when_it_is_true(site: WebClient, tmp_path: Path) -> None:
    (tmp_path / "memory/2024-04-04.md").write_text("- Alma's bank is Tomorrow <b>.\n", "utf-8")
    (tmp_path / "memory/2025-01-06.md").write_text("- Alma's bank is Bunq.\n", "utf-8")
    shown = await search(site, "Alma's bank")
    assert [each.text for each in shown.all("p") if each.attributes.get("class") == "history"] == [
        "Since 6 January 2025; before: “Alma's bank is Tomorrow <b>” (4 April 2024)",
        "Told on 4 April 2024; changed since, see 2025-01-06.md:1",
    ]


async def test_words_of_every_script_are_marked(site: WebClient) -> None:
    assert marked(await search(site, "北京大学 护照")) == ["护照", "北京大学"]


async def test_a_note_that_is_named_by_the_query_is_found_and_opened(site: WebClient) -> None:
    shown = await search(site, "护照")
    (link,) = [each for each in shown.all("a") if each.text == "护照.md:1"]
    async with site.client.get(link.attributes["href"].partition("#")[0]) as answer:
        assert answer.status == 200


async def test_what_is_not_there_is_not_found(site: WebClient) -> None:
    assert (await search(site, "zeppelin")).by_id("found").text == "Nothing found for “zeppelin”"


async def test_without_a_query_there_is_the_box_alone(site: WebClient) -> None:
    shown = await search(site, "  ")
    assert shown.by_id("found").text == ""
    assert "autofocus" in shown.by_id("q").attributes


async def test_meaning_has_a_score_of_its_own(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        embedding = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
        async with open_web_client(tmp_path, memory={"embedding": embedding}) as site:
            await site.services.memory.write("The boiler's code is E119")
            await site.services.memory.fill_vectors()
            shown = await search(site, "boiler code")
    assert "words alone" not in shown.by_id("found").text
    _, meaning, words = (float(each.text) for each in shown.all("dd"))
    assert 0 <= meaning <= 1
    assert 0 < words <= 1


async def test_it_says_why_meaning_did_not_count(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        embedding = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": "wrong"}
        async with open_web_client(tmp_path, memory={"embedding": embedding}) as site:
            await site.services.memory.write("The boiler's code is E119")
            shown = await search(site, "boiler code")
    assert "Searched by words alone: openai answered 401" in shown.by_id("found").text


async def test_a_limit_is_kept_and_nonsense_is_not_one(site: WebClient) -> None:
    for number in range(9):
        (site.folder / f"memory/{number}.md").write_text("a zeppelin\n", "utf-8")
    for limit, count in (("3", 3), ("9", 9), ("-1", 5), ("x", 5), ("", 5), ("9" * 30, 5), ("0", 5), ("²", 5)):
        assert len((await search(site, "zeppelin", limit=limit)).all("blockquote")) == count, limit
    assert len((await search(site, "zeppelin", limit="99999999")).all("blockquote")) == 9 <= MAX_PASSAGES


async def test_of_a_query_that_is_a_whole_document_the_beginning_is_looked_for(site: WebClient) -> None:
    shown = await search(site, "boiler " + "word " * MAX_QUERY_CHARS)
    assert "Boiler" in marked(shown)
    assert len(shown.by_id("q").attributes["value"]) == MAX_QUERY_CHARS


async def test_a_search_that_fails_says_so_on_the_page(site: WebClient) -> None:
    await site.services.memory.close()
    shown = await search(site, "boiler")
    assert "the memory was closed" in shown.by_id("found").text
    assert shown.by_id("q").attributes["value"] == "boiler"
    assert phrases.WEB_PANEL_FAILED not in shown.by_id("found").text
