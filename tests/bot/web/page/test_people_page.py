"""People on the page: who is let in, who is blocked, and what an owner can do about it there."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from bot import phrases
from bot.access import Standing
from bot.config.settings import AccessSettings
from bot.conversations.conversation import Conversation
from bot.messages import ChatId, PersonId
from bot.models.protocol import UserMessage
from bot.state.access import Decision, PairingRequest, read_decision, save_decision, save_pairing_request
from bot.state.database import format_timestamp
from bot.state.links import read_links, save_link
from bot.web.forms import FORM_FIELD
from bot.web.page.people import LISTED
from bot.web.session import SESSION, new_form_token, new_session
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = "<script>alert(1)</script>"
BEN, ANN = "telegram:7", "discord:8"
FORMS = {
    "/people/change": {"person": BEN, "to": "guest"},
    "/people/deny": {"person": BEN},
    "/people/link": {"person": BEN, "other": ANN},
    "/people/unlink": {"person": BEN, "other": ANN},
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    access = AccessSettings(
        owners=("telegram:1",),
        allow=("telegram:2", "discord:*"),
        guests=("telegram:3",),
        people={"zoë": ("telegram:2", "discord:22")},
    )
    async with open_web_client(tmp_path, token=TOKEN, access=access.model_dump()) as site:
        yield site


async def decide(site: WebClient, person: str, standing: Decision, name: str = "") -> None:
    at = format_timestamp(site.services.now())
    await site.services.state.change(
        lambda db: save_decision(db, person, standing, name=name, by="telegram:1", at=at)
    )


async def decision(site: WebClient, person: str) -> str | None:
    return await site.services.state.read(lambda db: read_decision(db, person))


async def page(site: WebClient, address: str = "/people", status: int = 200) -> HtmlPage:
    async with site.client.get(address, headers=site.token) as answer:
        assert answer.status == status, address
        return HtmlPage(await answer.text())


async def post(site: WebClient, address: str, **fields: str) -> tuple[int, str, HtmlPage | None]:
    """Send a form; return status, where it leads, and the page that answers it."""
    async with site.client.post(address, data=fields, headers=site.token, allow_redirects=False) as answer:
        text = await answer.text()
        return answer.status, answer.headers.get("Location", ""), HtmlPage(text) if text else None


async def test_without_a_token_nobody_sees_or_changes_them(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        await decide(site, BEN, "allowed", "Ben")
        for address in ("/people", f"/people/deny?person={BEN}"):
            async with site.client.get(address) as answer:
                assert answer.status == 403
                assert "Ben" not in await answer.text()
        for address, fields in FORMS.items():
            async with site.client.post(address, data=fields) as answer:
                assert answer.status == 403
        assert await decision(site, BEN) == "allowed"


async def test_a_form_without_its_hidden_field_changes_nothing(site: WebClient) -> None:
    await decide(site, BEN, "allowed")
    await decide(site, ANN, "allowed")
    session = new_session(TOKEN, now=time.time())
    cookie = {"Cookie": f"{SESSION}={session}"}
    for address, fields in FORMS.items():
        for wrong in ({}, {FORM_FIELD: ""}, {FORM_FIELD: new_form_token("other", TOKEN)}):
            async with site.client.post(address, data={**fields, **wrong}, headers=cookie) as answer:
                assert answer.status == 403, address
    assert (await decision(site, BEN), await site.services.state.read(read_links)) == ("allowed", ())
    right = {**FORMS["/people/deny"], FORM_FIELD: new_form_token(session, TOKEN)}
    async with site.client.post("/people/deny", data=right, headers=cookie, allow_redirects=False) as answer:
        assert answer.status == 303
    assert await decision(site, BEN) == "denied"


async def test_everybody_is_shown_with_what_is_known(site: WebClient) -> None:
    await decide(site, BEN, "allowed", "Ben")
    await decide(site, ANN, "guest", "Ann")
    await decide(site, "telegram:9", "denied", "Mallory")
    await decide(site, "telegram:10", "owner", "Olga")
    talk = Conversation(site.services.state, ChatId("telegram", "7"))
    await talk.load()
    await talk.add_user_messages([(UserMessage("hello"), PersonId.parse(BEN))])
    shown = (await page(site)).by_id("main").text
    for piece in (
        "Ben may use the memory telegram:7 Since",
        "decided by telegram:1 Last wrote",
        "Ann guest, without the memory discord:8",
        "Has not written yet",
        "Mallory blocked telegram:9",
        "Olga owner telegram:10",
        "access.owners",
        "access.allow",
        "discord:*",
        "zoë telegram:2, discord:22 In config.toml, under [access.people]",
    ):
        assert piece in shown, piece


async def test_who_waits_is_shown_on_the_first_page(site: WebClient) -> None:
    at = format_timestamp(site.services.now())
    asks = PairingRequest("telegram:55", "CDFHJKMN", "telegram:55", HOSTILE, told_at=at, at=at)
    await site.services.state.change(lambda db: save_pairing_request(db, asks))
    (link,) = [each for each in (await page(site)).all("a") if each.attributes["href"] == "/#waiting"]
    assert link.text == "1 person is waiting to be let in"


async def test_a_role_is_changed_and_changed_back(site: WebClient) -> None:
    await decide(site, BEN, "allowed", "Ben")
    person = PersonId.parse(BEN)
    for to, standing in (("guest", Standing.GUEST), ("allowed", Standing.ALLOWED)):
        status, leads, _ = await post(site, "/people/change", person=BEN, to=to)
        assert (status, leads) == (303, f"/people?who=telegram%3A7&done={to}#done")
        assert (
            phrases.WEB_PEOPLE_DONE[to].format(who="Ben (telegram:7)")
            in (await page(site, leads)).by_id("main").text
        )
        assert await site.services.access.standing_of(person) is standing


async def test_somebody_is_blocked_after_a_question_and_allowed_again(site: WebClient) -> None:
    await decide(site, BEN, "allowed", "Ben")
    asked = (await page(site, f"/people/deny?person={BEN}")).by_id("main").text
    assert "Block Ben? telegram:7 will no longer be able to talk" in asked
    assert await decision(site, BEN) == "allowed", "it is only asked"
    status, leads, _ = await post(site, "/people/deny", person=BEN)
    assert (status, leads) == (303, "/people?who=telegram%3A7&done=blocked#done")
    assert (
        "Ben (telegram:7) is blocked and can't talk with me." in (await page(site, leads)).by_id("done").text
    )
    assert await site.services.access.standing_of(PersonId.parse(BEN)) is Standing.STRANGER
    assert (await post(site, "/people/change", person=BEN, to="guest"))[0] == 303
    assert await site.services.access.standing_of(PersonId.parse(BEN)) is Standing.GUEST


@pytest.mark.parametrize("owner", ["telegram:10", "telegram:1"])
async def test_no_owner_is_locked_out(site: WebClient, owner: str) -> None:
    await decide(site, owner, "owner", "Olga")
    shown = await page(site)
    assert not [each for each in shown.all("input") if each.attributes.get("value") == owner]
    await page(site, f"/people/deny?person={owner}", 409)
    for address, fields in (
        ("/people/deny", {}),
        ("/people/change", {"to": "guest"}),
        ("/people/change", {"to": "allowed"}),
        ("/people/change", {"to": "owner"}),
    ):
        status, _, answer = await post(site, address, person=owner, **fields)
        assert status in (400, 409)
        assert answer
        assert [each.text for each in answer.all("p") if each.attributes.get("role") == "alert"]
    assert await site.services.access.standing_of(PersonId.parse(owner)) is Standing.OWNER


async def test_nobody_becomes_an_owner_here(site: WebClient) -> None:
    await decide(site, BEN, "allowed")
    assert (await post(site, "/people/change", person=BEN, to="owner"))[0] == 400
    assert await decision(site, BEN) == "allowed"


async def test_those_of_the_settings_are_not_changed_here(site: WebClient) -> None:
    for person in ("telegram:1", "telegram:2", "telegram:3"):
        assert (await post(site, "/people/change", person=person, to="guest"))[0] == 404
        assert (await post(site, "/people/deny", person=person))[0] == 404
        assert await decision(site, person) is None
    await decide(site, "telegram:2", "denied", "Zoë")
    shown = (await page(site)).by_id("main").text
    assert "Also named in the settings under access.allow" in shown
    assert "A later decision about this account counts instead" in shown


@pytest.mark.parametrize(
    "person",
    [
        "",
        "telegram:99",
        "telegram:*",
        "discord:*",
        "../../etc/passwd",
        "terminal:owner",
        HOSTILE,
        "x" * 5000,
        "a:\0",
    ],
)
async def test_who_is_not_known_is_not_changed(site: WebClient, person: str) -> None:
    for address, fields in (("/people/change", {"to": "allowed"}), ("/people/deny", {})):
        status, _, answer = await post(site, address, person=person, **fields)
        assert status in (400, 404)
        assert answer
        assert not [each for each in answer.all("script") if "alert" in each.text]
    async with site.client.get("/people/deny", params={"person": person}, headers=site.token) as got:
        assert got.status == 404
    assert await site.services.state.read(lambda db: db.execute("SELECT count(*) FROM people").get) == 0


async def test_two_accounts_are_linked_and_unlinked(site: WebClient) -> None:
    await decide(site, BEN, "allowed", "Ben")
    await decide(site, ANN, "allowed", "Ann")
    assert (await post(site, "/people/link", person=f" {BEN} ", other=ANN))[:2] == (
        303,
        "/people?who=telegram%3A7&other=discord%3A8&done=linked#done",
    )
    assert await site.services.state.read(read_links) == ((ANN, BEN),)
    shown = (await page(site, f"/people?who={BEN}&other={ANN}&done=linked")).by_id("main").text
    assert "Ben (telegram:7) and Ann (discord:8) are linked" in shown
    assert "Ann (discord:8) and Ben (telegram:7) Unlink" in shown
    assert f"Also {ANN}" in shown
    assert (await post(site, "/people/unlink", person=BEN, other=ANN))[0] == 303
    assert await site.services.state.read(read_links) == ()
    assert (await post(site, "/people/unlink", person=BEN, other=ANN))[0] == 404


async def test_of_an_address_only_accounts_are_shown(site: WebClient) -> None:
    for who in ("", "telegram:You-are-hacked", "pigeon:1", "1"):
        shown = await page(site, f"/people?done=blocked&who={who}")
        assert not [each for each in shown.elements if each.attributes.get("id") == "done"]
        assert "hacked" not in shown.by_id("main").text


async def test_what_cannot_be_linked_is_said_and_kept_in_the_form(site: WebClient) -> None:
    await decide(site, BEN, "allowed")
    await decide(site, ANN, "guest")
    for person, other, status, why in (
        ("Ben", ANN, 400, phrases.WEB_NO_ACCOUNT),
        (BEN, BEN, 409, "same account twice"),
        (BEN, ANN, 409, "is a guest"),
        (BEN, "telegram:2", 409, "access.people.zoë"),
        (BEN, "telegram:-100", 409, "is a room"),
        (BEN, "pigeon:1", 409, "I don't know the channel"),
        (BEN, f"telegram:{HOSTILE}", 400, phrases.WEB_NO_ACCOUNT),
        ("", "", 400, phrases.WEB_NO_ACCOUNT),
    ):
        answered, _, shown = await post(site, "/people/link", person=person, other=other)
        assert answered == status, (person, other)
        assert shown
        (alert,) = [each for each in shown.all("p") if each.attributes.get("role") == "alert"]
        assert why in alert.text
        assert "`" not in alert.text
        assert shown.by_id("person").attributes["value"] == person
        assert shown.by_id("other").attributes["value"] == other
    assert await site.services.state.read(read_links) == ()


async def test_hostile_names_are_text(site: WebClient) -> None:
    await decide(site, BEN, "allowed", f"{HOSTILE}\x1b[31m\u202e\" onclick='x'")
    await decide(site, "telegram:9", "denied", HOSTILE)
    for address in (
        "/people",
        f"/people/deny?person={BEN}",
        "/people?done=<script>",
        "/people?page=<script>",
    ):
        shown = await page(site, address)
        assert not [each for each in shown.all("script") if "alert" in each.text]
        assert not [each for each in shown.elements if "onclick" in each.attributes]
        text = shown.by_id("main").text
        assert HOSTILE in text
        assert "\x1b" not in text
        assert "\u202e" not in text


async def test_many_are_shown_a_page_at_a_time(site: WebClient) -> None:
    def fill(db: apsw.Connection) -> None:
        for number in range(100, 100_100):
            standing: Decision = "denied" if number % 2 else "guest"
            at = f"2026-01-01T00:00:00.{number % 1000:03d}+00:00"
            db.execute(
                "INSERT INTO people VALUES (?, ?, 'N', 'telegram:1', ?)", (f"telegram:{number}", standing, at)
            )

    await site.services.state.change(fill)
    began = time.monotonic()
    shown = await page(site, "/people?page=999999&blocked=2")
    assert time.monotonic() - began < 5
    assert "50,000 people" in shown.by_id("main").text
    assert len([each for each in shown.all("h3") if each.text == "N"]) == 2 * LISTED
    links = {each.text: each.attributes["href"] for each in shown.all("a") if "?" in each.attributes["href"]}
    assert links["Older →"] == "/people?blocked=3"


async def test_ten_thousand_links_and_entries_of_the_settings_are_bounded(tmp_path: Path) -> None:
    allow = [f"telegram:{number}" for number in range(1, 10_001)]
    async with open_web_client(tmp_path, token=TOKEN, access={"allow": allow}) as site:

        def fill(db: apsw.Connection) -> None:
            for each in allow:
                save_decision(
                    db, each, "allowed", name="N", by="telegram:1", at="2026-01-01T00:00:00.000+00:00"
                )
                save_link(db, each, each.replace("telegram", "discord"), by="telegram:1", at="2026")

        await site.services.state.change(fill)
        began = time.process_time()
        shown = await page(site, "/people")
        assert time.process_time() - began < 3
        text = shown.by_id("main").text
        assert "9,500 further entries are only in config.toml" in text
        assert "9,800 more links are not shown" in text


async def test_what_was_imported_is_not_when_somebody_last_wrote(site: WebClient) -> None:
    await decide(site, BEN, "allowed", "Ben")
    await site.services.state.append(
        None,
        f"imported:{BEN}",
        [("user", '{"text": "x", "by": "telegram:7"}')],
        after=0,
    )
    assert "Has not written yet" in (await page(site)).by_id("main").text


async def test_what_cannot_be_stored_is_told_kindly(site: WebClient) -> None:
    await decide(site, BEN, "allowed")
    site.services.state._is_ours = lambda: False  # another instance has taken over
    for path in ("/people/change", "/people/deny"):
        status, _, shown = await post(site, path, person=BEN, to="guest")
        assert status == 503
        assert shown is not None
        assert shown.all("h1")[0].text == "Not available"
