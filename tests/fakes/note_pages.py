"""Requests to the pages of the notes, by somebody who knows the token if there is one."""

import time
from collections.abc import Mapping

from bot.web.context import token_of
from bot.web.session import SESSION, new_session
from tests.fakes.web_client import WebClient


def _headers(site: WebClient) -> dict[str, str]:
    return site.token if token_of(site.services) else {}


async def get(site: WebClient, path: str) -> tuple[int, str]:
    """Return the status and the text of a page."""
    async with site.client.get(path, headers=_headers(site), allow_redirects=False) as answer:
        return answer.status, await answer.text()


async def post(site: WebClient, path: str, fields: Mapping[str, str], **headers: str) -> tuple[int, str]:
    """Send a form; return the status, and where it leads or else the text."""
    async with site.client.post(
        path, data=fields, headers={**_headers(site), **headers}, allow_redirects=False
    ) as answer:
        return answer.status, answer.headers.get("Location", "") or await answer.text()


async def sign_in(site: WebClient) -> str:
    """Return the cookie of a browser that has signed in."""
    return f"{SESSION}={new_session(token_of(site.services), now=time.time())}"
