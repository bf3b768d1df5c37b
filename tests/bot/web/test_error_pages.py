"""Errors in a browser: a page with the menu for who may see pages, and with what was typed."""

import logging
import time
from collections.abc import AsyncIterator
from html import unescape
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot import phrases
from bot.web.app import build_web_app
from bot.web.forms import FORM, FORM_FIELD, MAX_TEXT_FORM_BYTES, add_form
from bot.web.session import SESSION, new_form_token, new_session
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HTML = {"Accept": "text/html"}
SESSION_NOW = new_session(TOKEN, now=time.time())
BROWSER = {**HTML, "Cookie": f"{SESSION}={SESSION_NOW}"}
MARK = {FORM_FIELD: new_form_token(SESSION_NOW, TOKEN)}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        yield site


async def ask(site: WebClient, method: str, path: str, **given: object) -> tuple[int, str, str]:
    """Return status, type and text of the response."""
    async with site.client.request(method, path, allow_redirects=False, **given) as answer:  # type: ignore[arg-type]
        return answer.status, answer.content_type, await answer.text()


def has_menu(text: str) -> bool:
    return any(each.attributes.get("href") == "/notes/" for each in HtmlPage(text).all("a"))


async def test_what_is_not_there_is_a_page_with_the_menu(site: WebClient) -> None:
    for path, status, words in (
        ("/nothing/here", 404, phrases.WEB_NO_PAGE_HELP),
        ("/days/nothing", 404, phrases.WEB_NO_PAGE_HELP),
        ("/log", 405, phrases.WEB_ONLY_FORMS),
    ):
        got, kind, text = await ask(site, "GET", path, headers=BROWSER)
        assert (got, kind, has_menu(text), words in text) == (status, "text/html", True, True), path
    async with site.client.get("/log", headers=BROWSER) as answer:
        assert answer.headers["Allow"] == "POST"
        assert "script-src 'nonce-" in answer.headers["Content-Security-Policy"]


async def test_a_form_that_is_too_large_or_broken_is_told(site: WebClient) -> None:
    for fields, status, words in (
        ({**MARK, "text": "x" * MAX_TEXT_FORM_BYTES}, 413, phrases.WEB_TOO_LONG_HELP),
        ({**MARK, **{f"field{number}": "" for number in range(30)}}, 400, phrases.WEB_UNREADABLE),
    ):
        body = BytesIO(urlencode(fields).encode())
        got, kind, text = await ask(
            site, "POST", "/log", data=body, headers={**BROWSER, "Content-Type": FORM}
        )
        assert (got, kind, has_menu(text), words in unescape(text)) == (status, "text/html", True, True)


async def test_programs_and_strangers_get_a_line(site: WebClient) -> None:
    for method, path, headers, status in (
        ("GET", "/nothing/here", site.token, 404),
        ("GET", "/nothing/here", {**site.token, **HTML}, 404),
        ("PUT", "/log", BROWSER, 405),
        ("POST", "/healthz", BROWSER, 405),
        ("POST", "/healthz", HTML, 405),
    ):
        got, kind, text = await ask(site, method, path, headers=headers)
        assert (got, kind, "<" in text) == (status, "text/plain", False), (method, path)
    assert (await ask(site, "HEAD", "/nothing/here", headers=BROWSER))[0] == 404
    status, _, text = await ask(site, "GET", "/nothing/here", headers=HTML)
    assert (status, has_menu(text)) == (401, False)


async def test_without_a_token_only_this_machine_gets_the_page(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        status, _, text = await ask(site, "GET", "/nothing/here", headers=HTML)
        assert (status, has_menu(text)) == (404, True)
        status, kind, _ = await ask(site, "GET", "/nothing/here", headers={**HTML, "Host": "evil.example"})
        assert (status, kind) == (403, "text/plain")


async def test_a_fault_of_ours_is_told_logged_and_loses_nothing(
    site: WebClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def break_down(request: web.Request) -> web.Response:
        raise ZeroDivisionError("s3cret")

    services = site.services
    app = build_web_app(channels=services.channels.health, memory=services.memory, services=services)
    add_form(app, "/broken", break_down, typed=("text",))
    typed = "</textarea><script>alert(1)</script>"
    async with TestClient(TestServer(app)) as client:
        for headers, kind in ((BROWSER, "text/html"), ({"Cookie": BROWSER["Cookie"]}, "text/plain")):
            with caplog.at_level(logging.ERROR):
                async with client.post("/broken", data={**MARK, "text": typed}, headers=headers) as answer:
                    text = await answer.text()
            assert (answer.status, answer.content_type) == (500, kind)
            assert "s3cret" not in text
            (record,) = [each for each in caplog.records if each.exc_info]
            assert isinstance((record.exc_info or (0, 0))[1], ZeroDivisionError)
            caplog.clear()
            if kind == "text/html":
                page = HtmlPage(text)
                assert "".join(page.by_id("sent-text").pieces) == f"\n{typed}"
                assert phrases.WEB_BROKEN in page.all("h1")[0].text
                assert "<script>alert" not in text
