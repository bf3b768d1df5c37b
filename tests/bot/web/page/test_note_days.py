"""The notes by date."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.web.page.note_days import NOTES_PER_PAGE
from tests.fakes.note_pages import get
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory/sub").mkdir(parents=True)
        for name in (
            "2025-03-01",
            "2026-11-20",
            "2026-11-21",
            "sub/2026-11-21 Anna <b>",
            "2026-02-03",
            "no day",
        ):
            (tmp_path / f"memory/{name}.md").write_text("x\n")
        yield site


async def test_years_lead_to_months_and_months_to_days(site: WebClient) -> None:
    assert 'href="/days"' in (await get(site, "/notes/"))[1]
    _, years = await get(site, "/days")
    assert years.index('href="/days/2026">2026</a> <span class="count">4 notes') < years.index(
        'href="/days/2025">2025</a> <span class="count">1 note<'
    )
    _, months = await get(site, "/days/2026")
    assert months.index(">November 2026</a>") < months.index(">February 2026</a>")
    _, days = await get(site, "/days/2026-11")
    assert days.index('href="/notes/2026-11-21.md"') < days.index('href="/notes/2026-11-20.md"')
    assert "sub/2026-11-21 Anna &lt;b&gt;.md" in days
    assert "Saturday" in days


async def test_a_new_log_is_there_and_a_deleted_one_is_not(site: WebClient) -> None:
    assert "2024" not in (await get(site, "/days"))[1]
    (site.folder / "memory/2024-01-01.md").write_text("x\n")
    (site.folder / "memory/2025-03-01.md").unlink()
    await site.services.memory.sync()
    _, years = await get(site, "/days")
    assert "/days/2024" in years
    assert "/days/2025" not in years


@pytest.mark.parametrize("period", ["x", "20", "2026-13", "2026-1", "2026-11-21", "٢٠٢٦", "2026-11\n", "<b>"])
async def test_any_other_period_is_none(site: WebClient, period: str) -> None:

    status, shown = await get(site, f"/days/{quote(period)}")
    assert (status, "<b>" in shown) == (404, False)


async def test_a_time_without_notes_and_year_nought_are_said_to_be_empty(site: WebClient) -> None:
    for period in ("1999", "1999-01", "0000", "0000-01", "9999-12"):
        status, shown = await get(site, f"/days/{period}")
        assert (status, "No notes here" in shown) == (200, True), period


async def test_a_month_of_many_notes_comes_in_pages(site: WebClient) -> None:
    for number in range(NOTES_PER_PAGE):
        (site.folder / f"memory/2026-11-19 {number}.md").touch()
    await site.services.memory.sync()
    _, first = await get(site, "/days/2026-11")
    assert 'href="/days/2026-11?page=2"' in first
    assert (
        first.count('<li><a href="/notes/2026-11') + first.count('<li><a href="/notes/sub') == NOTES_PER_PAGE
    )


async def test_it_is_behind_the_token(site: WebClient) -> None:
    async with site.client.get("/days") as answer:
        assert answer.status == 401
