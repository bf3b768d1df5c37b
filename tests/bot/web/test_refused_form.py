"""What was typed into a form whose session has ended: it is shown, brought along to signing in, and sent by a click."""

import re
import time
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from bot import phrases
from bot.web.forms import FORM_FIELD, MAX_FORM_BYTES
from bot.web.session import SESSION, SESSION_SECONDS, new_form_token, new_session
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HTML = {"Accept": "text/html"}
HOSTILE = "</textarea><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
TEXT = f"# A\r\n\r\none {HOSTILE}\r\n\r\n{{{{ 7*7 }}}}\r\n"
SEEN = TEXT.replace("\r\n", "\n")
ENDED = time.time() - SESSION_SECONDS - 60


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory/a.md").write_text("# A\n\none\n", "utf-8")
        yield site


def note(site: WebClient) -> str:
    return (site.folder / "memory/a.md").read_text("utf-8")


def cookie(session: str) -> dict[str, str]:
    return {"Cookie": f"{SESSION}={session}"}


async def send(site: WebClient, path: str, fields: dict[str, str], **headers: str) -> tuple[int, str, str]:
    """Send a form as a browser; return status, address and text of the response."""
    sent = site.client.post(path, data=fields, headers={**HTML, **headers}, allow_redirects=False)
    async with sent as answer:
        return answer.status, answer.headers.get("Location", ""), await answer.text()


async def edit(site: WebClient, session: str, text: str = TEXT) -> dict[str, str]:
    """Open the form of the note, as this session shows it, and type the text."""
    whole = await site.services.memory.read_whole("a.md")
    mark = {FORM_FIELD: new_form_token(session, TOKEN)}
    return {**mark, "digest": whole.digest, "began": whole.text, "text": text, "do": "save"}


def fields_of(text: str, action: str) -> dict[str, str]:
    """The fields of the form that goes to `action`, as a browser would send them."""
    page = HtmlPage(text)
    forms = [each.attributes.get("action") for each in page.all("form")]
    assert action in forms, forms
    fields = {
        each.attributes["name"]: each.attributes.get("value", "")
        for each in page.all("input")
        if "name" in each.attributes
    }
    (shown,) = areas(text) or [""]
    return fields | {each.attributes["name"]: shown.replace("\n", "\r\n") for each in page.all("textarea")}


def areas(text: str) -> list[str]:
    """What a browser shows in the text fields."""
    pieces = ("".join(each.pieces) for each in HtmlPage(text.replace("\r\n", "\n")).all("textarea"))
    return [each.removeprefix("\n") for each in pieces]


async def test_what_was_typed_is_brought_along_to_signing_in_and_sent_by_a_click(site: WebClient) -> None:
    old = new_session(TOKEN, now=ENDED)
    status, _, shown = await send(site, "/edit/a.md?x=1", await edit(site, old), **cookie(old))
    assert status == 401
    assert areas(shown) == [SEEN]
    assert phrases.WEB_SIGNED_OUT_KEPT in unescape(shown)
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown

    status, _, shown = await send(site, "/sign-in", {**fields_of(shown, "/sign-in"), "token": "guessed"})
    assert (status, areas(shown)) == (401, [SEEN])
    typed = fields_of(shown, "/sign-in")
    assert "guessed" not in shown
    async with site.client.post(
        "/sign-in", data={**typed, "token": TOKEN}, headers=HTML, allow_redirects=False
    ) as answer:
        assert answer.status == 200
        shown = await answer.text()
        session = answer.cookies[SESSION].value
    assert areas(shown) == [SEEN]
    assert TOKEN not in shown
    assert note(site) == "# A\n\none\n", "only a click sends it"

    again = fields_of(shown, "/edit/a.md?x=1")
    assert again[FORM_FIELD] == new_form_token(session, TOKEN)
    status, address, _ = await send(site, "/edit/a.md?x=1", again, **cookie(session))
    assert (status, address) == (303, "/notes/a.md?done=saved")
    assert note(site) == SEEN


async def test_a_form_of_an_earlier_session_is_offered_to_be_sent(site: WebClient) -> None:
    old, session = new_session(TOKEN, now=time.time() - 60), new_session(TOKEN, now=time.time())
    status, _, shown = await send(site, "/edit/a.md", await edit(site, old), **cookie(session))
    assert (status, areas(shown)) == (403, [SEEN])
    assert note(site) == "# A\n\none\n"
    status, address, _ = await send(site, "/edit/a.md", fields_of(shown, "/edit/a.md"), **cookie(session))
    assert (status, address) == (303, "/notes/a.md?done=saved")


@pytest.mark.parametrize("mark", ["", "x", f"1.{'0' * 64}", new_form_token("1.2.3", f"{TOKEN}!")])
async def test_what_no_page_of_ours_has_made_can_be_copied_but_not_sent(site: WebClient, mark: str) -> None:
    session = new_session(TOKEN, now=time.time())
    fields = {**await edit(site, session), FORM_FIELD: mark}
    status, _, shown = await send(site, "/edit/a.md", fields, **cookie(session))
    assert (status, areas(shown)) == (403, [SEEN])
    status, _, signing_in = await send(site, "/edit/a.md", fields)
    assert (status, areas(signing_in)) == (401, [SEEN])
    carried = {**fields_of(signing_in, "/sign-in"), "token": TOKEN}
    status, _, signed_in = await send(site, "/sign-in", carried)
    assert (status, areas(signed_in)) == (200, [SEEN])
    for text in (shown, signed_in):
        assert "/edit/a.md" not in [each.attributes.get("action") for each in HtmlPage(text).all("form")]
        assert new_form_token(session, TOKEN) not in text.partition("<main")[2]


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example", "/a\r\nX: y", "/sign-in"])
async def test_it_is_never_sent_elsewhere(site: WebClient, address: str) -> None:
    mark = new_form_token(new_session(TOKEN, now=ENDED), TOKEN)
    fields = {f"sent.{FORM_FIELD}": mark, "sent_to": address, "typed.text": "words", "token": TOKEN}
    status, _, shown = await send(site, "/sign-in", fields)
    assert (status, areas(shown)) == (200, ["words"])
    assert address not in [each.attributes.get("action") for each in HtmlPage(shown).all("form")]


async def test_another_site_has_nothing_shown(site: WebClient) -> None:
    session = new_session(TOKEN, now=time.time())
    fields = {**await edit(site, session), FORM_FIELD: ""}
    for more in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        for path in ("/edit/a.md", "/sign-in"):
            status, _, text = await send(site, path, fields, **cookie(session), **more)
            assert (status, text) == (403, f"{phrases.WEB_FOREIGN_SITE}\n")


async def test_nobody_learns_more_than_they_have_sent(site: WebClient) -> None:
    mark = new_form_token(new_session(TOKEN, now=ENDED), TOKEN)
    fields = {FORM_FIELD: mark, "text": "words", "token": "s3cret"}
    shown = [(await send(site, f"/edit/{name}.md", fields))[2] for name in "ab"]
    one, other = (re.sub('nonce="[^"]*"', "", text) for text in shown)
    assert one.replace("/a.md", "/b.md") == other, "whether there is such a note is not told"
    assert "s3cret" not in HtmlPage(one).by_id("sent-text").text


async def test_a_button_that_sends_nothing_typed_is_only_told(site: WebClient) -> None:
    old = new_session(TOKEN, now=ENDED)
    fields = {FORM_FIELD: new_form_token(old, TOKEN), "digest": "x"}
    referer = {"Referer": str(site.client.make_url("/delete/a.md?x=1"))}
    status, _, shown = await send(site, "/delete/a.md", fields, **cookie(old), **referer)
    assert (status, phrases.WEB_SIGNED_OUT in shown) == (401, True)
    assert fields_of(shown, "/sign-in")["then"] == "/delete/a.md?x=1"
    for elsewhere in ("https://evil.example/x", "//[", ""):
        _, _, shown = await send(site, "/delete/a.md", fields, Referer=elsewhere)
        assert fields_of(shown, "/sign-in")["then"] == "/"
    session = new_session(TOKEN, now=time.time())
    status, _, shown = await send(site, "/delete/a.md", fields, **cookie(session))
    assert (status, phrases.WEB_OLD_FORM in shown) == (403, True)


@pytest.mark.parametrize("is_ours", [True, False])
async def test_only_a_form_of_ours_may_be_long(site: WebClient, is_ours: bool) -> None:
    long = "word " * (MAX_FORM_BYTES // 4)
    mark = new_form_token(new_session(TOKEN, now=ENDED), TOKEN if is_ours else "guess")
    fields = {FORM_FIELD: mark, "text": long, "began": "", "digest": "x"}
    assert len(urlencode(fields)) > MAX_FORM_BYTES
    status, _, shown = await send(site, "/edit/a.md", fields)
    assert status == 401
    assert areas(shown) == ([long] if is_ours else [])
    carried = {f"sent.{FORM_FIELD}": mark, "sent_to": "/edit/a.md", "typed.text": long, "token": TOKEN}
    status, _, shown = await send(site, "/sign-in", carried)
    assert status == (200 if is_ours else 413)
    assert not is_ours or areas(shown) == [long]


async def test_a_program_gets_a_line_of_text(site: WebClient) -> None:
    fields = await edit(site, new_session(TOKEN, now=ENDED))
    async with site.client.post("/edit/a.md", data=fields) as answer:
        assert (answer.status, answer.content_type) == (401, "text/plain")
        assert await answer.text() == f"{phrases.WEB_SIGN_IN_FIRST}\n"
