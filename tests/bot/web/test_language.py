"""Pages are in the language of whoever reads them; what programs read is English."""

import re
from pathlib import Path

import pytest

from bot.conversations.conversation import Conversation
from bot.language.catalogs import translate
from bot.messages import ChatId
from bot.models.protocol import UserMessage
from bot.web.language import asked_language
from scripts.languages import list_texts
from tests.fakes.html_page import HtmlPage
from tests.fakes.table_test import table_test
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

PAGES = (
    "/",
    "/search?q=boiler",
    "/notes/",
    "/notes/boiler.md",
    "/edit/boiler.md",
    "/move/boiler.md",
    "/delete/boiler.md",
    "/new-note",
    "/trash",
    "/days",
    "/memory-health",
    "/conversations",
    "/conversations/9",
    "/people",
    "/changes",
    "/models",
    "/settings?changed=1",
    "/backups",
    "/system",
)


async def test_who_said_what_is_found_is_named_in_the_readers_language(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        talk = Conversation(site.services.state, ChatId("terminal", "main"))
        await talk.load()
        await talk.append(UserMessage("a zeppelin"))
        for language, who in (("en", "You"), ("de", "Du"), ("zh", "你")):
            text, _ = await read(site, "/search?q=zeppelin&source=conversations", language)
            assert f'<p class="heading">{who}</p>' in text, language


async def read(site: WebClient, address: str, language: str = "", **given: str) -> tuple[str, dict[str, str]]:
    headers = {**site.cookie, **({"Accept-Language": language} if language else {}), **given}
    async with site.client.get(address, headers=headers) as answer:
        return await answer.text(), dict(answer.headers)


@table_test(
    ("header", "language"),
    [
        ("", ""),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en-GB,en;q=0.9,de;q=0.8", "en"),
        ("en;q=0.5,de;q=0.9", "de"),
        ("fr,de;q=0.7,en;q=0.3", "de"),
        ("fr-CH, fr;q=0.9, *;q=0.5", ""),
        ("zh-CN,zh;q=0.9", "zh_Hans"),
        ("zh-Hans-SG", "zh_Hans"),
        ("ZH", "zh_Hans"),
        ("zh-TW,zh;q=0.9,en;q=0.8", "en"),
        ("zh-Hant-HK,zh;q=0.9,de;q=0.8", "de"),
        ("zh-TW,zh-CN;q=0.9", "zh_Hans"),
        ("de;q=0,en;q=0.1", "en"),
        ("de;q=0", ""),
        ("de; q = 0.5 , en;q=0.4", "de"),
        ("de;q=hello,en;q=0.1", "en"),
        ("de;q=7,en;q=0.1", "en"),
        ("de;q=nan,en;q=0.1", "en"),
        ("de;level=1;q=0.2,en;q=0.3", "en"),
        (",,;q=1,;,de", "de"),
        ("tlh", ""),
        ("*", ""),
        ("-", ""),
        ("x" * 100_000, ""),
        (f"{'fr,' * 100_000}de", ""),
    ],
)
def test_the_browser_says_which_language_it_likes_best(header: str, language: str) -> None:
    assert asked_language(header) == language


async def test_a_page_is_in_the_language_of_its_reader(tmp_path: Path) -> None:
    told = {}
    async with open_web_client(tmp_path, token=TOKEN) as site:
        for language in ("", "de-DE,de;q=0.9,en;q=0.5", "zh-CN", "fr", "en"):
            text, headers = await read(site, "/", language)
            page = HtmlPage(text)
            told[language[:2]] = (
                page.all("html")[0].attributes["lang"],
                headers["Content-Language"],
                headers["Vary"],
                page.by_id("reminders-title").text,
            )
    english = ("en", "en", "Accept-Language", "Reminders")
    assert told == {
        "": english,
        "de": ("de", "de", "Accept-Language", "Erinnerungen"),
        "zh": ("zh-Hans", "zh-Hans", "Accept-Language", "提醒"),
        "fr": english,
        "en": english,
    }


async def test_the_setting_comes_before_the_browser(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN, agent={"language": "de"}) as site:
        for language in ("", "en", "zh-CN"):
            assert '<html lang="de">' in (await read(site, "/", language))[0]


@pytest.mark.parametrize("language", ["de", "zh_Hans"])
async def test_pages_show_no_english(tmp_path: Path, language: str) -> None:
    """Whatever a page shows in English, when it has a translation, is missing where it is translated."""
    asked = {"de": "de", "zh_Hans": "zh"}[language]
    texts = {each.id for each in list_texts() if isinstance(each.id, str) and "{" not in each.id}
    leftovers, seen = [], 0
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (site.folder / "memory").mkdir(exist_ok=True)
        (site.folder / "memory" / "boiler.md").write_text("# Boiler\n\nIt is blue.\n", "utf-8")
        await site.services.memory.sync()
        for address in PAGES:
            pieces = [set(shown_in((await read(site, address, each))[0])) for each in ("en", asked)]
            seen += len(pieces[0] & texts)
            leftovers += [
                (address, text)
                for text in pieces[0] & pieces[1] & texts
                if translate(text, language) != text and text != "Commonplace"
            ]
    assert leftovers == []
    assert seen > 200


def shown_in(text: str) -> list[str]:
    """Return the texts between the tags, and the names of what has no text."""
    inner = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return [each.strip() for each in re.split(r"<[^>]*>", inner)] + re.findall(r'aria-label="([^"]*)"', inner)


async def test_whom_we_do_not_know_is_refused_in_their_language(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        headers = {"Accept": "text/html", "Accept-Language": "de"}
        async with site.client.get("/people", headers=headers) as answer:
            assert (answer.status, "Anmelden" in await answer.text()) == (401, True)
        async with site.client.post("/sign-in", data={"token": "wrong"}, headers=headers) as answer:
            assert "Dieses Token stimmt nicht." in await answer.text()


async def test_an_error_is_a_page_in_the_language_of_its_reader(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        assert "Diese Seite gibt es nicht" in (await read(site, "/nowhere", "de", Accept="text/html"))[0]
        headers = {**site.cookie, "Accept": "text/html", "Accept-Language": "zh-CN"}
        async with site.client.post("/log", data={"text": "milk"}, headers=headers) as answer:
            text = await answer.text()
            assert (answer.status, "milk" in text, "尚未发送" in text) == (403, True, True)


async def test_reasons_of_the_memory_are_in_the_language_of_the_reader(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        for language in ("de", "zh_Hans"):
            told = translate("There is no note {path}.", language).format(path="nowhere.md")
            assert told != "There is no note nowhere.md."
            assert told in (await read(site, "/notes/nowhere.md", language[:2]))[0]


async def test_what_programs_read_is_english(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN, agent={"language": "de"}) as site:
        headers = {**site.token, "Accept-Language": "de"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "memory.changes"}
        async with site.client.post("/rpc", json=call, headers=headers) as answer:
            assert "Content-Language" not in answer.headers
            assert "Änderung" not in await answer.text()
        async with site.client.get("/metrics", headers=headers) as answer:
            assert "Content-Language" not in answer.headers
        async with site.client.get("/healthz", headers=headers) as answer:
            assert answer.status == 200
        async with site.client.post("/rpc", json=call, headers={"Accept-Language": "de"}) as answer:
            assert (answer.status, (await answer.text()).startswith("This needs the token.")) == (401, True)


async def test_numbers_sizes_and_times_are_written_as_in_the_language(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        folder = site.folder / "memory" / "many"
        folder.mkdir(parents=True)
        for number in range(1201):
            (folder / f"{number}.md").write_text("x" * 1500, "utf-8")
        english, german, chinese = [
            (await read(site, "/notes/many/", each))[0] for each in ("en", "de", "zh")
        ]
    assert re.search(r"1,201 notes, page 1 of \d+<", english)
    assert re.search(r"1\.201 Notizen, Seite 1 von \d+<", german)
    assert re.search(r"1,201 条笔记，第 1 页，共 \d+ 页<", chinese)
    assert ("1.5 kB" in english, "1,5 kB" in german, "1.5 kB" in chinese) == (True, True, True)
    assert re.search(r"Commonplace [^<,]*, läuft seit \d+ s", german)
    assert re.search(r"Commonplace [^<，]*，已运行 \d+ 秒", chinese)


async def test_names_are_escaped_in_translated_texts(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN, agent={"name": "<b>Ann</b> & {0} %s"}) as site:
        for language in ("en", "de", "zh"):
            text, _ = await read(site, "/notes/", language)
            assert "&lt;b&gt;Ann&lt;/b&gt; &amp; {0} %s" in text
            assert "<b>Ann" not in text
