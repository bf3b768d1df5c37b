"""Signs browsers in with the token, then by a cookie."""

import time
from urllib.parse import urlsplit

from aiohttp import web

from bot import phrases
from bot.web.auth import is_cross_site, wants_page, wrong_key
from bot.web.context import services_key, token_of
from bot.web.forms import add_form
from bot.web.page.rendering import page_response
from bot.web.refused_form import SIGN_IN, RefusedForm, read_form_of_anybody, refused_form
from bot.web.session import new_session, was_form_token
from bot.web.session_cookie import forget_session, keep_session

SIGN_OUT = "/sign-out"


def add_sign_in(app: web.Application) -> None:
    """Add the forms that sign in and out to the application."""
    app.router.add_get(SIGN_IN, _show_form)
    add_form(app, SIGN_IN, _sign_in)
    add_form(app, SIGN_OUT, _sign_out)


def refuse(request: web.Request, status: int, why: str) -> web.Response:
    """Reject a request: a browser gets the sign-in form, and what was typed, a program a line of text."""
    reads_pages = wants_page(request)
    if status == 401 and reads_pages:
        answer = _ask_again(request, why)
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
        answer = _refuse_old_form(request, status)
    else:
        answer = web.Response(status=status, text=f"{why}\n")
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if status == 429:
        answer.headers["Retry-After"] = "60"
    return answer


def _ask_again(request: web.Request, why: str) -> web.Response:
    """Ask somebody to sign in who is not, or not any more."""
    then, sent = request.path_qs, None
    if request.method == "POST":
        then, sent = _page_before(request), refused_form(request)
    if why == phrases.WEB_SIGN_IN_FIRST:  # nothing wrong yet: a first visit, or the session has ended
        why = phrases.WEB_SIGNED_OUT if request.method == "POST" else ""
        why = phrases.WEB_SIGNED_OUT_KEPT if sent else why
    return _form(request, status=401, then=then, message=why, sent=sent)


def _page_before(request: web.Request) -> str:
    """Return the page of ours that a form was on, as far as the browser says."""
    try:
        parts = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return "/"
    return f"{parts.path}{'?' if parts.query else ''}{parts.query}" if parts.netloc == request.host else "/"


def _refuse_old_form(request: web.Request, status: int) -> web.Response:
    """Say that a form is of an earlier session; offer to send what was typed, by the present session's own form."""
    if sent := refused_form(request):
        return _offer_to_send(request, sent, status=status)
    title, message = phrases.WEB_NOTHING_DONE, phrases.WEB_OLD_FORM
    return page_response(request, "refused.html", status=status, title=title, message=message)


def _offer_to_send(request: web.Request, sent: RefusedForm, *, status: int) -> web.Response:
    """Return the page with what was typed, and a button that sends it if a page of ours was its origin.

    Only then: another site must not have a person confirm a form that it has written.
    """
    token = token_of(request.app[services_key])
    may_send = was_form_token(sent.mark, token) and _local_path(sent.address) == sent.address
    return page_response(
        request,
        "send_again.html",
        status=status,
        title=phrases.WEB_NOT_SENT_TITLE,
        message=phrases.WEB_SEND_AGAIN if may_send else phrases.WEB_COPY_AGAIN,
        sent=sent,
        may_send=may_send,
    )


async def _show_form(request: web.Request) -> web.Response:
    return _form(request, status=200, then="/", message="")


async def _sign_in(request: web.Request) -> web.Response:
    if is_cross_site(request):
        return refuse(request, 403, phrases.WEB_FOREIGN_SITE)
    token = token_of(request.app[services_key])
    form = await read_form_of_anybody(request, token=token)
    sent = refused_form(request)
    then = _local_path(form.get("then", "/"))
    if token and (message := request.app[wrong_key].refusal(request, form.get("token", "").strip(), token)):
        status = 429 if message == phrases.WEB_TOO_MANY else 401
        return _form(request, status=status, then=then, message=message, sent=sent)
    if token:
        keep_session(request, new_session(token, now=time.time()))
        if sent:
            return _offer_to_send(request, sent, status=200)
    return web.Response(status=303, headers={"Location": then})


async def _sign_out(request: web.Request) -> web.Response:
    answer = web.Response(status=303, headers={"Location": SIGN_IN})
    forget_session(answer)
    return answer


def _form(
    request: web.Request, *, status: int, then: str, message: str, sent: RefusedForm | None = None
) -> web.Response:
    then = _local_path(then)
    return page_response(
        request, "sign_in.html", status=status, reload_address=then, then=then, message=message, sent=sent
    )


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
