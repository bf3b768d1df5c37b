from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from bot import phrases
from bot.conversations.conversation import Conversation
from bot.messages import ChatId
from bot.models.protocol import UserMessage
from bot.web.page.search import MAX_PASSAGES, MAX_QUERY_CHARS, merge_hits
from memory.search import SearchHit
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

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
    assert (await search(site, "zeppelin")).by_id("found").text == (
        "Nothing found for “zeppelin” Try fewer or other words."
    )


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


def places(shown: HtmlPage) -> list[str]:
    return [
        each.text
        for each in shown.all("a")
        if each.attributes["href"].startswith("/notes/") and ".md:" in each.text
    ]


def link(shown: HtmlPage, text: str) -> str:
    """The address of a link in what was found."""
    (found,) = (each for each in shown.all("a") if each.text == text)
    return found.attributes["href"]


async def follow(site: WebClient, address: str) -> HtmlPage:
    async with site.client.get(address.partition("#")[0], headers=site.token) as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


async def test_more_follows_and_what_was_shown_keeps_its_place(site: WebClient) -> None:
    for number in range(19):
        words = "zeppelin " * (1 + number % 3) + "and other words " * (number % 7)
        (site.folder / f"memory/2026-01-{number + 1:02}.md").write_text(f"- {words} {number}\n", "utf-8")
    usual = [hit.path for hit in (await site.services.memory.search("zeppelin")).hits]
    shown = await search(site, "zeppelin")
    assert shown.by_id("found").text.startswith("5 of 19 passages for “zeppelin”")
    first = places(shown)
    assert [place.partition(":")[0] for place in first] == usual
    for count, more in ((15, "Show 10 more"), (19, "Show 4 more")):
        address = link(shown, more)
        assert address == f"/search?q=zeppelin&limit={count}#hit-{len(first) + 1}"
        shown = await follow(site, address)
        assert places(shown)[: len(first)] == first
        first = places(shown)
        assert len(set(first)) == len(first) == count
    assert shown.by_id("found").text.startswith("19 passages for “zeppelin”")
    assert "more" not in [each.text.partition(" ")[0] for each in shown.all("a")]


async def test_of_very_many_the_best_are_shown_and_that_there_are_more_is_said(site: WebClient) -> None:
    for number in range(MAX_PASSAGES + 20):
        (site.folder / f"memory/{number}.md").write_text(f"a zeppelin {number}\n", "utf-8")
    shown = await search(site, "zeppelin")
    assert "5 of 25 or more passages" in shown.by_id("found").text
    shown = await search(site, "zeppelin", limit=str(MAX_PASSAGES))
    assert len(shown.all("blockquote")) == MAX_PASSAGES
    assert "These are the best 25." in shown.by_id("found").text


async def test_a_page_of_results_is_light(site: WebClient) -> None:
    for number in range(MAX_PASSAGES):
        text = f"# A heading\n\n## The zeppelin\n\n{'The zeppelin landed in the field behind the house. ' * 14}\n"
        (site.folder / f"memory/a rather long name {number}.md").write_text(text, "utf-8")
    params = {"q": "zeppelin house", "limit": str(MAX_PASSAGES)}
    async with site.client.get("/search", params=params, headers=site.token) as answer:
        text = await answer.text()
    assert len(HtmlPage(text).all("blockquote")) == MAX_PASSAGES
    assert len(text.encode()) < 60_000


async def test_a_folder_is_searched_alone(site: WebClient) -> None:
    for path in ("house/boiler.md", "trips/boiler.md", "a & b/boiler.md", "boiler.md"):
        file = site.folder / "memory" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("The boiler hums.\n", "utf-8")
    shown = await search(site, "boiler hums", folder="a & b")
    assert places(shown) == ["a & b/boiler.md:1"]
    assert [each.attributes["value"] for each in shown.all("option")] == ["", "a & b", "house", "trips"]
    assert [each.text for each in shown.all("option") if "selected" in each.attributes] == ["a & b"]
    (details,) = (each for each in shown.all("details") if each.attributes.get("class") == "filters")
    assert "open" in details.attributes
    assert "Folder: a & bClear the filters" in shown.by_id("found").text
    shown = await follow(site, link(shown, "Clear the filters"))
    assert len(places(shown)) >= 4
    hostile = """"><script>alert(1)</script>"""
    shown = await search(site, "boiler", folder=hostile)
    assert all("nonce" in each.attributes for each in shown.all("script"))
    assert f"Folder: {hostile}" in shown.by_id("found").text
    assert "or search without the filters" in shown.by_id("found").text
    assert link(shown, "search without the filters") == "/search?q=boiler"


async def test_only_what_was_told_on_wanted_days_is_found(site: WebClient) -> None:
    for day in ("2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01"):
        (site.folder / f"memory/{day}.md").write_text("- The boiler hums.\n", "utf-8")
    for dates, days in (
        ({"from": "2026-02-01", "to": "2026-02-28"}, {"2026-02-01", "2026-02-28"}),
        ({"from": "2026-02-28"}, {"2026-02-28", "2026-03-01"}),
        ({"to": "2026-01-31"}, {"2026-01-31"}),
        ({"to": "2025-01-31"}, set()),
    ):
        shown = await search(site, "boiler hums", **dates)
        assert {place.partition(".")[0] for place in places(shown)} == days
        told = {name: shown.by_id(name).attributes["value"] for name in ("from", "to")}
        assert told == {"from": "", "to": "", **dates}
        assert "notes without a date are left out" in shown.by_id("found").text
    shown = await search(site, "boiler", **{"from": "2026-02-01", "to": "2026-02-28"})
    assert "From: 1 February 2026Until: 28 February 2026" in shown.by_id("found").text
    shown = await search(site, "boiler", **{"from": "2026-02-02", "to": "2026-02-01"})
    assert phrases.WEB_SEARCH_NO_DAY in shown.by_id("found").text
    for nonsense in ("x", "2026-02-30", "9" * 30, ""):
        shown = await search(site, "boiler hums", **{"from": nonsense})
        assert len(places(shown)) == 5, nonsense


async def test_filters_hold_for_what_comes_more(site: WebClient) -> None:
    folder = site.folder / "memory/logs"
    folder.mkdir()
    for number in range(9):
        (folder / f"2026-01-{number + 1:02}.md").write_text("- a zeppelin\n", "utf-8")
        (site.folder / f"memory/2026-01-{number + 1:02}.md").write_text("- a zeppelin\n", "utf-8")
    shown = await search(site, "zeppelin", folder="logs", **{"from": "2026-01-02", "limit": "7"})
    assert "7 of 8 passages" in shown.by_id("found").text
    shown = await follow(site, link(shown, "Show 1 more"))
    assert {place.partition(".")[0] for place in places(shown)} == {
        f"logs/2026-01-{number:02}" for number in range(2, 10)
    }


async def test_conversations_are_searched_by_day_and_page_by_page(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        talk = Conversation(site.services.state, ChatId("telegram", "1"))
        await talk.load()
        for number in range(12):
            await talk.append(UserMessage(f"zeppelin number {number} <b>"))
        await site.services.memory.write("a zeppelin is noted")
        shown = await follow(site, "/search?q=zeppelin")
        assert "search conversations too" not in shown.by_id("found").text
        shown = await follow(site, "/search?q=number")
        shown = await follow(site, link(shown, "search conversations too"))
        first = [each.text for each in shown.all("blockquote")]
        shown = await follow(site, link(shown, "Show 7 more"))
        said = [each.text for each in shown.all("blockquote")]
        assert said[: len(first)] == first
        assert sorted(said) == sorted(f"zeppelin number {number} <b>" for number in range(12))
        today = site.services.now().date()
        for day, count in ((today, 5), (today + timedelta(days=1), 0)):
            shown = await follow(site, f"/search?q=number&source=conversations&folder=house&from={day}")
            assert len(shown.all("blockquote")) == count
            assert "Folder" not in shown.by_id("found").text


def test_hits_that_share_a_line_are_shown_once() -> None:
    def hit(path: str, first: int, last: int) -> SearchHit:
        return SearchHit(path, first, last, "", 0.5, "fts", "")

    first = [hit("a.md", 3, 5), hit("b.md", 1, 1)]
    more = [hit("a.md", 5, 9), hit("b.md", 2, 2), hit("a.md", 6, 6), hit("b.md", 1, 1)]
    assert merge_hits(first, more) == [*first, more[1], more[2]]
