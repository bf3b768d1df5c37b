import time
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from bot import phrases
from bot.web.auth import (
    MAX_WRONG_TOKENS,
    WRONG_TOKEN_SECONDS,
    FailedLogins,
    client_address,
    is_local_host,
    is_token,
    rate_limit_key,
)
from bot.web.forms import FORM_FIELD
from bot.web.local_routes import LOCAL_PAGES
from bot.web.session import SESSION, new_form_token, new_session
from tests.fakes.html_page import HtmlPage
from tests.fakes.http_service import serve_http
from tests.fakes.table_test import table_test
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

INSIDE = "/sign-out"
"""A route that only who may come in gets to."""


@pytest.fixture
async def closed(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        yield site


@pytest.fixture
async def open_(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path) as site:
        yield site


async def post(site: WebClient, path: str = INSIDE, **headers: str) -> int:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    async with site.client.post(path, headers=shown, allow_redirects=False) as answer:
        return answer.status


async def test_health_needs_no_token_and_all_else_does(closed: WebClient) -> None:
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


async def test_the_token_lets_in_and_another_does_not(closed: WebClient) -> None:
    assert await post(closed, Authorization=f"Bearer {TOKEN}") == 303
    assert await post(closed, Authorization=f"bearer  {TOKEN} ") == 303
    for wrong in (f"Bearer {TOKEN}x", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", "Bearer ümläut"):
        assert await post(closed, Authorization=wrong) == 401, wrong


async def test_a_refusal_says_what_is_missing(closed: WebClient) -> None:
    answer = await closed.client.get("/metrics")
    assert (answer.status, await answer.text()) == (401, f"{phrases.WEB_SIGN_IN_FIRST}\n")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    wrong = await closed.client.get("/metrics", headers={"Authorization": "Bearer guess"})
    assert (wrong.status, await wrong.text()) == (401, f"{phrases.WEB_WRONG}\n")


async def test_a_token_in_the_address_does_not_count(closed: WebClient) -> None:
    assert (await closed.client.get("/metrics", params={"token": TOKEN})).status == 401


async def test_who_guesses_has_to_wait_and_health_is_told_all_the_same(closed: WebClient) -> None:
    for _ in range(MAX_WRONG_TOKENS):
        assert await post(closed, Authorization="Bearer guess") == 401
    assert await post(closed, Authorization="Bearer guess") == 429
    assert (await closed.client.get("/healthz")).status == 200
    async with closed.client.get("/", headers={"Accept": "text/html"}) as answer:
        assert (answer.status, "sign-in" in await answer.text()) == (401, True), "asking for it is no guess"


async def test_the_token_is_taken_whatever_others_at_the_same_address_have_guessed(closed: WebClient) -> None:
    for _ in range(MAX_WRONG_TOKENS + 5):
        await post(closed, Authorization="Bearer guess")
    assert await post(closed, Authorization="Bearer guess") == 429
    assert await post(closed, Authorization=f"Bearer {TOKEN}") == 303
    for said, status in (("guess", 429), (TOKEN, 303)):
        async with closed.client.post(
            "/sign-in", data={"token": said, "then": "/"}, allow_redirects=False
        ) as answer:
            assert answer.status == status, said


async def test_a_short_token_can_be_guessed_so_an_address_that_tries_is_not_heard(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token="swordfish") as site:
        for _ in range(MAX_WRONG_TOKENS):
            assert await post(site, Authorization="Bearer guess") == 401
        assert await post(site, Authorization="Bearer swordfish") == 429


async def test_behind_a_proxy_that_is_trusted_each_stranger_has_an_allowance_of_his_own(
    tmp_path: Path,
) -> None:
    server = {"token": "swordfish", "trusted_proxies": ["127.0.0.0/8", "::1"]}
    async with open_web_client(tmp_path, server=server) as site:
        for number in range(MAX_WRONG_TOKENS):  # what he says of himself changes nothing
            stranger = f"198.51.100.{number}, 203.0.113.9"
            assert await post(site, Authorization="Bearer guess", X_Forwarded_For=stranger) == 401
        assert await post(site, Authorization="Bearer guess", X_Forwarded_For="203.0.113.9") == 429
        assert await post(site, Authorization="Bearer swordfish", X_Forwarded_For="203.0.113.10") == 303


async def test_what_nobody_trusted_says_of_the_address_is_not_believed(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token="swordfish") as site:
        for number in range(MAX_WRONG_TOKENS):
            told = f"203.0.113.{number}"
            assert await post(site, Authorization="Bearer guess", X_Forwarded_For=told) == 401
        assert await post(site, Authorization="Bearer guess", X_Forwarded_For="203.0.113.99") == 429


@table_test(
    ("remote", "told", "sender"),
    [
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.7, 10.0.0.2", "10.0.0.7"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9, , ", "10.0.0.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("", "203.0.113.9", ""),
    ],
)
def test_the_latest_address_that_is_no_proxy_of_ours_has_sent_it(remote: str, told: str, sender: str) -> None:
    ours = [ip_network("10.0.0.0/24")]
    assert client_address(remote, told.split(","), ours) == sender
    assert client_address(remote, told.split(","), []) == remote


def test_wrong_tokens_are_forgotten_after_a_while_and_never_pile_up() -> None:
    now = 0.0
    wrong = FailedLogins(clock=lambda: now)
    for _ in range(MAX_WRONG_TOKENS):
        wrong.count_failure("10.0.0.1")
    assert wrong.must_wait("10.0.0.1")
    assert not wrong.must_wait("10.0.0.2")
    for number in range(5000):
        wrong.count_failure(f"address {number}")
    assert len(wrong._seen) <= 1000
    wrong.count_failure("10.0.0.3")
    now = WRONG_TOKEN_SECONDS + 1
    assert not wrong.must_wait("10.0.0.1")


def test_the_log_tells_of_an_address_that_has_to_wait_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    wrong = FailedLogins(clock=lambda: now)

    def note(times: int, address: str = "10.0.0.1") -> list[str]:
        caplog.clear()
        for _ in range(times):
            wrong.count_failure(address)
        return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]

    told = ["ten wrong tokens from 10.0.0.1 within a minute: it has to wait now"]
    assert note(1) == []
    now = 5.0
    assert note(MAX_WRONG_TOKENS - 2) == []
    assert note(1) == told
    now = WRONG_TOKEN_SECONDS + 1
    assert not wrong.must_wait("10.0.0.1"), "the first is forgotten"
    assert note(1) == [], "with one more it has to wait again, within the same minute"
    now = WRONG_TOKEN_SECONDS + 5
    assert note(MAX_WRONG_TOKENS - 2) == []
    assert note(1) == told
    for number in range(1100):
        note(MAX_WRONG_TOKENS, f"address {number}")
    assert len(wrong._warned) <= 1000


async def test_the_log_holds_no_token_that_was_guessed(
    closed: WebClient, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(MAX_WRONG_TOKENS + 5):
        await post(closed, Authorization="Bearer guess-of-mine")
    assert caplog.text.count("ten wrong tokens from 127.0.0.1 within a minute") == 1
    assert "guess-of-mine" not in caplog.text
    assert TOKEN not in caplog.text


@table_test("said", ["", TOKEN[:-1], TOKEN + " ", TOKEN.upper(), "\ud800", "ü" * 10_000])
def test_only_the_token_is_the_token(said: str) -> None:
    assert is_token(TOKEN, TOKEN)
    assert not is_token(said, TOKEN)


async def test_without_a_token_this_machine_comes_in_by_its_own_names(open_: WebClient) -> None:
    for host in ("localhost:8321", "127.0.0.1:8321", "[::1]:8321", "127.0.0.1", "LOCALHOST"):
        assert await post(open_, Host=host) == 303, host


async def test_a_name_that_was_made_to_lead_here_does_not(open_: WebClient) -> None:
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


@table_test(
    "host",
    [
        *("", "[", "[::1", "a b", ":", "999.999.1.1", "localhost@evil.example", "\x00"),
        *("evil.example@localhost", "localhost:x", "localhost:99999", "localhost..", "127.0.0.1..."),
        *("localhost" + "." * 7000, "127.0.0.1:" + "0" * 7000 + "1", "[::1%" + "a" * 7000 + "]"),
    ],
)
def test_nonsense_is_no_name_of_this_machine(host: str) -> None:
    assert not is_local_host(host)


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("/sign-in", "127.0.0.1", 200),
        ("http://127.0.0.1/sign-in", "127.0.0.1", 200),
        ("http://localhost:8321/sign-in", "localhost:8321", 200),
        ("http://127.0.0.1/metrics", "evil.example", 403),
        ("http://evil.example/metrics", "127.0.0.1", 403),
        ("http://127.0.0.1/metrics", "a" * 7000, 403),
        ("/metrics", "localhost" + "." * 7000, 403),
    ],
)
async def test_a_target_with_a_name_of_its_own_does_not_hide_that_of_the_header(
    target: str, host: str, status: int, tmp_path: Path
) -> None:
    async with serve_http(tmp_path) as (served, _):
        said = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        answer = await served.say(said.encode(), ends=False)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.thorough
async def test_a_chain_of_proxies_without_end_takes_no_time(tmp_path: Path) -> None:
    server = {"token": "swordfish", "trusted_proxies": ["127.0.0.0/8"]}
    async with serve_http(tmp_path, server=server) as (served, _):
        hops = "\r\n".join(["X-Forwarded-For: " + ",".join(["127.0.0.1"] * 800)] * 50)
        said = (
            f"GET / HTTP/1.1\r\nHost: a\r\n{hops}\r\nAuthorization: Bearer guess\r\nConnection: close\r\n\r\n"
        )
        began = time.process_time()
        answer = await served.say(said.encode(), ends=False)
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert time.process_time() - began < 0.1


async def test_our_cookie_is_found_among_many_others(closed: WebClient) -> None:
    cookie = f"{SESSION}={new_session(TOKEN, now=time.time())}"
    others = "; ".join(f"other{number}=x" for number in range(500))
    assert await post(closed, Cookie=f"{others}; {cookie}") == 303
    assert await post(closed, Cookie=f"x{cookie}; {others}") == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
async def test_another_site_cannot_write(open_: WebClient, site: str) -> None:
    assert await post(open_, Sec_Fetch_Site=site) == 403
    assert await post(open_, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == 403


async def test_another_site_cannot_write_from_an_old_browser_either(open_: WebClient) -> None:
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


async def test_a_token_does_not_help_another_site(closed: WebClient) -> None:
    authorization = f"Bearer {TOKEN}"
    assert await post(closed, Authorization=authorization, Origin="https://evil.example") == 403


async def test_another_site_may_link_here_but_not_read(open_: WebClient) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await open_.client.get("/sign-in", headers=link)).status == 200
    read = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert (await open_.client.get("/no-such-page", headers=read)).status == 403


async def test_every_answer_tells_browsers_what_to_leave_undone(closed: WebClient) -> None:
    for path in ("/healthz", "/sign-in", "/metrics", "/no-such-page"):
        answer = await closed.client.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Frame-Options"] == "DENY"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


async def test_a_password_of_a_proxy_does_not_keep_a_browser_out_that_has_signed_in(
    closed: WebClient,
) -> None:
    cookie = f"{SESSION}={new_session(TOKEN, now=time.time())}"
    assert await post(closed, Cookie=cookie, Authorization="Basic cHJveHk6cGFzc3dvcmQ=") == 303
    assert await post(closed, Cookie=cookie, Authorization="Bearer guess") == 401


def test_of_ipv6_a_network_counts_as_one_address() -> None:
    assert (
        rate_limit_key("2001:db8::1")
        == rate_limit_key("2001:db8::ffff:2%eth0")
        != rate_limit_key("2001:db8:0:1::1")
    )
    assert (
        rate_limit_key("::ffff:10.0.0.1") == rate_limit_key("10.0.0.1") != rate_limit_key("::ffff:10.0.0.2")
    )
    assert rate_limit_key("::1") != rate_limit_key("127.0.0.1")
    assert rate_limit_key("a socket") == "a socket"


async def test_a_browser_may_only_send_forms_of_its_own_pages(closed: WebClient) -> None:
    session = new_session(TOKEN, now=time.time())
    headers = {"Cookie": f"{SESSION}={session}"}

    async def send(**fields: str) -> tuple[int, str]:
        async with closed.client.post(INSIDE, data=fields, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text()

    old = new_session(TOKEN, now=time.time() - 60)
    for wrong in ({}, {FORM_FIELD: ""}, {FORM_FIELD: "ümlaut"}, {FORM_FIELD: new_form_token(old, TOKEN)}):
        assert await send(**wrong) == (403, f"{phrases.WEB_OLD_FORM}\n"), wrong
    assert (await send(**{FORM_FIELD: new_form_token(session, TOKEN)}))[0] == 303
    async with closed.client.get("/", headers=headers) as answer:
        (field, *_) = [
            each
            for each in HtmlPage(await answer.text()).all("input")
            if each.attributes["name"] == FORM_FIELD
        ]
    assert (await send(**{FORM_FIELD: field.attributes["value"]}))[0] == 303


async def test_a_browser_needs_no_field_for_what_no_form_can_send(closed: WebClient) -> None:
    headers = {"Cookie": f"{SESSION}={new_session(TOKEN, now=time.time())}"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "memory.status"}
    async with closed.client.post("/rpc", json=call, headers=headers) as answer:
        assert answer.status == 200
    async with closed.client.post(
        "/rpc", data="{}", headers={**headers, "Content-Type": "text/plain"}
    ) as answer:
        assert answer.status == 403


async def test_without_a_token_only_what_is_listed_is_answered(open_: WebClient) -> None:
    html = {"Accept": "text/html"}
    for path in LOCAL_PAGES:
        assert (await open_.client.get(path, headers=html)).status == 200, path
    async with open_.client.post("/undo", data={"number": "1"}, headers=html) as answer:
        assert answer.status == 403
        assert phrases.WEB_LOCKED_COMMAND in HtmlPage(await answer.text()).all("pre")[0].text
    assert (await open_.client.get("/no-such-page")).status == 404
