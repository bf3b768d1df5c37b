"""Renders templates. Values are escaped, unless they are `Markup`."""

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.language.text import join_sentences
from bot.model_error_text import reason_text
from bot.quantities import rough_duration_in_words, size_in_words
from bot.version import VERSION
from bot.web.auth import session_of
from bot.web.context import services_key, token_of
from bot.web.conversations import searches_chats
from bot.web.forms import FORM_FIELD, ONCE_FIELD, new_once, typed_names
from bot.web.language import language_headers, language_tag
from bot.web.local_routes import is_local_page
from bot.web.page.translation import (
    EXTENSION,
    after_state,
    decimal,
    grouped,
    install_translations,
    translated,
)
from bot.web.security_headers import nonce_of
from bot.web.session import new_form_token

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from bot.services import Services

MAIN_PAGES = ("/", "/search", "/notes/", "/conversations")
"""The pages that each page leads to; `WEB_PAGES` has their names."""
MORE_PAGES = ("/people", "/changes", "/models", "/settings", "/backups", "/system")
"""The pages behind "More"."""

TEMPLATES = Path(__file__).parent / "templates"


@cache
def template_environment() -> "Environment":
    """Return what the templates are read and filled in with."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=[EXTENSION],
    )
    install_translations(templates)
    templates.filters["grouped"] = grouped
    templates.filters["decimal"] = decimal
    templates.filters["as_size"] = size_in_words
    templates.filters["join_sentences"] = join_sentences
    templates.filters["translated"] = translated
    templates.filters["after_state"] = after_state
    templates.filters["kind_of_trouble"] = reason_text
    templates.filters["with_code"] = _with_code
    templates.filters["without_markup"] = lambda text: text.replace("`", "")
    return templates


def _with_code(text: str) -> "Markup":
    """Return a sentence as HTML, with what is between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    coded = (
        Markup("<code>{}</code>").format(each) if at % 2 else escape(each) for at, each in enumerate(parts)
    )
    return Markup().join(coded)


def render_template(template: str, **values: object) -> str:
    """Return the text of a template with `values`."""
    return template_environment().get_template(template).render(values)


def _open_pages(services: "Services", pages: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return address and name of those of the pages that are not refused for want of `server.token`."""
    is_open = bool(token_of(services))
    return [(each, phrases.WEB_PAGES[each]) for each in pages if is_open or is_local_page(each)]


def _form_token(request: web.Request) -> "Markup":
    """Return the hidden field that every form needs; empty if no session sends it."""
    from markupsafe import Markup

    token = token_of(request.app[services_key])
    session = session_of(request, token) if token else ""
    field = Markup('<input type="hidden" name="{}" value="{}">')
    return field.format(FORM_FIELD, new_form_token(session, token)) if session else Markup()


def _once_field() -> "Markup":
    """Return the hidden field of a form that must have its effect once."""
    from markupsafe import Markup

    return Markup('<input type="hidden" name="{}" value="{}">').format(ONCE_FIELD, new_once())


def _address_of_answer(request: web.Request, here: str) -> str:
    """Return where Back and Reload lead on a page that answers a form: to the form, or else to the page `here`."""
    resource = request.match_info.route.resource
    has_form = typed_names(request) and any(
        each.method == "GET" and each.resource and resource and each.resource.canonical == resource.canonical
        for each in request.app.router.routes()
    )
    return request.path_qs if has_form else here


def page_response(
    request: web.Request,
    template: str,
    *,
    status: int = 200,
    here: str = "",
    reload_address: str = "",
    **values: object,
) -> web.Response:
    """Return a response with a page; besides `values`, it gets the assistant's name, the nonce and the like.

    `here`: the page of the menu that it belongs to. `reload_address`: where Back and Reload lead if the page answers a
    form, which they would send again; "" for the form itself or else `here`.
    """
    services = request.app[services_key]
    text = render_template(
        template,
        here=here,
        reload_address=(reload_address or _address_of_answer(request, here or "/"))
        if request.method == "POST"
        else "",
        name=services.settings.agent.name,
        signs_in=bool(token_of(services)),
        form_token=_form_token(request),
        once=_once_field(),
        main_pages=_open_pages(services, MAIN_PAGES),
        more_pages=_open_pages(services, MORE_PAGES),
        language=language_tag(),
        nonce=nonce_of(request),
        version=VERSION,
        up_for=rough_duration_in_words(max(0.0, time.time() - services.metrics.started_at)),
        phrases=phrases,
        searches_chats=searches_chats(services),
        **values,
    )
    # File names may hold invalid text, which becomes question marks.
    body = text.encode("utf-8", "replace")
    return web.Response(
        status=status, body=body, content_type="text/html", charset="utf-8", headers=language_headers()
    )
