"""Signs browsers in with the token, then by a cookie."""

import time
from urllib.parse import urlsplit

from aiohttp import web

from bot import phrases
from bot.web.auth import is_cross_site, wrong_key
from bot.web.context import services_key, token_of
from bot.web.forms import add_form, read_form
from bot.web.page.rendering import page_response
from bot.web.session import SESSION, SESSION_SECONDS, new_session

SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"


def add_sign_in(app: web.Application) -> None:
    """Add the forms that sign in and out to the application."""
    app.router.add_get(SIGN_IN, _show_form)
    add_form(app, SIGN_IN, _sign_in)
    add_form(app, SIGN_OUT, _sign_out)


def refuse(request: web.Request, status: int, why: str) -> web.Response:
    """Reject a request: a browser gets the sign-in form, a program a line of text."""
    reads_pages = request.method in ("GET", "POST") and "text/html" in request.headers.get("Accept", "")
    if status == 401 and reads_pages:
        asks = request.method == "GET"
        if why == phrases.WEB_SIGN_IN_FIRST:  # nothing wrong yet: a first visit, or the cookie has expired
            why = "" if asks else phrases.WEB_SIGNED_OUT
        answer = _form(request, status=401, then=request.path_qs if asks else "/", message=why)
    elif reads_pages and why == phrases.WEB_LOCKED:
        answer = page_response(
            request,
            "refused.html",
            status=status,
            title=phrases.WEB_LOCKED_TITLE,
            message=phrases.WEB_LOCKED_PAGE,
            command=phrases.WEB_LOCKED_COMMAND,
        )
    elif reads_pages and why == phrases.WEB_OLD_FORM:
        answer = page_response(
            request, "refused.html", status=status, title=phrases.WEB_NOTHING_DONE, message=why
        )
    else:
        answer = web.Response(status=status, text=f"{why}\n")
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if status == 429:
        answer.headers["Retry-After"] = "60"
    return answer


async def _show_form(request: web.Request) -> web.Response:
    return _form(request, status=200, then="/", message="")


async def _sign_in(request: web.Request) -> web.Response:
    if is_cross_site(request):
        return refuse(request, 403, phrases.WEB_FOREIGN_SITE)
    token = token_of(request.app[services_key])
    form = await read_form(request)
    then = _local_path(form.get("then", "/"))
    if token and (message := request.app[wrong_key].refusal(request, form.get("token", "").strip(), token)):
        return _form(
            request, status=429 if message == phrases.WEB_TOO_MANY else 401, then=then, message=message
        )
    answer = web.Response(status=303, headers={"Location": then})
    if token:
        answer.set_cookie(
            SESSION,
            new_session(token, now=time.time()),
            max_age=SESSION_SECONDS,
            path="/",
            httponly=True,
            samesite="Lax",
            # A proxy in front of us may have received it by HTTPS.
            secure=request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https",
        )
    return answer


async def _sign_out(request: web.Request) -> web.Response:
    answer = web.Response(status=303, headers={"Location": SIGN_IN})
    answer.del_cookie(SESSION, path="/", httponly=True, samesite="Lax")
    return answer


def _form(request: web.Request, *, status: int, then: str, message: str) -> web.Response:
    return page_response(request, "sign_in.html", status=status, then=_local_path(then), message=message)


def _local_path(address: str) -> str:
    """Return a URL on this server to continue to; "/" for URLs elsewhere."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    ours = (
        address.startswith("/") and not address.startswith(("//", "/\\", SIGN_IN)) and address.isprintable()
    )
    return address if ours and not (parts.scheme or parts.netloc) else "/"
