import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import pytest

from bot.messages import ChatId, IncomingMessage, PersonId
from memory.errors import IndexUnavailable
from memory.sync import SyncReport
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path) as site:
        await site.services.memory.write("The boiler's code is E119")
        yield site


async def progress(site: WebClient) -> tuple[bool, HtmlPage]:
    """Whether anything runs, and what is told of it."""
    async with site.client.get("/progress") as answer:
        assert answer.status == 200
        shown = HtmlPage(await answer.text())
    return shown.elements[0].attributes["data-runs"] == "yes", shown


async def rebuild(site: WebClient) -> None:
    async with site.client.post("/rebuild", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/#memory")


async def ended(site: WebClient) -> str:
    ends, (runs, shown) = time.monotonic() + 30, await progress(site)
    while runs and time.monotonic() < ends:
        await asyncio.sleep(0.01)
        runs, shown = await progress(site)
    assert not runs
    return shown.elements[0].text


async def test_nothing_is_told_where_nothing_runs(site: WebClient) -> None:
    runs, shown = await progress(site)
    assert not runs
    assert shown.elements[0].text == ""


async def test_a_rebuild_is_told_of_from_the_click_to_the_end(site: WebClient) -> None:
    done = threading.Event()
    held = site.services.memory._index._rebuild_thread.submit(done.wait, 30)
    await rebuild(site)
    runs, shown = await progress(site)
    assert runs
    assert shown.elements[0].text == "Rebuilding the index starting"
    async with site.client.get("/") as answer:
        text = await answer.text()
    # Each time another address: to the same one with an anchor, browsers only scroll.
    again = r'<noscript><meta http-equiv="refresh" content="2; url=/\?seen=\d\d:\d\d:\d\d#memory"></noscript>'
    assert re.search(again, text)
    done.set()
    held.result()
    assert re.fullmatch(r"Rebuilt \d\d:\d\d, just now: 1 note in [\d.]+ s", await ended(site))
    async with site.client.get("/") as answer:
        assert "http-equiv" not in await answer.text()


async def test_a_rebuild_asked_for_twice_runs_once(site: WebClient) -> None:
    done, runs = threading.Event(), 0
    held = site.services.memory._index._rebuild_thread.submit(done.wait, 30)
    sync = site.services.memory.sync

    async def counted(*, rebuild: bool = False) -> SyncReport:
        nonlocal runs
        runs += rebuild
        return await sync(rebuild=rebuild)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.services.memory, "sync", counted)
        for _ in range(3):
            await rebuild(site)
        done.set()
        held.result()
        await ended(site)
    assert runs == 1


async def test_who_asks_in_a_chat_while_the_button_was_pressed_is_told_of_that_one_and_the_other_way(
    site: WebClient,
) -> None:
    async def asked() -> str:
        terminal = ChatId("terminal", "main")
        message = IncomingMessage(
            id=token_hex(4),
            chat=terminal,
            sender=PersonId("terminal", "owner"),
            text="/memory rebuild",
            sent_at=datetime.now(UTC),
        )
        async with aclosing(site.assistant.answer(message)) as answer:
            return [part.text async for part in answer][-1]

    done = threading.Event()
    held = site.services.memory._index._rebuild_thread.submit(done.wait, 10)
    await rebuild(site)
    waiting = asyncio.create_task(asked())
    await asyncio.sleep(0.2)
    assert not waiting.done()
    done.set()
    held.result()
    told = await waiting
    assert "Notes: 1" in told
    assert "already running" in told
    first = site.services.index_rebuilder.last
    assert first
    assert first.result
    assert f"{first.result.seconds:.1f} s" in told

    done = threading.Event()
    held = site.services.memory._index._rebuild_thread.submit(done.wait, 10)
    waiting = asyncio.create_task(asked())
    runs = False
    while not runs:
        runs, shown = await progress(site)
    assert shown.elements[0].text == "Rebuilding the index starting"
    await rebuild(site)
    done.set()
    held.result()
    assert "already running" not in await waiting
    assert site.services.index_rebuilder.last is not first
    assert not site.services.index_rebuilder.is_running, "the button has begun no second one"


async def test_a_rebuild_that_fails_says_why(site: WebClient) -> None:
    async def fail(*, rebuild: bool = False) -> SyncReport:
        raise IndexUnavailable("the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.services.memory, "sync", fail)
        await rebuild(site)
        told = await ended(site)
    assert re.fullmatch(r"Not rebuilt \d\d:\d\d, just now: the disk is full", told)


async def test_a_job_has_a_bar_with_a_name_and_how_far_it_is(site: WebClient) -> None:
    tell = site.services.memory._jobs.tell("embedding")
    tell(1250, 5000)
    runs, shown = await progress(site)
    assert runs
    (bar,), (label,) = shown.all("progress"), shown.all("label")
    assert (bar.attributes["value"], bar.attributes["max"]) == ("1250", "5000")
    assert (label.text, label.attributes["for"]) == ("Computing vectors", bar.attributes["id"])
    assert re.search(r"1,250 of 5,000, [\d,.]+ per second, \d+ s left", shown.elements[0].text)


async def test_a_rebuild_is_not_begun_from_another_site_or_by_looking(site: WebClient) -> None:
    async with site.client.post("/rebuild", headers={"Origin": "https://elsewhere.example"}) as answer:
        assert answer.status == 403
    async with site.client.get("/rebuild") as answer:
        assert answer.status == 405
    assert site.services.index_rebuilder.last is None
    assert not site.services.index_rebuilder.is_running
