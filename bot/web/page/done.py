"""What a form has done: the page that its browser goes to then, and the sentence there."""

from collections.abc import Mapping
from urllib.parse import urlencode

from aiohttp import web


def done_response(address: str, key: str, **query: str) -> web.Response:
    """Return the response that leads to a page which says what was done, by the key of one of its sentences.

    `query`: what else the page's address has; what is "" is left out.
    """
    asked = urlencode(
        {name: value for name, value in {**query, "done": key}.items() if value}, errors="replace"
    )
    return web.Response(status=303, headers={"Location": f"{address}?{asked}#done"})


def read_done(request: web.Request, sentences: Mapping[str, str]) -> str:
    """Return the one of a page's sentences whose key is in its address; "" for none."""
    return sentences.get(request.query.get("done", ""), "")
