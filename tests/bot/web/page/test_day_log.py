"""Today's log on the first page, and the box that adds to it."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot import phrases
from bot.note_writes import TEXT_MAX_CHARS
from bot.state.changes import read_changes
from bot.web.forms import FORM_FIELD, ONCE_FIELD
from bot.web.page.day_log import MAX_CHARS, MAX_LINES, cut_log
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = """</textarea><script>alert(1)</script><img src=x onerror=alert(1)>"""
TITLE = "# 2026-11-28"


async def page(site: WebClient, path: str = "/", **headers: str) -> HtmlPage:
    async with site.client.get(path, headers=headers) as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


async def add(site: WebClient, headers: dict[str, str], **fields: str) -> tuple[int, str, str]:
    """Send the form; return status, address and text of the response."""
    posted = site.client.post("/log", data=fields, headers=headers, allow_redirects=False)
    async with posted as answer:
        return answer.status, answer.headers.get("Location", ""), await answer.text()


def fields_of(shown: HtmlPage) -> dict[str, str]:
    """The hidden fields of the box's form."""
    hidden = (each for each in shown.all("input") if each.attributes["type"] == "hidden")
    return {
        each.attributes["name"]: each.attributes["value"]
        for each in hidden
        if each.attributes["name"] in (FORM_FIELD, ONCE_FIELD)
    }


async def test_a_line_is_added_once_and_shown(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        cookie = site.cookie
        shown = await page(site, **cookie)
        assert "No notes yet today." in shown.by_id("log-text").text
        fields = fields_of(shown)
        for _ in range(2):
            status, address, _ = await add(site, cookie, text="The ladder is with Zoë", **fields)
            assert (status, address) == (303, "/?done=noted#done")
        status, _, _ = await add(
            site,
            cookie,
            text="Two things:\r\n\r\nsaw\r\nhammer",
            **fields_of(await page(site, **cookie)),
        )
        assert status == 303
        day = f"{site.services.now():%Y-%m-%d}"
        text = (tmp_path / f"memory/{day}.md").read_text("utf-8")
        assert text == f"# {day}\n\n- The ladder is with Zoë\n- Two things:\n- saw\n  hammer\n"
        shown = await page(site, "/?done=noted", **cookie)
        assert shown.by_id("log-text").text == ("The ladder is with Zoë Two things: saw hammer Open the note")
        assert phrases.WEB_DONE["noted"] in [each.text for each in shown.all("p")]
        (made, _) = await site.services.state.read(lambda db: read_changes(db, limit=3))
        assert made.origin.made_by == "http"


async def test_a_heading_in_an_entry_takes_in_nothing_of_the_day(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        for text in ("# Plan\r\n\r\npaint the fence", "tea"):
            assert (await add(site, site.token, text=text))[0] == 303
        day = f"{site.services.now():%Y-%m-%d}"
        noted = (tmp_path / f"memory/{day}.md").read_text("utf-8")
        assert noted == f"# {day}\n\n- \\# Plan\n- paint the fence\n- tea\n"
        shown = (await page(site, **site.token)).by_id("log-text").text
        assert shown.startswith("# Plan paint the fence tea ")
        (found,) = (await site.services.memory.search("tea")).hits
        assert found.heading == day


async def test_what_cannot_be_added_stays_in_the_box(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        status, _, text = await add(site, site.token, text=" \n ")
        assert (status, HtmlPage(text).by_id("log-problem").text) == (400, phrases.WEB_LOG_EMPTY)
        long = HOSTILE + "word " * (TEXT_MAX_CHARS // 5)
        status, _, text = await add(site, site.token, text=f"\n{long}")
        shown = HtmlPage(text)
        assert status == 400
        assert "one write takes at most" in shown.by_id("log-problem").text
        assert "".join(shown.by_id("log-add").pieces).strip() == long.strip()
        assert not [each for each in shown.all("script") if "nonce" not in each.attributes]
        assert not list((tmp_path / "memory").glob("*.md"))
        await site.services.memory.close()
        (tmp_path / "memory").write_text("no folder", "utf-8")
        status, _, text = await add(site, site.token, text="tea")
        assert (status, HtmlPage(text).by_id("log-add").text) == (503, "tea")


async def test_a_table_of_thousands_of_columns_is_shown_as_lines(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        wide = f"|{'a|' * 2000}\n|{'-|' * 2000}\n|b|\n"
        assert (await add(site, site.token, text=wide))[0] == 303
        shown = await page(site, **site.token)
        assert not shown.all("table")
        assert "|a|a|" in shown.by_id("log-text").text


async def test_nobody_adds_without_the_token_or_the_field_of_the_session(tmp_path: Path) -> None:
    async with open_web_client(tmp_path / "locked", token=TOKEN) as site:
        assert (await add(site, {}, text="tea"))[0] == 401
        assert (await add(site, site.cookie, text="tea"))[0] == 403
        assert (await add(site, {**site.token, "Origin": "https://other.example"}, text="tea"))[0] == 403
        assert not list((tmp_path / "locked/memory").glob("*.md"))
    async with open_web_client(tmp_path / "open") as site:
        assert (await add(site, {}, text="tea"))[0] == 403
        await site.services.memory.write("The ladder is with Zoë")
        shown = await page(site)
        assert not shown.all("textarea")
        assert "The ladder is with Zoë" in shown.by_id("log-text").text
        (hint,) = (each for each in shown.all("p") if "locked" in each.attributes.get("class", ""))
        assert "commonplace init page" in hint.text


async def test_yesterday_is_led_to_where_there_is_one_and_a_log_is_no_html(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, timezone="Pacific/Kiritimati") as site:
        today = site.services.now().date()
        before = today - timedelta(days=1)
        notes = tmp_path / "memory"
        notes.mkdir(exist_ok=True)
        (notes / f"{today}.md").write_text(f"# {today}\n\n- {HOSTILE} **bold**\n", "utf-8")
        assert "Yesterday" not in (await page(site)).by_id("log-text").text
        (notes / f"{before}.md").write_text("- tea\n", "utf-8")
        shown = await page(site)
        assert len(shown.all("h1")) == 1
        assert HOSTILE in shown.by_id("log-text").text
        assert not shown.all("img")
        assert f"/notes/{before}.md" in [each.attributes.get("href") for each in shown.all("a")]
        (notes / f"{today}.md").write_bytes(b"")
        assert "No notes yet today." in (await page(site)).by_id("log-text").text


async def test_of_a_long_log_the_end_is_shown(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        day = f"{site.services.now():%Y-%m-%d}"
        notes = tmp_path / "memory"
        notes.mkdir(exist_ok=True)
        lines = "".join(f"- {number} {'word ' * 30}\n" for number in range(3000))
        (notes / f"{day}.md").write_text(f"# {day}\n\n{lines}", "utf-8")
        async with site.client.get("/", headers=site.token) as answer:
            text = await answer.text()
        shown = HtmlPage(text).by_id("log-text").text
        assert shown.startswith("Read it from the beginning ")
        assert " 2999 word" in shown
        assert " 100 word" not in shown
        assert len(text.encode()) < 60_000
        (notes / f"{day}.md").write_text("word " * 40_000, "utf-8")
        async with site.client.get("/", headers=site.token) as answer:
            assert len((await answer.text()).encode()) < 60_000


@pytest.mark.parametrize(
    ("text", "shown", "first"),
    [
        ("", "", 1),
        (TITLE, "", 1),
        (f"{TITLE}\n", "", 2),
        (f"{TITLE}\n\n- a\n- b\n", "- a\n- b\n", 3),
        ("- a\n- b", "- a\n- b", 1),
        ("# Another title\n\n- a", "# Another title\n\n- a", 1),
    ],
)
def test_a_short_log_is_whole_without_its_title(text: str, shown: str, first: int) -> None:
    cut, line = cut_log(text, title=TITLE)
    assert cut.strip() == shown.strip()
    assert not shown or line == first


def test_a_cut_log_keeps_its_last_lines_within_both_limits() -> None:
    lines = [f"- {number}" for number in range(1000)]
    cut, first = cut_log("\n".join([TITLE, "", *lines]), title=TITLE)
    assert cut.split("\n") == lines[-MAX_LINES:]
    assert first == 2 + 1000 - MAX_LINES + 1
    long = [f"- {number} {'x' * (MAX_CHARS // 4)}" for number in range(9)]
    cut, first = cut_log("\n".join([TITLE, *long]), title=TITLE)
    assert (cut.split("\n"), first) == (long[-3:], 8)
    cut, first = cut_log(f"- a\n- {'x' * 2 * MAX_CHARS}", title=TITLE)
    assert (len(cut), first) == (2 * MAX_CHARS + 2, 2)
