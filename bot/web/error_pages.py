"""Shows errors such as 404 as a page with the menu; programs, and whoever has not signed in, get a line of text."""

from collections.abc import Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from bot import phrases
from bot.web.auth import names_this_machine, session_of, wants_page
from bot.web.context import services_key, token_of
from bot.web.page.rendering import page_response
from bot.web.refused_form import refused_form
from bot.web.request_body import PROTOCOL_ERRORS


def show_error_pages(*, is_public: Callable[[str], bool]) -> Middleware:
    """Return a middleware for errors of handlers and routes.

    `is_public`: paths that are no pages, or need no session.
    """

    @web.middleware
    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not wants_page(request) or is_public(request.path) or not _may_see_pages(request):
            return await handler(request)
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            page = _error_page(request, error.status)
            for name in (hdrs.ALLOW, hdrs.ACCEPT_ENCODING):
                if name in error.headers:
                    page.headers[name] = error.headers[name]
            return page
        except (*PROTOCOL_ERRORS, ConnectionError, TimeoutError):
            raise
        except Exception as error:
            if request.writer.output_size > 0:  # a part of the response has been sent
                raise
            request.protocol.log_exception("Error handling request from %s", request.remote, exc_info=error)
            return _error_page(request, 500)

    return answer


def _may_see_pages(request: web.Request) -> bool:
    token = token_of(request.app[services_key])
    return bool(session_of(request, token)) if token else names_this_machine(request)


def _error_page(request: web.Request, status: int) -> web.Response:
    """Return the page about an error, with what was typed if a form has led to it."""
    title, message = _explain(status)
    if sent := refused_form(request):
        return page_response(
            request, "send_again.html", status=status, title=title, message=message, sent=sent, may_send=False
        )
    return page_response(request, "refused.html", status=status, title=title, message=message)


def _explain(status: int) -> tuple[str, str]:
    """Return what went wrong, and what to do."""
    match status:
        case 404:
            return phrases.WEB_NO_PAGE, phrases.WEB_NO_PAGE_HELP
        case 405:
            return phrases.WEB_NO_PAGE, phrases.WEB_ONLY_FORMS
        case 413:
            return phrases.WEB_TOO_LONG, phrases.WEB_TOO_LONG_HELP
        case 500:
            return phrases.WEB_BROKEN, phrases.WEB_BROKEN_HELP
        case _:
            return phrases.WEB_NOTHING_DONE, phrases.WEB_UNREADABLE
