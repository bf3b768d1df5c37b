"""Who waits to be let in, on the first page, and the buttons that decide about them."""

from pathlib import Path

import pytest

from bot import phrases
from bot.access import Standing
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.state.access import Decision, read_decision
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

INGRID = PersonId("discord", "5")


async def knock(site: WebClient, person: PersonId = INGRID, *, name: str = "Ingrid") -> str:
    """Have a stranger write; return their code."""
    message = IncomingMessage(
        "1", ChatId(person.channel, person.id), person, "hello", site.services.now(), sender_name=name
    )
    await site.services.pairing.greet(message)
    return next(
        each.code for each in await site.services.pairing.list_pending() if each.person == str(person)
    )


async def page(site: WebClient, path: str = "/") -> HtmlPage:
    async with site.client.get(path, headers=site.token) as answer:
        return HtmlPage(await answer.text())


async def press(site: WebClient, decision: str, code: str, person: str = str(INGRID)) -> tuple[int, str, str]:
    fields = {"decision": decision, "code": code, "person": person, "once": "a" * 32}
    posted = site.client.post("/waiting", data=fields, headers=site.token, allow_redirects=False)
    async with posted as answer:
        alerts = [
            each.text
            for each in HtmlPage(await answer.text()).all("p")
            if each.attributes.get("role") == "alert"
        ]
        return answer.status, answer.headers.get("Location", ""), " ".join(alerts).strip()


async def decided(site: WebClient) -> Decision | None:
    return await site.services.state.read(lambda db: read_decision(db, str(INGRID)))


async def test_who_waits_is_shown_with_code_name_and_channel(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        shown = await page(site)
        assert shown.by_id("waiting").text == ""
        assert "Nothing needs your attention." in shown.by_id("attention").text
        code = await knock(site, name="<b>Ingrid\x1b")
        shown = await page(site)
        assert "Nothing" not in shown.by_id("attention").text
        text = shown.by_id("waiting").text
        assert text.startswith("Waiting to be let in bIngrid Discord, discord:5 Asked: ")
        assert f"; the code {code} expires in 60 min" in text
        assert [
            each.attributes["aria-label"]
            for each in shown.all("button")
            if each.attributes.get("name") == "decision"
        ] == ["Let in bIngrid", "Let in as a guest: bIngrid", "Block bIngrid"]


@pytest.mark.parametrize(
    ("button", "decision", "standing"),
    [
        ("let-in", "allowed", Standing.ALLOWED),
        ("guest", "guest", Standing.GUEST),
        ("blocked", "denied", Standing.STRANGER),
    ],
)
async def test_a_button_decides_once(
    tmp_path: Path, button: str, decision: Decision, standing: Standing
) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        code = await knock(site)
        for _ in range(2):
            assert await press(site, button, code) == (303, f"/?who=discord%3A5&done={button}#done", "")
        assert await decided(site) == decision
        assert await site.services.access.standing_of(INGRID) is standing
        shown = await page(site, f"/?who=discord%3A5&done={button}")
        assert shown.by_id("waiting").text == ""
        assert phrases.WEB_DONE[button].format(who="Ingrid (discord:5)") in [
            each.text for each in shown.all("p")
        ]


async def test_nothing_is_decided_about_who_does_not_wait(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        code = await knock(site)
        for button, given, person in (
            ("let-in", "CDFHJKMN", str(INGRID)),
            ("let-in", code, "discord:6"),
            ("blocked", code, "discord:6"),
            ("blocked", "", str(INGRID)),
            ("owner", code, str(INGRID)),
            ("", code, str(INGRID)),
            ("let-in", code, "nobody"),
        ):
            assert await press(site, button, given, person) == (409, "", phrases.WEB_NOT_WAITING)
        assert await decided(site) is None
        await press(site, "blocked", code)
        assert (await press(site, "let-in", code))[0] == 409
        assert await decided(site) == "denied"


async def test_nobody_sees_or_decides_without_the_token(tmp_path: Path) -> None:
    async with open_web_client(tmp_path / "locked", token=TOKEN) as site:
        data = {"decision": "let-in", "code": await knock(site), "person": str(INGRID)}
        for headers, status in (({}, 401), (site.cookie, 403)):
            async with site.client.post("/waiting", data=data, headers=headers) as answer:
                assert answer.status == status
        assert await decided(site) is None
    async with open_web_client(tmp_path / "open") as site:
        data["code"] = await knock(site)
        async with site.client.get("/") as answer:
            assert data["code"] not in await answer.text()
        async with site.client.post("/waiting", data=data) as answer:
            assert answer.status == 403
        assert await decided(site) is None
