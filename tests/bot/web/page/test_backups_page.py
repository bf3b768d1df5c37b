import asyncio
import gzip
import os
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import ClientResponse
from yarl import URL

from bot import phrases
from bot.web.page.backups import MAX_SHOWN
from tests.fakes.html_page import HtmlPage
from tests.fakes.signed_in_browser import SignedInBrowser
from tests.fakes.web_client import TOKEN, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[SignedInBrowser]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        await site.services.memory.write("The boiler's code is E119")
        yield SignedInBrowser(site)


async def ended(browser: SignedInBrowser) -> HtmlPage:
    """The page once no backup is made any more."""
    if task := browser.site.services.backup_maker._running:
        await asyncio.wait([task])
    return await browser.open("/backups")


def runs(page: HtmlPage) -> bool:
    (state,) = (each for each in page.elements if "data-runs" in each.attributes)
    return state.attributes["data-runs"] == "yes"


def alerts(page: HtmlPage) -> list[str]:
    return [each.text for each in page.elements if each.attributes.get("role") == "alert" and each.text]


async def download(browser: SignedInBrowser, name: str, **headers: str) -> tuple[ClientResponse, bytes]:
    path = f"/backups/files/{name}"
    async with browser.site.client.get(path, headers={**browser.cookie, **headers}) as answer:
        return answer, await answer.read()


async def test_one_is_made_on_request_and_shown(browser: SignedInBrowser) -> None:
    page = await browser.open("/backups")
    assert page.by_id("backup-state").text.startswith("none There is no backup yet. Make one now.")
    assert page.by_id("stored").text == ""
    sent = await browser.send("/backups/make")
    assert (sent.status, sent.location) == (303, "/backups")
    page = await ended(browser)
    (stored,) = browser.site.services.backups.list_stored()
    assert re.match(rf"made \d\d:\d\d, .*: {stored.name}", page.by_id("backup-state").text)
    assert "on request" in page.by_id("stored").text
    assert "1 file of notes, conversations" in page.by_id("stored").text
    (command,) = page.all("pre")
    assert command.text == f"commonplace restore {browser.site.services.backups.folder}/{stored.name}"


async def test_while_one_is_made_a_second_is_refused_and_the_page_reloads(browser: SignedInBrowser) -> None:
    async with browser.site.services.backups._one_at_a_time:  # as the nightly job does
        text = await browser.text("/backups")
        again = (
            r'<noscript><meta http-equiv="refresh" content="2; url=/backups\?seen=\d\d:\d\d:\d\d"></noscript>'
        )
        assert re.search(again, text)
        assert runs(HtmlPage(text))
        sent = await browser.send("/backups/make")
        assert sent.status == 409
        assert alerts(HtmlPage(sent.text)) == [phrases.WEB_BACKUP_RUNS]
    page = await browser.open("/backups")
    assert not runs(page)
    assert "http-equiv" not in await browser.text("/backups")
    assert browser.site.services.backups.list_stored() == ()


async def test_why_one_failed_is_told(browser: SignedInBrowser) -> None:
    folder = browser.site.services.backups.folder
    folder.write_text("in the way")
    await browser.send("/backups/make")
    page = await ended(browser)
    assert page.by_id("backup-state").text.startswith("failed ")
    assert "no backup was made" in page.by_id("backup-state").text
    folder.unlink()
    await browser.send("/backups/make")
    assert (await ended(browser)).by_id("backup-state").text.startswith("made ")


async def test_an_old_one_is_warned_of(browser: SignedInBrowser) -> None:
    services = browser.site.services
    services.backups._now = lambda: services.now() - timedelta(days=5)
    await services.backups.make_nightly(keep=7)
    services.backups._now = services.now
    await asyncio.to_thread(services.backups.make_before_upgrade)  # which has no notes
    page = await browser.open("/backups")
    assert page.by_id("backup-state").text.startswith("old The latest backup is from ")
    assert "nightly" in page.by_id("stored").text
    assert "before an upgrade" in page.by_id("stored").text


async def test_when_the_next_one_comes_is_told(browser: SignedInBrowser, tmp_path: Path) -> None:
    async with browser.site.services.background:
        page = await browser.open("/backups")
        assert re.search(r"Next nightly backup: .*, in \d+ (min|h)", page.by_id("backup-state").text)
    async with open_web_client(tmp_path / "off", token=TOKEN, backup={"keep": 0}) as site:
        page = await SignedInBrowser(site).open("/backups")
        assert "No backups are made at night: backup.keep is 0." in page.by_id("backup-state").text


async def test_one_is_downloaded_as_it_is(browser: SignedInBrowser) -> None:
    made = await browser.site.services.backups.make()
    content = made.file.read_bytes()
    answer, body = await download(browser, made.file.name)
    assert (answer.status, body) == (200, content)
    assert answer.headers["Content-Type"] == "application/gzip"
    assert "Content-Encoding" not in answer.headers, "a browser would unpack it"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{made.file.name}"'
    for name, value in (
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ):
        assert answer.headers[name] == value
    answer, body = await download(browser, made.file.name, Range="bytes=5-14")
    assert (answer.status, body) == (206, content[5:15])
    assert answer.headers["Content-Range"] == f"bytes 5-14/{len(content)}"
    answer, _ = await download(browser, made.file.name, Range=f"bytes={len(content)}-")
    assert answer.status == 416
    path = f"/backups/files/{made.file.name}"
    async with browser.site.client.head(path, headers=browser.cookie) as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(content)))
        assert await answer.read() == b""


async def test_nothing_but_a_backup_is_downloaded(browser: SignedInBrowser, tmp_path: Path) -> None:
    made = await browser.site.services.backups.make()
    folder = made.file.parent
    (folder / "commonplace-link.tar.gz").symlink_to(folder.parent / "state.db")
    (folder / "other.tar.gz").write_bytes(b"x")
    for name in (
        "../state.db",
        "..%2fstate.db",
        "%2e%2e%2fstate.db",
        "..%5cstate.db",
        f"..%2fbackups%2f{made.file.name}",
        f"{made.file.name}%00",
        f"{made.file.name}%2f",
        quote(str(made.file), safe=""),
        "commonplace-link.tar.gz",
        "other.tar.gz",
        "commonplace-%3Cimg%20src=x%3E.tar.gz",
        "%ff",
    ):
        for place in ("files", "contents"):
            url = URL(f"{browser.site.client.make_url('/')}backups/{place}/{name}", encoded=True)
            async with browser.site.client.session.get(url, headers=browser.cookie) as answer:
                assert answer.status == 404, (place, name)
                assert "img" not in [each.tag for each in HtmlPage(await answer.text() or " ").elements]


async def test_what_is_in_one_is_looked_up_on_request(browser: SignedInBrowser) -> None:
    services = browser.site.services
    made = await services.backups.make()
    services.backups._contents.clear()  # as after another start
    (link,) = (
        each.attributes["href"]
        for each in (await browser.open("/backups")).all("a")
        if each.text == "Look inside"
    )
    page = await browser.open(link)
    told = page.all("main")[0].text
    assert "intact Every byte was read and checked." in told
    assert "Notes1 file" in told
    assert "Conversationsincluded" in told
    assert "1 file of notes, conversations" in (await browser.open("/backups")).by_id("stored").text
    made.file.write_bytes(made.file.read_bytes()[:-20])
    assert "unusable" in (await browser.open(link)).all("main")[0].text
    made.file.write_bytes(gzip.compress(b"<img src=x>"))
    assert not (await browser.open(link)).all("img")


async def test_nothing_is_made_shown_or_given_without_the_token(
    browser: SignedInBrowser, tmp_path: Path
) -> None:
    made = await browser.site.services.backups.make()
    assert (await browser.send("/backups/make", forged=True)).status == 403
    paths = ("/backups", f"/backups/files/{made.file.name}", f"/backups/contents/{made.file.name}")
    for path in paths:
        async with browser.site.client.get(path) as answer:
            assert answer.status == 401, path
    async with browser.site.client.post("/backups/make") as answer:
        assert answer.status == 401
    async with open_web_client(tmp_path / "open") as site:
        for path in paths:
            async with site.client.get(path) as answer:
                assert (answer.status, await answer.text()) == (403, f"{phrases.WEB_LOCKED}\n")
        async with site.client.post("/backups/make") as answer:
            assert answer.status == 403
        assert site.services.backups.list_stored() == ()
        assert not site.services.backup_maker.is_running
    assert len(browser.site.services.backups.list_stored()) == 1


async def test_a_file_that_could_not_be_read_is_named_as_text(browser: SignedInBrowser) -> None:
    folder = browser.site.folder / "memory" / "<img src=x>"
    folder.mkdir()
    (folder / "a.md").write_text("x")
    folder.chmod(0)
    if os.access(folder, os.R_OK):
        folder.chmod(0o700)
        pytest.skip("root may read everything")
    await browser.send("/backups/make")
    page = await ended(browser)
    folder.chmod(0o700)
    assert not page.all("img")
    assert "1 file could not be read" in page.by_id("backup-state").text


async def test_of_very_many_the_latest_are_shown(browser: SignedInBrowser) -> None:
    folder = browser.site.services.backups.folder
    folder.mkdir()
    for number in range(130):
        (
            folder / f"commonplace-nightly-202601{number % 28 + 1:02}T0330{number % 60:02}Z-{number}.tar.gz"
        ).touch()
    page = await browser.text("/backups")
    assert page.count("Look inside</a>") == MAX_SHOWN
    assert f"and {130 - MAX_SHOWN} older ones in the folder" in page
    assert len(page.encode()) <= 60_000
