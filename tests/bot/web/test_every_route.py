"""Every route of the pages: who may use it without a token, and with a session but not from a page of ours."""

import re
from pathlib import Path

import pytest
from aiohttp import web

from bot.web.forms import FORM_FIELD
from bot.web.session import SESSION, new_form_token, new_session
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

PUBLIC = {"GET /healthz", "GET /sign-in"}
SIGN_IN = "POST /sign-in"
"""Checks the token that is typed."""
WITHOUT_TOKEN = {
    "GET /",
    "GET /system",
    "GET /models",
    "GET /search",
    "GET /progress",
    "GET /memory-health",
    "GET /metrics",
    "GET /notes",
    "GET /notes/x.md",
    "GET /files/x.md",
    "GET /days",
    "GET /days/2026-11",
    "POST /rebuild",
    "POST /sign-out",
    "POST /rpc",
}
"""Written out a second time: whoever adds a route here has to mean it."""
OWN_CHECK = "/mcp"
NEXT_YEAR = 2_000_000_000.0


def routes_of(app: web.Application) -> list[tuple[str, str]]:
    """Return method and an address of every route, with a number or a name for what it leaves open."""
    found = []
    for route in app.router.routes():
        assert route.resource is not None
        info = route.resource.get_info()
        address = info.get("path") or info["formatter"]
        found.append((route.method, re.sub(r"\{(\w+)\}", _fill, address)))
    return found


def _fill(match: re.Match[str]) -> str:
    return {"number": "1", "kind": "md", "path": "x.md", "period": "2026-11"}.get(match[1], "x")


async def status(site: WebClient, method: str, address: str, **given: object) -> int:
    async with site.client.request(method, address, allow_redirects=False, **given) as answer:  # type: ignore[arg-type]
        return answer.status


async def test_without_a_token_only_what_is_listed_is_answered(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        open_ones = set()
        for method, address in routes_of(site.client.app):
            if address == OWN_CHECK:
                continue
            for spelled in (address, f"{address}?token=x"):
                if await status(site, method, spelled) != 403:
                    open_ones.add(f"{'GET' if method == 'HEAD' else method} {address}")
        assert open_ones == PUBLIC | WITHOUT_TOKEN | {SIGN_IN}


async def test_without_signing_in_nothing_but_the_public_is_answered(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        open_ones = {
            f"{'GET' if method == 'HEAD' else method} {address}"
            for method, address in routes_of(site.client.app)
            if address != OWN_CHECK and await status(site, method, address) != 401
        }
        assert open_ones == PUBLIC


async def test_a_session_sends_no_form_of_another_site_or_session(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        session, other = (new_session(TOKEN, now=NEXT_YEAR + more) for more in (0, 1))
        cookie = {"Cookie": f"{SESSION}={session}"}
        foreign = [
            {},
            {FORM_FIELD: ""},
            {FORM_FIELD: new_form_token(other, TOKEN)},
            {FORM_FIELD: new_form_token(session, f"{TOKEN}!")},
        ]
        for method, address in routes_of(site.client.app):
            if method != "POST" or address in (OWN_CHECK, "/sign-in"):
                continue
            for fields in foreign:
                assert await status(site, method, address, data=fields, headers=cookie) == 403, address
            right = {FORM_FIELD: new_form_token(session, TOKEN)}
            for more in (
                {"Sec-Fetch-Site": "cross-site"},
                {"Origin": "https://evil.example"},
                {"Origin": "null"},
            ):
                assert await status(site, method, address, data=right, headers=cookie | more) == 403, address
            for kind in ("text/plain", "multipart/form-data; boundary=x", "", "TEXT/PLAIN;application/json"):
                headers = cookie | {"Content-Type": kind}
                assert await status(site, method, address, data=b"{}", headers=headers) == 403, (
                    address,
                    kind,
                )
