import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from bot import phrases
from bot.web.guard import MOST_WRONG, WRONG_SECONDS, WrongTokens, _address, is_token, names_this_machine
from bot.web.session import SESSION, new_session
from tests.fakes.website import TOKEN, Website, open_website

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

INSIDE = "/sign-out"
"""A route that only who may come in gets to."""


@pytest.fixture
async def closed(tmp_path: Path) -> AsyncIterator[Website]:
    async with open_website(tmp_path, token=TOKEN) as site:
        yield site


@pytest.fixture
async def open_(tmp_path: Path) -> AsyncIterator[Website]:
    async with open_website(tmp_path) as site:
        yield site


async def post(site: Website, path: str = INSIDE, **headers: str) -> int:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    async with site.client.post(path, headers=shown, allow_redirects=False) as answer:
        return answer.status


async def test_health_needs_no_token_and_all_else_does(closed: Website) -> None:
    assert (await closed.client.get("/healthz")).status == 200
    for path in (
        "/",
        "/metrics",
        "/rpc",
        "/notes/",
        "/progress",
        "/search",
        "/no-such-page",
        "/healthz/",
    ):
        assert (await closed.client.get(path)).status == 401, path
        assert (await closed.client.post(path)).status == 401, path


async def test_the_token_lets_in_and_another_does_not(closed: Website) -> None:
    assert await post(closed, Authorization=f"Bearer {TOKEN}") == 303
    assert await post(closed, Authorization=f"bearer  {TOKEN} ") == 303
    for wrong in (f"Bearer {TOKEN}x", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", "Bearer ümläut"):
        assert await post(closed, Authorization=wrong) == 401, wrong


async def test_a_refusal_says_what_is_missing(closed: Website) -> None:
    answer = await closed.client.get("/metrics")
    assert (answer.status, await answer.text()) == (401, f"{phrases.WEB_SIGN_IN_FIRST}\n")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    wrong = await closed.client.get("/metrics", headers={"Authorization": "Bearer guess"})
    assert (wrong.status, await wrong.text()) == (401, f"{phrases.WEB_WRONG}\n")


async def test_a_token_in_the_address_does_not_count(closed: Website) -> None:
    assert (await closed.client.get("/metrics", params={"token": TOKEN})).status == 401


async def test_who_guesses_has_to_wait_and_health_is_told_all_the_same(closed: Website) -> None:
    for _ in range(MOST_WRONG):
        assert await post(closed, Authorization="Bearer guess") == 401
    assert await post(closed, Authorization="Bearer guess") == 429
    assert await post(closed, Authorization=f"Bearer {TOKEN}") == 429, (
        "else guessing would go on being worth it"
    )
    assert (await closed.client.get("/healthz")).status == 200


def test_wrong_tokens_are_forgotten_after_a_while_and_never_pile_up() -> None:
    now = 0.0
    wrong = WrongTokens(clock=lambda: now)
    for _ in range(MOST_WRONG):
        wrong.note("10.0.0.1")
    assert wrong.too_many("10.0.0.1")
    assert not wrong.too_many("10.0.0.2")
    for number in range(5000):
        wrong.note(f"address {number}")
    assert len(wrong._seen) <= 1000
    wrong.note("10.0.0.3")
    now = WRONG_SECONDS + 1
    assert not wrong.too_many("10.0.0.1")


@pytest.mark.parametrize("said", ["", TOKEN[:-1], TOKEN + " ", TOKEN.upper(), "\ud800", "ü" * 10_000])
def test_only_the_token_is_the_token(said: str) -> None:
    assert is_token(TOKEN, TOKEN)
    assert not is_token(said, TOKEN)


async def test_without_a_token_this_machine_comes_in_by_its_own_names(open_: Website) -> None:
    for host in ("localhost:8321", "127.0.0.1:8321", "[::1]:8321", "127.0.0.1", "LOCALHOST"):
        assert await post(open_, Host=host) == 303, host


async def test_a_name_that_was_made_to_lead_here_does_not(open_: Website) -> None:
    for host in (
        "evil.example",
        "evil.example:8321",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "10.0.0.5",
        "",
    ):
        assert await post(open_, Host=host) == 403, host
    async with open_.client.get("/healthz", headers={"Host": "commonplace:8321"}) as answer:
        assert answer.status == 200, "who watches the service may call it by any name"


@pytest.mark.parametrize(
    "host", ["", "[", "[::1", "a b", ":", "999.999.1.1", "localhost@evil.example", "\x00"]
)
def test_nonsense_is_no_name_of_this_machine(host: str) -> None:
    assert not names_this_machine(host) or host == ""


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
async def test_another_site_cannot_write(open_: Website, site: str) -> None:
    assert await post(open_, Sec_Fetch_Site=site) == 403
    assert await post(open_, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == 403


async def test_another_site_cannot_write_from_an_old_browser_either(open_: Website) -> None:
    here = f"{open_.client.host}:{open_.client.port}"
    assert await post(open_, Origin=f"http://{here}") == 303
    for origin in (
        "https://evil.example",
        "null",
        f"http://{here}.evil.example",
        "http://[",
        "http://localhost:1",
    ):
        assert await post(open_, Origin=origin) == 403, origin


async def test_a_token_does_not_help_another_site(closed: Website) -> None:
    authorization = f"Bearer {TOKEN}"
    assert await post(closed, Authorization=authorization, Origin="https://evil.example") == 403


async def test_another_site_may_link_here_but_not_read(open_: Website) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await open_.client.get("/sign-in", headers=link)).status == 200
    read = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert (await open_.client.get("/no-such-page", headers=read)).status == 403


async def test_every_answer_tells_browsers_what_to_leave_undone(closed: Website) -> None:
    for path in ("/healthz", "/sign-in", "/metrics", "/no-such-page"):
        answer = await closed.client.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Frame-Options"] == "DENY"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


async def test_a_password_of_a_proxy_does_not_keep_a_browser_out_that_has_signed_in(closed: Website) -> None:
    cookie = f"{SESSION}={new_session(TOKEN, now=time.time())}"
    assert await post(closed, Cookie=cookie, Authorization="Basic cHJveHk6cGFzc3dvcmQ=") == 303
    assert await post(closed, Cookie=cookie, Authorization="Bearer guess") == 401


def test_of_ipv6_a_network_counts_as_one_address() -> None:
    def address(remote: str) -> str:
        return _address(make_mocked_request("GET", "/").clone(remote=remote))

    assert address("2001:db8::1") == address("2001:db8::ffff:2%eth0") != address("2001:db8:0:1::1")
    assert address("::ffff:10.0.0.1") == address("10.0.0.1") != address("::ffff:10.0.0.2")
    assert address("::1") != address("127.0.0.1")
    assert address("a socket") == "a socket"
