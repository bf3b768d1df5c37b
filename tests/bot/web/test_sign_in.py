import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot import phrases
from bot.web.auth import MAX_WRONG_TOKENS
from bot.web.forms import FORM_FIELD
from bot.web.session import (
    MAX_SESSION_SECONDS,
    RENEWAL_SECONDS,
    SESSION,
    SESSION_SECONDS,
    is_form_token,
    is_session,
    new_form_token,
    new_session,
    renew_session,
)
from tests.fakes.table_test import table_test
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        yield site


async def sign_in(site: WebClient, token: str, then: str = "/") -> tuple[int, str]:
    form = {"token": token, "then": then}
    async with site.client.post("/sign-in", data=form, allow_redirects=False) as answer:
        return answer.status, answer.headers.get("Location", "")


async def test_a_browser_is_asked_for_the_token_where_it_wanted_to_go(site: WebClient) -> None:
    answer = await site.client.get("/notes/trips/oslo.md?plain=1", headers=PAGE)
    text = await answer.text()
    assert answer.status == 401
    assert 'name="then" value="/notes/trips/oslo.md?plain=1"' in text
    assert phrases.WEB_SIGN_IN_FIRST not in text, "it is no mistake yet"


async def test_with_the_token_a_browser_comes_in_and_stays_in(site: WebClient) -> None:
    assert await sign_in(site, f" {TOKEN} ", "/search?q=oslo") == (303, "/search?q=oslo")
    (cookie,) = [each for each in site.client.session.cookie_jar if each.key == SESSION]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Lax", "")
    assert TOKEN not in cookie.value
    assert (await site.client.post("/sign-out", allow_redirects=False)).status == 303
    assert (await site.client.post("/sign-out", allow_redirects=False)).status == 401


async def test_behind_https_the_cookie_never_goes_without_it(site: WebClient) -> None:
    form, proxied = {"token": TOKEN}, {"X-Forwarded-Proto": "https"}
    answer = await site.client.post("/sign-in", data=form, headers=proxied, allow_redirects=False)
    assert "Secure" in answer.headers["Set-Cookie"]


async def test_a_wrong_token_is_said_to_be_wrong_and_soon_has_to_wait(site: WebClient) -> None:
    answer = await site.client.post("/sign-in", data={"token": "guess", "then": "/notes/"})
    assert answer.status == 401
    text = await answer.text()
    assert phrases.WEB_WRONG in text
    assert "guess" not in text
    assert 'value="/notes/"' in text
    for _ in range(MAX_WRONG_TOKENS - 1):
        assert (await sign_in(site, "guess"))[0] == 401
    assert (await sign_in(site, "guess"))[0] == 429
    assert (await sign_in(site, TOKEN))[0] == 303


@pytest.mark.parametrize(
    "then",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "",
        "/sign-in",
        "/a\r\nSet-Cookie: x=1",
        "//[",
    ],
)
async def test_signing_in_never_leads_elsewhere(site: WebClient, then: str) -> None:
    assert await sign_in(site, TOKEN, then) == (303, "/")


async def test_another_site_cannot_sign_somebody_in(site: WebClient) -> None:
    answer = await site.client.post(
        "/sign-in", data={"token": TOKEN}, headers={"Origin": "https://evil.example"}
    )
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers


async def test_a_form_without_anything_in_it_is_a_wrong_token(site: WebClient) -> None:
    assert (await site.client.post("/sign-in")).status == 401
    assert (await site.client.post("/sign-in", json={"token": TOKEN})).status == 401


async def test_only_marked_styles_and_scripts_run(site: WebClient) -> None:
    answer = await site.client.get("/sign-in")
    (nonce,) = set(re.findall(r'nonce="([^"]+)"', await answer.text()))
    assert f"'nonce-{nonce}'" in answer.headers["Content-Security-Policy"]
    again = await site.client.get("/sign-in")
    assert nonce not in await again.text()


def test_a_cookie_is_good_for_its_time_and_its_token_alone() -> None:
    now = time.time()
    cookie = new_session(TOKEN, now=now)
    assert is_session(cookie, TOKEN, now=now + SESSION_SECONDS - 2)
    assert not is_session(cookie, TOKEN, now=now + SESSION_SECONDS + 1)
    assert not is_session(cookie, "another token", now=now)


@table_test(
    "forged",
    [
        "",
        ".",
        "9999999999.",
        "9999999999.0",
        "9" * 5000 + ".x",
        "٣.x",
        "-1.x",
        "1.ü",
        "1.9999999999.",
        f"1.9999999999.{'0' * 64}",
    ],
)
def test_a_made_up_cookie_is_worth_nothing(forged: str) -> None:
    assert not is_session(forged, TOKEN, now=time.time())


def test_a_cookie_that_was_made_to_last_longer_is_worth_nothing() -> None:
    began, until, signature = new_session(TOKEN, now=1).split(".")
    assert not is_session(f"{began}.{int(until) + 10**9}.{signature}", TOKEN, now=1)
    assert not is_session(f"{int(began) + 10**9}.{until}.{signature}", TOKEN, now=1)


def test_a_session_in_use_lasts_and_yet_ends() -> None:
    session, now = new_session(TOKEN, now=0.0), 0.0
    mark = new_form_token(session, TOKEN)
    assert renew_session(session, TOKEN, now=RENEWAL_SECONDS - 1) == "", "not with every page"
    while is_session(session, TOKEN, now=now):
        assert is_form_token(mark, session, TOKEN), "a form that is open stays good"
        session = renew_session(session, TOKEN, now=now) or session
        now += SESSION_SECONDS / 2
    assert now >= MAX_SESSION_SECONDS > now - SESSION_SECONDS / 2
    assert not is_session(session, TOKEN, now=MAX_SESSION_SECONDS)


async def test_a_browser_in_use_stays_signed_in(site: WebClient) -> None:
    old = new_session(TOKEN, now=time.time() - SESSION_SECONDS / 2)

    async def given(method: str = "GET", path: str = "/system", **headers: str) -> str:
        """The cookie that comes with a response."""
        site.client.session.cookie_jar.clear()
        headers = {"Cookie": f"{SESSION}={old}", **headers}
        fields = {FORM_FIELD: new_form_token(old, TOKEN)} if method == "POST" else None
        async with site.client.request(
            method, path, data=fields, headers=headers, allow_redirects=False
        ) as answer:
            assert answer.status < 400
            cookie = answer.cookies.get(SESSION)
            return cookie.value if cookie else ""

    for renewed in (await given(), await given("POST", "/rebuild")):
        assert is_session(renewed, TOKEN, now=time.time() + SESSION_SECONDS - 60)
    assert await given("GET", "/progress", **{"Sec-Fetch-Mode": "cors"}) == "", "a page that is only open"
    assert await given("POST", "/sign-out") == "", "signed out"


async def test_a_browser_whose_time_is_over_is_told_that_nothing_was_done(site: WebClient) -> None:
    answer = await site.client.post("/rebuild", headers=PAGE, allow_redirects=False)
    text = await answer.text()
    assert (answer.status, answer.content_type) == (401, "text/html")
    assert phrases.WEB_SIGNED_OUT in text
    assert 'name="then" value="/"' in text, "what was asked for by POST cannot be had by going there"
    assert site.services.index_rebuilder.last is None
    assert not site.services.index_rebuilder.is_running
