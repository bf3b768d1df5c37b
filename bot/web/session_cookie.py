"""The session's cookie in requests and responses."""

import time
from http.cookies import SimpleCookie

from aiohttp import hdrs, web

from bot.web.session import SESSION, session_end

_kept_key = web.RequestKey("kept_session", str)


def session_cookie(request: web.Request) -> str:
    """Return the value of our cookie, "" for none; aiohttp's parser takes 20 ms for 8 kB of other cookies."""
    if _kept_key in request:
        return request[_kept_key]
    for cookie in request.headers.get("Cookie", "").split(";"):
        name, _, value = cookie.partition("=")
        if name.strip() == SESSION:
            return value.strip().strip('"')
    return ""


def keep_session(request: web.Request, session: str) -> None:
    """Have the response set the cookie to a new value, which counts at once."""
    request[_kept_key] = session


def forget_session(response: web.Response) -> None:
    """Have a response delete the cookie."""
    response.del_cookie(SESSION, path="/", httponly=True, samesite="Lax")


async def add_session_cookie(request: web.Request, response: web.StreamResponse) -> None:
    """Set the cookie of `keep_session` on a response that is about to be sent, unless that deletes it."""
    session = request.get(_kept_key)
    if session is None or SESSION in response.cookies:
        return
    # A proxy in front of us may have received it by HTTPS.
    is_encrypted = request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https"
    attributes = {
        "max-age": max(0, session_end(session) - int(time.time())),
        "path": "/",
        "httponly": True,
        "samesite": "Lax",
        "secure": is_encrypted,
    }
    cookie = SimpleCookie({SESSION: session})
    for name, value in attributes.items():
        cookie[SESSION][name] = value
    # Not response.set_cookie: its cookies are among the headers already.
    response.headers.add(hdrs.SET_COOKIE, cookie[SESSION].OutputString())
