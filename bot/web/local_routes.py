"""What may be asked for without `server.token`.

Any program of this machine, by any account, may ask then; so nothing that writes, shows conversations or lets people in
is among it. A route that is not listed needs the token.
"""

from aiohttp import web

from bot.web.auth import SAFE_METHODS

LOCAL_PAGES = frozenset(
    {"/", "/system", "/models", "/search", "/progress", "/memory-health", "/metrics", "/notes", "/days"}
)
LOCAL_FORMS = frozenset({"/rebuild", "/sign-out", "/rpc"})
OWN_CHECK = "/mcp"
"""Needs a token of its own."""
LOCAL_FOLDERS = ("/notes/", "/files/", "/days/")


def is_local_route(request: web.Request) -> bool:
    """Return whether a request may be answered without `server.token`: one for a listed route, or for none at all."""
    if request.match_info.http_exception is not None or request.path == OWN_CHECK:
        return True
    if request.method in SAFE_METHODS:
        return is_local_page(request.path)
    return request.path in LOCAL_FORMS


def is_local_page(path: str) -> bool:
    """Return whether a page is shown without `server.token`."""
    return path in LOCAL_PAGES or path.startswith(LOCAL_FOLDERS)
