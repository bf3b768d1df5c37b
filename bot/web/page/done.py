"""What a form has done: the page that its browser goes to then, and the sentence there."""

from urllib.parse import urlencode

from aiohttp import web

from bot import phrases


def done_response(address: str, key: str, *, anchor: str = "", **query: str) -> web.Response:
    """Return the response that leads to a page which says what was done: `key` is one of `phrases.WEB_DONE`.

    `query`: what else the page's address has; what is "" is left out.
    """
    asked = urlencode(
        {name: value for name, value in {**query, "done": key}.items() if value}, errors="replace"
    )
    return web.Response(
        status=303, headers={"Location": f"{address}?{asked}{f'#{anchor}' if anchor else ''}"}
    )


def read_done(request: web.Request) -> str:
    """Return the sentence for the key in a page's address; "" for none."""
    return phrases.WEB_DONE.get(request.query.get("done", ""), "")
