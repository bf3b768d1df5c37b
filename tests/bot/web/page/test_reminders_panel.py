"""Reminders on the first page: shown, cancelled, set again and moved."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot import phrases
from bot.messages import ChatId, PersonId
from bot.reminders import ReminderRequest
from bot.state.reminders import ReminderRow
from bot.web.page.reminders import NEXT_SHOWN
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = "<script>alert(1)</script>\x1b[2J"


async def remind(
    site: WebClient, line: str, *, chat: str = "telegram:7", room: str = "", prompt: bool = False
) -> ReminderRow:
    when, text = site.services.reminders.parse(line)
    request = ReminderRequest(
        f"{line} {chat}", ChatId.parse(chat), PersonId("telegram", "7"), "Anna", room, bool(room)
    )
    return await site.services.reminders.add(request, when, text, prompt=prompt)


async def panel(site: WebClient, path: str = "/") -> str:
    async with site.client.get(path, headers=site.token) as answer:
        return HtmlPage(await answer.text()).by_id("reminder-list").text


async def send(site: WebClient, action: str, **fields: str) -> tuple[int, str, HtmlPage]:
    posted = site.client.post(f"/reminders/{action}", data=fields, headers=site.token, allow_redirects=False)
    async with posted as answer:
        text = await answer.text()
        return answer.status, answer.headers.get("Location", ""), HtmlPage(text)


def problems(shown: HtmlPage) -> list[str]:
    return [each.text for each in shown.all("p") if each.attributes.get("role") == "alert" and each.text]


async def rows(site: WebClient) -> dict[int, ReminderRow]:
    return {row.number: row for row in await site.services.reminders.list_upcoming(limit=1000)}


async def test_the_next_ones_of_all_chats_are_shown(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN, timezone="Europe/Berlin") as site:
        assert "No upcoming reminders." in await panel(site)
        await remind(site, f"2027-03-01 14:00 {HOSTILE}", chat="telegram:-1", room="Fam\x00ily")
        await remind(site, "2027-02-01 8:00 what is planned?", prompt=True)
        await remind(site, "every monday 8:00 bins", chat="terminal:main")
        shown = await panel(site)
        places = [shown.index(text) for text in ("bins", "what is planned?", "alert(1)")]
        assert places == sorted(places)
        assert (
            "then every week on Monday at 08:00 For Anna, Terminal Move the series New time, and how often"
            in shown
        )
        assert "Monday, 1 February 2027 at 08:00 Scheduled prompt for Anna, Telegram" in shown
        assert "Monday, 1 March 2027 at 14:00 For Anna, Fam" in shown
        assert "\x1b" not in shown
        assert shown.endswith("Times are in Europe/Berlin.")
        for number in range(NEXT_SHOWN):
            await remind(site, f"2027-01-01 8:0{number} tea")
        assert "Show all" in await panel(site)
        assert "alert(1)" not in await panel(site)
        assert "alert(1)" in await panel(site, "/?reminders=all")


async def test_one_is_cancelled_and_set_again(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        row = await remind(site, "tomorrow 9:00 tea")
        number, once = str(row.number), "0" * 32
        for _ in range(2):
            status, address, _ = await send(site, "cancel", number=number, once=once)
            assert (status, address) == (303, f"/?reminder={number}&done=cancelled#done")
        assert await rows(site) == {}
        async with site.client.get(address, headers=site.token) as answer:
            shown = HtmlPage(await answer.text())
        assert phrases.WEB_DONE["cancelled"] in [each.text for each in shown.all("p")]
        assert "Restore the reminder" in shown.by_id("reminders").text
        for _ in range(2):
            status, address, _ = await send(site, "restore", number=number)
            assert (status, address) == (303, "/?done=restored#done")
        assert (await rows(site))[row.number] == row
        for action in ("cancel", "restore", "move"):
            for unknown in ("99", "x", "", "9" * 18):
                status, _, shown = await send(site, action, number=unknown, when="tomorrow 9:00")
                assert (status, problems(shown)) == (409, [phrases.WEB_REMINDER_GONE]), (action, unknown)


async def test_one_is_moved_by_what_remind_understands(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN, timezone="Europe/Berlin") as site:
        row = await remind(site, "tomorrow 9:00 tea")
        status, address, _ = await send(site, "move", number=str(row.number), when=" 2027-03-01 14:00 ")
        assert (status, address) == (303, "/?done=moved#done")
        moved = (await rows(site))[row.number]
        assert (moved.due_at, moved.zone, moved.text) == (
            "2027-03-01T13:00:00.000+00:00",
            "Europe/Berlin",
            "tea",
        )
        await send(site, "move", number=str(row.number), when="in 2 hours")
        assert (await rows(site))[row.number].zone == ""
        await send(site, "move", number=str(row.number), when="every day 8:00")
        assert (await rows(site))[row.number].rule


async def test_a_time_that_is_not_understood_stays_in_its_field(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        row = await remind(site, "every monday 8:00 bins")
        for number in range(NEXT_SHOWN):
            await remind(site, f"in {number + 1} minutes tea {number}")
        for when, told in (
            (f"soon {HOSTILE}", "I didn't understand the time."),
            ("yesterday 9:00", "past"),
            ("tomorrow 9:00", "This reminder repeats"),
            ("every monday 8:00 bins out", "but not “bins out”"),
            ("", "Please write the new time"),
        ):
            status, _, shown = await send(site, "move", number=str(row.number), when=when)
            assert status == 400, when
            (problem,) = problems(shown)
            assert told in problem, when
            assert "`" not in problem
            field = shown.by_id(f"when-{row.number}")
            assert field.attributes["value"] == when
            assert not [each for each in shown.all("script") if "nonce" not in each.attributes]
        assert (await rows(site))[row.number] == row


async def test_one_whose_time_has_passed_is_not_set_again(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        once, often = await remind(site, "in 1 second tea"), await remind(site, "every minute bins")
        for row in (once, often):
            await send(site, "cancel", number=str(row.number))
        later = site.services.now() + timedelta(minutes=5)
        site.services.reminders._now = lambda: later
        status, _, shown = await send(site, "restore", number=str(once.number))
        assert (status, problems(shown)) == (409, [phrases.REMINDER_PASSED])
        assert (await send(site, "restore", number=str(often.number)))[0] == 303
        assert (await rows(site))[often.number].due_at > often.due_at


async def test_one_that_cannot_be_read_can_be_cancelled(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        row = await remind(site, "tomorrow 9:00 tea")
        await site.services.state.change(
            lambda db: db.execute("UPDATE reminders SET due_at = 'soon'").fetchall()
        )
        shown = await panel(site)
        assert phrases.WEB_REMINDER_UNREADABLE in shown
        assert "Move" not in shown
        assert (await send(site, "cancel", number=str(row.number)))[0] == 303


async def test_nobody_sees_or_changes_them_without_the_token(tmp_path: Path) -> None:
    async with open_web_client(tmp_path / "locked", token=TOKEN) as site:
        row = await remind(site, "tomorrow 9:00 tea")
        for action in ("cancel", "move", "restore"):
            data = {"number": str(row.number), "when": "in 2 hours"}
            for headers, status in (({}, 401), (site.cookie, 403)):
                async with site.client.post(f"/reminders/{action}", data=data, headers=headers) as answer:
                    assert answer.status == status
        assert await rows(site) == {row.number: row}
    async with open_web_client(tmp_path / "open") as site:
        row = await remind(site, "tomorrow 9:00 tea")
        async with site.client.get("/") as answer:
            assert "tea" not in HtmlPage(await answer.text()).all("main")[0].text
        async with site.client.post("/reminders/cancel", data={"number": str(row.number)}) as answer:
            assert answer.status == 403
        assert await rows(site) == {row.number: row}
