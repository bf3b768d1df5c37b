import logging
import re
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from bot import phrases
from bot.commands.memory import describe_search
from bot.messages import ChannelHealth
from bot.models.errors import Overloaded, RateLimited
from bot.models.health import CallOutcome
from bot.models.protocol import Usage
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.html_page import HtmlPage
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = """"><img src=x onerror=alert(1)><script>alert(2)</script>'{{ 77*77 }}"""
PROVIDERS = {
    "openai": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_keys": ["first", "second"]}
}
WORDS_ALONE = {"embedding": {"provider": "none"}}
MODELS = {"chain": ["openai/gpt-test", "builtin/notebook"]}


@dataclass(slots=True)
class Channel(RecordingAdapter):
    state: ChannelHealth = field(default_factory=lambda: ChannelHealth("up"))

    @property
    def health(self) -> ChannelHealth:
        return self.state


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(
        tmp_path, timezone="Europe/Berlin", providers=PROVIDERS, models=MODELS, memory=WORDS_ALONE
    ) as site:
        yield site


async def page(site: WebClient, path: str = "/", *, status: int = 200) -> HtmlPage:
    async with site.client.get(path) as answer:
        assert answer.status == status
        return HtmlPage(await answer.text())


def facts(page: HtmlPage) -> dict[str, str]:
    """The terms of its description lists, and what is told of each."""
    names, values = ([each.text for each in page.elements if each.tag == tag] for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def outcomes(site: WebClient, *, answered: int, failed: int) -> None:
    """Have the first key of the model answer, and the second one fail."""
    first, second = (each.name for each in site.services.model.plan.chain[0].routes)
    book = site.services.model.health
    book.record(CallOutcome(first, book.now(), None, Usage(100, 50), 0.5, 1.5) for _ in range(answered))
    book.record(
        CallOutcome(second, book.now(), Overloaded("busy there", model=second.model)) for _ in range(failed)
    )


async def test_nothing_needs_attention_with_a_memory_that_is_searched_by_words(site: WebClient) -> None:
    await site.services.memory.write("The boiler's code is E119")
    shown = await page(site)
    (heading,) = shown.all("h1")
    now = site.services.now()
    assert heading.text == f"{now:%A}, {now.day} {now:%B}"
    assert shown.by_id("attention").text.endswith(" Nothing needs your attention.")
    told = facts(shown)
    assert (told["note"], told["chunk"], told["with vectors"], told["without"]) == ("1", "1", "0", "1")
    assert told["Search by meaning"].startswith("off ")
    assert "One memory for all conversations" in shown.by_id("memory").text
    shown = await page(site, "/system")
    told = facts(shown)
    assert re.fullmatch(r"\d\d:\d\d, (just now|\d+ s ago)", told["Last indexed"])
    assert told["Watcher"].startswith("off ")
    assert shown.by_id("troubles").text == "None since the last start."


async def test_it_tells_who_makes_vectors_and_how_many_there_are(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        embedding = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
        async with open_web_client(tmp_path, memory={"embedding": embedding}) as site:
            await site.services.memory.write("The boiler's code is E119")
            await site.services.memory.fill_vectors()
            told = facts(await page(site, "/system"))
            assert (told["with vectors"], told["without"]) == ("1", "0")
            assert told["Search by meaning"] == "on openai: set in memory.embedding.provider"
            assert told["Provider"] == "openai"
            assert told["Model"].startswith("text-embedding-3-small, ")
            assert told["Missing vectors"] == "none"
            assert "0% hits" in told["Vector cache"]


async def test_it_tells_why_vectors_fail_and_no_key(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        embedding = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": "s3cret-key"}
        async with open_web_client(tmp_path, memory={"embedding": embedding}, token=TOKEN) as site:
            await site.services.memory.write("The boiler's code is E119")
            await site.services.memory.probe()
            async with site.client.get("/", headers=site.token) as answer:
                text = await answer.text()
            shown = HtmlPage(text)
            assert "openai answered 401" in shown.by_id("attention").text
            assert facts(shown)["Search by meaning"].startswith("on, but not working ")
            assert not any(secret in text for secret in ("s3cret-key", TOKEN))


async def test_it_tells_who_makes_vectors_while_the_first_one_fails(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        embedding = {
            "provider": "openai", "base_url": server.base_url("openai"), "api_key": "wrong",
            "fallback": "voyage", "fallback_model": "voyage-3.5-lite",
        }  # fmt: skip
        voyage = {"base_url": server.base_url("voyage"), "api_key": KEY}
        memory = {"embedding": embedding}
        async with open_web_client(tmp_path, memory=memory, providers={"voyage": voyage}) as site:
            await site.services.memory.write("The boiler's code is E119")
            await site.services.memory.fill_vectors()
            shown = await page(site, "/system")
            told = facts(shown)
            assert (told["with vectors"], told["Missing vectors"]) == ("1", "none")
            assert told["Provider"] == "openai, then voyage"
            assert told["Vectors currently from"] == "voyage, voyage-3.5-lite"
            assert told["Search by meaning"].startswith("on, by voyage openai answered 401")
            assert "using the fallback voyage" in (await page(site)).by_id("attention").text
            said = describe_search(await site.services.memory.status(), why=True)
            assert said == "by meaning and by words, for now using the fallback voyage-3.5-lite from voyage"


async def test_a_model_of_which_no_key_is_ready_needs_a_look(site: WebClient) -> None:
    book = site.services.model.health
    book.record(
        CallOutcome(each.name, book.now(), RateLimited("429", model=each.name.model, retry_after=240))
        for each in site.services.model.plan.chain[0].routes
    )
    shown = await page(site)
    assert "openai/gpt-test is paused until" in shown.by_id("attention").text


async def test_channels_errors_and_counts_are_shown(site: WebClient) -> None:
    site.services.channels.attach(Channel("telegram"))
    site.services.channels.attach(Channel("discord", state=ChannelHealth("down", "the token was refused")))
    await site.services.state.append(None, "telegram:1", [("user", "{}")], after=0)
    for _ in range(2):
        site.services.recent_errors.handle(
            logging.LogRecord("bot.x", logging.ERROR, "", 1, "it broke", (), None)
        )
    shown = await page(site)
    told = facts(shown)
    assert told["Telegram"] == "up"
    assert told["Discord"] == "down the token was refused"
    system = await page(site, "/system")
    assert facts(system)["Open"] == "1"
    assert re.fullmatch(r"error \d\d:\d\d, just now 2 times it broke bot\.x", system.by_id("troubles").text)
    attention = shown.by_id("attention").text
    assert attention.startswith("Needs attention")
    assert "Discord: down (the token was refused)" in attention
    assert "Errors in the last hour: 2" in attention


async def test_a_core_note_that_is_too_long_needs_a_look(site: WebClient, tmp_path: Path) -> None:
    def warnings(page: HtmlPage) -> list[str]:
        return [each.text for each in page.all("li") if "MEMORY.md is" in each.text]

    assert warnings(await page(site)) == []
    await site.services.memory.write("A fact that everybody should know. " * 300, target="core")
    (warning,) = warnings(await page(site))
    assert "MEMORY.md is 10,5" in warning


async def test_jobs_are_shown_with_their_last_and_next_time(site: WebClient) -> None:
    assert (await page(site, "/system")).by_id("jobs").text == "There are no regular jobs."
    async with site.services.background:
        jobs = (await page(site, "/system")).by_id("jobs").text
    assert re.search(r"Scan all notes waiting Last run: .* Next run: (\S+ )?\d\d:\d\d, in (60 min|1 h)", jobs)
    assert "Backup waiting Last run: never Next run: " in jobs
    assert "Tidying up" in jobs


async def test_a_memory_that_cannot_be_read_is_told_of_and_the_rest_is_shown(site: WebClient) -> None:
    outcomes(site, answered=1, failed=0)
    await site.services.memory.close()
    shown = await page(site)
    assert "the memory was closed" in shown.by_id("memory-facts").text
    assert "Memory: the memory was closed" in shown.by_id("attention").text
    assert "openai/gpt-test" in shown.by_id("model-states").text


@pytest.mark.thorough
async def test_a_busy_memory_does_not_hold_up_the_page(site: WebClient) -> None:
    done = threading.Event()
    busy = site.services.memory._index._index_thread.submit(done.wait, 60)
    shown = await page(site)
    assert not busy.done()
    assert shown.by_id("memory-facts").text == phrases.WEB_BUSY
    assert shown.by_id("attention").text.endswith(" Nothing needs your attention.")
    done.set()
    busy.result()


async def test_what_others_wrote_stays_text(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / f"{HOSTILE.replace('/', '')}.md").write_text(
        f"# Boiler\n\n{HOSTILE} boiler\n", "utf-8"
    )
    (tmp_path / "memory" / "javascript:alert(1).md").write_text("The boiler again\n", "utf-8")
    (tmp_path / "memory" / "no.md").mkdir()
    (tmp_path / "memory" / "no.md" / "x.md").write_bytes(b"\xff\x00\xfe boiler")
    async with open_web_client(
        tmp_path,
        agent={"name": HOSTILE},
        providers=PROVIDERS,
        models={"chain": ["openai/<b>gpt", "builtin/notebook"]},
    ) as site:
        site.services.channels.attach(Channel("telegram", state=ChannelHealth("down", HOSTILE)))
        site.services.recent_errors.handle(
            logging.LogRecord(HOSTILE, logging.ERROR, "", 1, HOSTILE, (), None)
        )
        book = site.services.model.health
        (first, _) = site.services.model.plan.chain[0].routes
        book.record([CallOutcome(first.name, book.now(), Overloaded(HOSTILE, model=HOSTILE))])
        await book.write()
        pages = [
            await page(site),
            await page(site, "/system"),
            await page(site, "/models"),
            await page(site, "/sign-in?then=javascript:alert(1)"),
        ]
        async with site.client.get("/search", params={"q": f"boiler {HOSTILE}"}) as answer:
            pages.append(HtmlPage(await answer.text()))
        for shown in pages:
            assert not shown.all("img")
            assert not shown.all("b")
            assert all("nonce" in each.attributes for each in shown.all("script"))
            for each in shown.elements:
                assert not [name for name in each.attributes if name.startswith("on")]
                assert not each.attributes.get("href", "").lower().strip().startswith("javascript:")
                assert each.attributes.get("action", "/").startswith("/")
        today, system, models, _, found = pages
        shown_at = ((today, ("channels", "attention")), (system, ("troubles",)), (models, ("models",)))
        for shown, places in shown_at:
            for place in places:
                assert "onerror=alert(1)" in shown.by_id(place).text, place
        assert "5929" not in system.by_id("troubles").text
        assert found.by_id("found").text.count("onerror=alert(1)") >= 2


async def test_names_of_files_that_are_no_text_do_not_break_it(site: WebClient) -> None:
    memory = site.folder / "memory"
    memory.mkdir(exist_ok=True)
    try:
        (memory / "b\udcffd.md").write_text("boiler\n", "utf-8")
    except OSError:
        pytest.skip("this file system takes no such names")
    await page(site)
    await page(site, "/search?q=boiler")


async def test_a_page_is_well_made_for_those_who_do_not_see_it(site: WebClient) -> None:
    await site.services.memory.write("The boiler's code is E119")
    outcomes(site, answered=2, failed=1)
    await site.services.model.health.write()
    async with site.services.background:
        paths = ("/", "/system", "/models", "/search?q=boiler", "/search", "/sign-in")
        pages = [await page(site, path) for path in paths]
    for shown in pages:
        ids = [each.attributes["id"] for each in shown.elements if "id" in each.attributes]
        assert len(ids) == len(set(ids))
        pointed = [
            name
            for each in shown.elements
            for attribute in ("for", "aria-labelledby", "aria-describedby")
            for name in each.attributes.get(attribute, "").split()
        ]
        assert set(pointed) <= set(ids)
        labelled = {each.attributes["for"] for each in shown.all("label")}
        assert {
            each.attributes.get("id")
            for each in shown.all("input")
            if each.attributes["type"] != "hidden" and "hidden" not in each.attributes
        } <= labelled
        assert len(shown.all("h1")) == len(shown.all("main")) == 1
        levels = [int(each.tag[1]) for each in shown.elements if re.fullmatch("h[1-6]", each.tag)]
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert all("scope" in each.attributes for each in shown.all("th"))
        assert not [each for each in shown.elements if "style" in each.attributes]
        assert shown.all("html")[0].attributes["lang"] == "en"
        assert all(
            each.attributes.get("role") == "img" or "aria-hidden" in each.attributes
            for each in shown.all("svg")
        )
    titles = [shown.all("title")[0].text for shown in pages]
    assert titles == [
        "Today – Commonplace",
        "System – Commonplace",
        "Models – Commonplace",
        "boiler – Commonplace",
        "Search – Commonplace",
        "Sign in – Commonplace",
    ]


async def test_nothing_is_loaded_from_elsewhere(site: WebClient) -> None:
    async with site.client.get("/") as answer:
        policy, shown = answer.headers["Content-Security-Policy"], HtmlPage(await answer.text())
    nonces = {each.attributes["nonce"] for each in (*shown.all("script"), *shown.all("style"))}
    assert [f"'nonce-{nonce}'" in policy for nonce in nonces] == [True]
    links = [
        each.attributes[name]
        for each in shown.elements
        for name in ("src", "href", "action")
        if name in each.attributes
    ]
    assert all(link.startswith(("/", "#", "data:image/svg+xml,")) for link in links)


async def test_signing_out_is_offered_where_one_signs_in(site: WebClient, tmp_path: Path) -> None:
    assert not [each for each in (await page(site)).all("form") if each.attributes["action"] == "/sign-out"]
    async with (
        open_web_client(tmp_path / "other", token=TOKEN) as other,
        other.client.get("/", headers=other.token) as answer,
    ):
        shown = HtmlPage(await answer.text())
    assert [each for each in shown.all("form") if each.attributes["action"] == "/sign-out"]


async def test_the_footer_tells_version_and_how_long_it_is_up(site: WebClient) -> None:
    (footer,) = (await page(site)).all("footer")
    assert re.match(
        r"Commonplace( \d\S*)?, up for \d+ s, as of \d\d:\d\d:\d\d \(Europe/Berlin\)", footer.text
    )


async def test_without_a_token_no_page_leads_to_one_that_needs_it(site: WebClient) -> None:
    (menu,) = (await page(site)).all("nav")
    for link in (await page(site)).all("a"):
        if (address := link.attributes["href"]).startswith("/"):
            assert (await site.client.get(address)).status == 200, address
    assert "System" in menu.text
    assert "People" not in menu.text
